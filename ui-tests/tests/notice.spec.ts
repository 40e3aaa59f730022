import { expect, test } from './fixtures';
import { many, notebook } from './notebooks';

const FLASH = /jp-nbedit-flash/;

test.describe('The user is told', () => {
  test('by a toast that names the client and the cells, and "View" reveals them', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('told.ipynb', notebook(many(40)));
    const tab = await open('told.ipynb');
    await tab.enter(1);
    const before = await tab.place();

    await agent.edit(
      folder.path('told.ipynb'),
      [{ op: 'replace', cell: 'cell-id-35', source: 'theirs = 35' }],
      'Refactoring bot'
    );
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toContainText('Refactoring bot');
    await expect(toast).toContainText('cell 36');
    await expect(toast).toContainText('told.ipynb');
    expect(await tab.place()).toEqual(before);
    expect(await tab.inView(35)).toBe(false);

    await toast.getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => tab.inView(35)).toBe(true);
    await expect(tab.editor(35)).toHaveText('theirs = 35');
  });

  test('by a flash of the edited cells, and of no others @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('flash.ipynb', notebook(many(6)));
    const tab = await open('flash.ipynb');
    await agent.edit(folder.path('flash.ipynb'), [
      { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' },
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
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('behind.ipynb', notebook(many(6)));
    folder.write('front.ipynb', notebook(many(6)));
    const behind = await open('behind.ipynb');
    const front = await open('front.ipynb');
    await front.type(2, '  # my');
    const before = await front.place();

    await agent.edit(folder.path('behind.ipynb'), [
      { op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' },
      { op: 'delete', cell: 'cell-id-5' }
    ]);
    await agent.edit(folder.path('front.ipynb'), [
      { op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' },
      { op: 'delete', cell: 'cell-id-5' }
    ]);
    await expect(front.editor(3)).toHaveText('theirs = 3');
    await expect.poll(async () => (await behind.sources())[3]).toBe('theirs = 3');
    await expect(page.locator('.Toastify__toast').first()).toBeVisible();
    await page.keyboard.type(' words');
    expect(await front.place()).toEqual(before);
    expect((await front.sources())[2]).toMatch(/ {2}# my words$/);
    expect(await front.inFront()).toBe(true);
    expect(await behind.inFront()).toBe(false);
  });
});
