import { expect, test } from './fixtures';
import { many, notebook } from './notebooks';

const DWELL = 1500;

test.describe('A cell that was changed from outside', () => {
  test('has a mark that says by whom, until its user selects it', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('marked.ipynb', notebook(many(6)));
    const tab = await open('marked.ipynb');
    await tab.enter(0);
    await agent.edit(
      folder.path('marked.ipynb'),
      [
        { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' },
        { op: 'insert', after: 'cell-id-1', cell_type: 'markdown', source: 'theirs' },
        { op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' }
      ],
      'Refactoring bot'
    );
    const marks = tab.root.getByRole('img', { name: 'Agent edit by Refactoring bot' });
    await expect(marks).toHaveCount(3);
    await expect(tab.mark(1)).toHaveAttribute('title', 'Agent edit by Refactoring bot');
    expect(await tab.marked()).toEqual([1, 2, 4]);
    await tab.page.waitForTimeout(3 * DWELL);
    expect(await tab.marked()).toEqual([1, 2, 4]);

    await tab.page.keyboard.press('Escape');
    await tab.cell(4).locator('.jp-InputPrompt').click();
    await expect.poll(async () => tab.marked()).toEqual([]);
  });
});
