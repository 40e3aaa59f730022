import { expect, test } from './fixtures';
import { makeManyCells, formatNotebook } from './notebooks';
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
    folder.write('marked.ipynb', formatNotebook(makeManyCells(6)));
    const path = folder.getPath('marked.ipynb');
    const tab = await open('marked.ipynb');
    await tab.placeCaret(0);
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
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 2]);

    await page.waitForTimeout(DWELL);
    expect(await tab.listMarkedCells(), 'being in sight is not enough').toEqual([1, 2]);
    await page.keyboard.press('ArrowDown');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
  });

  test('stays while its cell is out of sight, moves or changes its type, in all views @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('far.ipynb', formatNotebook(makeManyCells(60)));
    const path = folder.getPath('far.ipynb');
    const tab = await open('far.ipynb');
    await tab.placeCaret(0);
    await agent.edit(path, [replace(50)], 'Bot');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([50]);
    await page.waitForTimeout(DWELL);
    await tab.scrollTo(200);
    await tab.placeCaret(1);
    expect(await tab.listMarkedCells()).toEqual([50]);
    await agent.edit(path, [{ op: 'move', cell: 'cell-id-50', index: 40 }], 'Bot');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([40]);
    await agent.edit(path, [{ op: 'replace', cell: 'cell-id-50', cell_type: 'markdown' }], 'Bot');
    await expect.poll(async () => (await tab.getSource(40)) === 'theirs = 50').toBe(true);
    expect(await tab.listMarkedCells()).toEqual([40]);

    const second = await tab.newView();
    expect(await second.listMarkedCells()).toEqual([40]);
    await page.locator('.Toastify__toast').getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => second.listMarkedCells()).toEqual([]);
    expect(await tab.listMarkedCells()).toEqual([]);
  });

  for (const theme of THEMES) {
    test(`looks as in its picture, and so does the toast: ${theme} @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      folder.write('rainfall.ipynb', formatNotebook(makeManyCells(4)));
      const tab = await open('rainfall.ipynb');
      await setTheme(page, theme);
      await tab.placeCaret(1);
      await agent.edit(folder.getPath('rainfall.ipynb'), [replace(1), replace(2)], 'Data agent');
      const toast = page.locator('.Toastify__toast');
      await expect(toast).toContainText('Data agent: 2 cells changed');
      await toast.hover();
      await expect(tab.root.locator('.jp-nbedit-flash')).toHaveCount(0);
      // A toast closes when its animation has come to an end.
      await expectPicture(toast, `toast-${theme}`, [], 'allow');
      expect(await tab.listMarkedCells()).toEqual([1, 2]);
      await expectPicture(tab.cell(1), `marked-${theme}`);
      // A part of its own, in which the mark is not one hundredth of what is compared.
      await expectPicture(tab.mark(2), `mark-${theme}`);
    });
  }
});
