import { expect, test } from './fixtures';
import { many, notebook } from './notebooks';
import { expectPicture, setTheme, THEMES } from './pictures';

/** For how long a cell has to be in sight, and some more. */
const DWELL = 2000;

const replace = (index: number) => ({
  op: 'replace',
  cell: `cell-id-${index}`,
  source: `theirs = ${index}`
});

test.describe('The mark at a cell that was changed from outside', () => {
  test('says by whom, and stays until its user selects the cell or goes on @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('marked.ipynb', notebook(many(6)));
    const path = folder.path('marked.ipynb');
    const tab = await open('marked.ipynb');
    await tab.enter(0);
    await agent.edit(
      path,
      [
        replace(1),
        { op: 'insert', after: 'cell-id-1', cell_type: 'markdown', source: 'theirs' },
        replace(3)
      ],
      'Refactoring bot'
    );
    const marks = tab.root.getByRole('img', { name: 'Agent edit by Refactoring bot' });
    await expect(marks).toHaveCount(3);
    await expect(tab.mark(1)).toHaveAttribute('title', 'Agent edit by Refactoring bot');
    // Not yet long enough in sight for the others: only what is selected is looked at.
    await tab.cell(4).locator('.jp-InputPrompt').click();
    await expect.poll(async () => tab.marked()).toEqual([1, 2]);

    await page.waitForTimeout(DWELL);
    expect(await tab.marked(), 'being in sight is not enough').toEqual([1, 2]);
    await page.keyboard.press('ArrowDown');
    await expect.poll(async () => tab.marked()).toEqual([]);
  });

  test('stays while its cell is out of sight, moves or changes its type, in all views @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('far.ipynb', notebook(many(60)));
    const path = folder.path('far.ipynb');
    const tab = await open('far.ipynb');
    await tab.enter(0);
    await agent.edit(path, [replace(50)], 'Bot');
    await expect.poll(async () => tab.marked()).toEqual([50]);
    await page.waitForTimeout(DWELL);
    await tab.scrollTo(200);
    await tab.enter(1);
    expect(await tab.marked()).toEqual([50]);
    await agent.edit(path, [{ op: 'move', cell: 'cell-id-50', index: 40 }], 'Bot');
    await expect.poll(async () => tab.marked()).toEqual([40]);
    await agent.edit(path, [{ op: 'replace', cell: 'cell-id-50', cell_type: 'markdown' }], 'Bot');
    await expect.poll(async () => (await tab.source(40)) === 'theirs = 50').toBe(true);
    expect(await tab.marked()).toEqual([40]);

    const second = await tab.newView();
    expect(await second.marked()).toEqual([40]);
    await page.locator('.Toastify__toast').getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => second.marked()).toEqual([]);
    expect(await tab.marked()).toEqual([]);
  });

  for (const theme of THEMES) {
    test(`looks as in its picture, and so does the toast: ${theme} @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      folder.write('rainfall.ipynb', notebook(many(4)));
      const tab = await open('rainfall.ipynb');
      await setTheme(page, theme);
      await tab.enter(1);
      await agent.edit(folder.path('rainfall.ipynb'), [replace(1), replace(2)], 'Data agent');
      const toast = page.locator('.Toastify__toast');
      await expect(toast).toContainText('Data agent edited rainfall.ipynb: cells 2 and 3');
      await toast.hover();
      await expect(tab.root.locator('.jp-nbedit-flash')).toHaveCount(0);
      // A toast closes when its animation has come to an end.
      await expectPicture(toast, `toast-${theme}`, [], 'allow');
      expect(await tab.marked()).toEqual([1, 2]);
      await expectPicture(tab.cell(1), `marked-${theme}`);
      // A part of its own, in which the mark is not one hundredth of what is compared.
      await expectPicture(tab.mark(2), `mark-${theme}`);
    });
  }
});
