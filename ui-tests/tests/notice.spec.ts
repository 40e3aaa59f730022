import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { makeManyCells, replace } from './notebooks';

const FLASH = /jp-nbedit-flash/;

test.describe('The user is told', () => {
  test('by a toast that says who has changed how much, and "View" reveals it', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(40));
    await tab.placeCaret(1);
    await tab.scrollTo(0);
    const before = await tab.getViewState();

    await notebook.edit([replace(35)], 'Refactoring bot');
    const toast = getToasts(page);
    await expect(toast).toHaveText(/^Refactoring bot: 1 cell changed/);
    expect(await tab.getViewState()).toEqual(before);
    expect(await tab.isInView(35)).toBe(false);

    await toast.getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => tab.isInView(35)).toBe(true);
    await expect(tab.editor(35)).toHaveText('theirs = 35');
  });

  test('by a flash of the edited cells, and of no others @nightly', async ({ openWith }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    await notebook.edit([
      replace(1),
      { op: 'insert', after: 'cell-id-1', cell_type: 'code', source: 'theirs = 2' }
    ]);
    await expect(tab.cell(1)).toHaveClass(FLASH);
    await expect(tab.cell(2)).toHaveClass(FLASH);
    for (const index of [0, 3, 4]) {
      await expect(tab.cell(index)).not.toHaveClass(FLASH);
    }
    await expect(tab.cell(1)).not.toHaveClass(FLASH);
    await expect(tab.cell(2)).not.toHaveClass(FLASH);
  });

  test('without losing the focus, in this tab or in another @nightly', async ({
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(6));
    const frontNotebook = create(makeManyCells(6));
    const behind = await open(notebook.name);
    const front = await open(frontNotebook.name);
    await front.typeText(2, '  # my');
    const before = await front.getViewState();

    await notebook.edit([replace(3), { op: 'delete', cell: 'cell-id-5' }]);
    await frontNotebook.edit([replace(3), { op: 'delete', cell: 'cell-id-5' }]);
    await expect(front.editor(3)).toHaveText('theirs = 3');
    await expect.poll(async () => (await behind.getSources())[3]).toBe('theirs = 3');
    await expect(getToasts(page).first()).toBeVisible();
    await page.keyboard.type(' words');
    expect(await front.getViewState()).toEqual(before);
    expect((await front.getSources())[2]).toMatch(/ {2}# my words$/);
    expect(await front.isInFront()).toBe(true);
    expect(await behind.isInFront()).toBe(false);
  });
});
