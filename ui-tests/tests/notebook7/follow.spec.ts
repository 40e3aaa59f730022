import { expect, test, type Page } from '@playwright/test';
import { Agent } from '../agent';
import { Folder } from '../folder';
import { makeManyCells, formatNotebook } from '../notebooks';

const url = process.env.TARGET_URL!;
const token = process.env.NBEDIT_TOKEN!;
const agent = new Agent(url, token);

/** Open a notebook by its address, as Notebook 7 shows each in a browser tab of its own. */
async function open(page: Page, path: string): Promise<void> {
  // An event that is sent before the page listens is not sent again.
  const listening = page.waitForEvent('websocket', socket =>
    socket.url().includes('/api/events/subscribe')
  );
  await page.goto(`${url}/notebooks/${path}?token=${token}`);
  await listening;
  await expect(page.locator('.jp-Notebook-cell')).toHaveCount(4);
}

test.describe('A notebook in Notebook 7', () => {
  let folder: Folder;

  test.beforeEach(({}, testInfo) => {
    folder = Folder.ofTest(testInfo);
  });

  test('follows an edit, keeps what is typed, and undoes the edit', async ({ page }) => {
    folder.write('a.ipynb', formatNotebook(makeManyCells(4)));
    const original = folder.readSources('a.ipynb');
    const path = folder.getPath('a.ipynb');
    await open(page, path);
    const editor = (index: number) =>
      page.locator('.jp-Notebook-cell').nth(index).locator('.cm-content');
    await editor(0).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('  # mine');

    const { edit_id } = await agent.edit(path, [
      { op: 'replace', cell: 'cell-id-2', source: 'theirs = 2' },
      { op: 'insert', at: 'end', cell_type: 'code', source: 'theirs = 4' }
    ]);

    await expect(editor(2)).toHaveText('theirs = 2');
    await expect(editor(4)).toHaveText('theirs = 4');
    await expect(editor(0)).toContainText('# mine');

    await page.keyboard.press('Control+s');
    // It may be read while it is being written.
    await expect(() => expect(folder.readSources('a.ipynb')[0]).toContain('# mine')).toPass();
    expect(folder.readSources('a.ipynb').slice(1)).toEqual([
      original[1],
      'theirs = 2',
      original[3],
      'theirs = 4'
    ]);

    await agent.undo(path, edit_id, 'Test agent');
    await expect(editor(2)).toContainText('first_2');
    await expect(page.locator('.jp-Notebook-cell')).toHaveCount(4);
    await expect(editor(0)).toContainText('# mine');
  });

  test('asks nothing when an edit comes while nothing is changed', async ({ page }) => {
    folder.write('b.ipynb', formatNotebook(makeManyCells(4)));
    await open(page, folder.getPath('b.ipynb'));
    await agent.edit(folder.getPath('b.ipynb'), [{ op: 'delete', cell: 'cell-id-1' }]);
    await expect(page.locator('.jp-Notebook-cell')).toHaveCount(3);
    await expect(page.locator('.jp-Dialog')).toHaveCount(0);
  });
});
