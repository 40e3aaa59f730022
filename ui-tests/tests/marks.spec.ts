import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { makeManyCells, replace } from './notebooks';
import { expectPicture, setTheme, THEMES } from './pictures';

/** A time after which nothing may have happened by itself, in milliseconds. */
const MINUTE = 60_000;

test.describe('The mark at a cell that was changed from outside', () => {
  test('says by whom, and stays until its user keeps the change @nightly', async ({
    openWith,
    page
  }) => {
    await page.clock.install();
    const { notebook, tab } = await openWith(makeManyCells(6));
    await tab.placeCaret(0);
    await notebook.edit(
      [
        replace(1),
        { op: 'insert', after: 'cell-id-1', cell_type: 'markdown', source: 'theirs' },
        replace(3)
      ],
      'Refactoring bot'
    );
    const name = /^(Changed|Inserted|Added) by Refactoring bot\. Show what changed$/;
    await expect(tab.root.getByRole('button', { name })).toHaveCount(3);
    await expect(tab.mark(1)).toHaveAttribute('title', name);
    // To see and to select a cell is not enough.
    await tab.cell(4).locator('.jp-InputPrompt').click();
    await page.clock.fastForward(MINUTE);
    expect(await tab.listMarkedCells()).toEqual([1, 2, 4]);

    await tab.mark(4).click();
    await tab.root.getByText('Keep', { exact: true }).click();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 2]);
    await tab.root.getByRole('button', { name: 'Keep all' }).click();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
  });

  test('stays while its cell is out of sight, moves or changes its type, in all views @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(60));
    await tab.placeCaret(0);
    await notebook.edit([replace(50)], 'Bot');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([50]);
    await tab.scrollTo(200);
    await tab.placeCaret(1);
    expect(await tab.listMarkedCells()).toEqual([50]);
    await notebook.edit([{ op: 'move', cell: 'cell-id-50', index: 40 }], 'Bot');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([40]);
    await notebook.edit([{ op: 'replace', cell: 'cell-id-50', cell_type: 'markdown' }], 'Bot');
    const getType = async () => (await tab.getContent()).cells[40].cell_type;
    await expect.poll(getType).toBe('markdown');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([40]);

    const second = await tab.newView();
    await second.scrollToCell(40);
    expect(await second.listMarkedCells()).toEqual([40]);
    await getToasts(page).getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => second.isFullyVisible(40)).toBe(true);
    expect(await second.listMarkedCells()).toEqual([40]);
    await second.root.getByRole('button', { name: 'Keep all' }).click();
    await expect.poll(async () => second.listMarkedCells()).toEqual([]);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
  });

  for (const theme of THEMES) {
    test(`looks as in its picture, and so does the toast: ${theme} @nightly`, async ({
      openWith,
      page
    }) => {
      const { notebook, tab } = await openWith(makeManyCells(4), { name: 'rainfall.ipynb' });
      await setTheme(page, theme);
      await tab.placeCaret(1);
      await notebook.edit([replace(1), replace(2)], 'Data agent');
      const toast = getToasts(page);
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
