import { expect, test } from './fixtures';
import { makeManyCells, replace } from './notebooks';

test.describe('A user can still save', () => {
  test('a notebook whose file was deleted @nightly', async ({ create, folder, open, page }) => {
    const notebook = create(makeManyCells(3));
    // JupyterLab makes a first checkpoint when it opens a notebook, and complains if it cannot.
    const checkpoint = page.waitForResponse(
      response => response.url().includes('/checkpoints') && response.request().method() === 'POST'
    );
    const tab = await open(notebook.name);
    await checkpoint;
    await tab.typeText(1, '  # mine');
    folder.remove(notebook.name);

    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual(await tab.getSources());
    expect(notebook.readSources()[1]).toContain('# mine');
  });

  test('a notebook whose file is no notebook any more, and is asked first @nightly', async ({
    dialogs,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    await tab.typeText(1, '  # mine');
    notebook.write('<<<<<<< not JSON');

    const went = tab.save();
    const dialog = page.locator('.jp-Dialog');
    await expect(dialog).toContainText('has changed on disk');
    expect(notebook.readText()).toBe('<<<<<<< not JSON');
    await dialog.getByRole('button', { name: 'Overwrite' }).click();
    expect(await went).toContain('completed');
    expect(notebook.readSources()).toEqual(await tab.getSources());
    expect(notebook.readSources()[1]).toContain('# mine');
    expect(dialogs.splice(0)).toHaveLength(1);
  });

  test('once the server is back, and hears that it was not @nightly', async ({
    dialogs,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    await tab.typeText(1, '  # mine');
    // Its checkpoints JupyterLab may still be asking for, and says that it cannot load the file.
    const file = /\/api\/contents\/[^?]*\.ipynb(\?|$)/;
    await page.route(file, async route => route.abort());
    await notebook.edit([replace(0)]);

    const went = tab.save();
    const dialog = page.locator('.jp-Dialog');
    await expect(dialog).toContainText(/Save Error/);
    await dialog.getByRole('button').last().click();
    expect(await went).toBe('failed');
    expect(dialogs.splice(0)).toHaveLength(1);

    await page.unroute(file);
    await tab.placeCaret(1);
    expect(await tab.save()).toContain('completed');
    const saved = notebook.readSources();
    expect(saved[0]).toBe('theirs = 0');
    expect(saved[1]).toContain('# mine');
    expect(await tab.getSources()).toEqual(saved);
  });
});
