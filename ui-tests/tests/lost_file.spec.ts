import { expect, test } from './fixtures';
import { makeManyCells, formatNotebook } from './notebooks';

test.describe('A user can still save', () => {
  test('a notebook whose file was deleted @nightly', async ({ folder, open, page }) => {
    folder.write('gone.ipynb', formatNotebook(makeManyCells(3)));
    // JupyterLab makes a first checkpoint when it opens a notebook, and complains if it cannot.
    const checkpoint = page.waitForResponse(
      response => response.url().includes('/checkpoints') && response.request().method() === 'POST'
    );
    const tab = await open('gone.ipynb');
    await checkpoint;
    await tab.typeText(1, '  # mine');
    folder.remove('gone.ipynb');

    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('gone.ipynb')).toEqual(await tab.getSources());
    expect(folder.readSources('gone.ipynb')[1]).toContain('# mine');
  });

  test('a notebook whose file is no notebook any more, and is asked first @nightly', async ({
    dialogs,
    folder,
    open,
    page
  }) => {
    folder.write('broken.ipynb', formatNotebook(makeManyCells(3)));
    const tab = await open('broken.ipynb');
    await tab.typeText(1, '  # mine');
    folder.write('broken.ipynb', '<<<<<<< not JSON');

    const went = tab.save();
    const dialog = page.locator('.jp-Dialog');
    await expect(dialog).toContainText('has changed on disk');
    expect(folder.readText('broken.ipynb')).toBe('<<<<<<< not JSON');
    await dialog.getByRole('button', { name: 'Overwrite' }).click();
    expect(await went).toContain('completed');
    expect(folder.readSources('broken.ipynb')).toEqual(await tab.getSources());
    expect(folder.readSources('broken.ipynb')[1]).toContain('# mine');
    expect(dialogs.splice(0)).toHaveLength(1);
  });

  test('once the server is back, and hears that it was not @nightly', async ({
    agent,
    dialogs,
    folder,
    open,
    page
  }) => {
    folder.write('offline.ipynb', formatNotebook(makeManyCells(3)));
    const tab = await open('offline.ipynb');
    await tab.typeText(1, '  # mine');
    // Its checkpoints JupyterLab may still be asking for, and says that it cannot load the file.
    const file = /\/api\/contents\/[^?]*\.ipynb(\?|$)/;
    await page.route(file, async route => route.abort());
    await agent.edit(folder.getPath('offline.ipynb'), [
      { op: 'replace', cell: 'cell-id-0', source: 'theirs = 0' }
    ]);

    const went = tab.save();
    const dialog = page.locator('.jp-Dialog');
    await expect(dialog).toContainText(/Save Error/);
    await dialog.getByRole('button').last().click();
    expect(await went).toBe('failed');
    expect(dialogs.splice(0)).toHaveLength(1);

    await page.unroute(file);
    await tab.placeCaret(1);
    expect(await tab.save()).toContain('completed');
    const saved = folder.readSources('offline.ipynb');
    expect(saved[0]).toBe('theirs = 0');
    expect(saved[1]).toContain('# mine');
    expect(await tab.getSources()).toEqual(saved);
  });
});
