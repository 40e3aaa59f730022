import type { WebSocketRoute } from '@playwright/test';
import { expect, test } from './fixtures';
import { formatNotebook, makeCodeCell, makeManyCells, replace } from './notebooks';

const EVENTS = /\/api\/events\/subscribe/;

function openAndMute(): void {
  // Not connected to the server: the page's socket opens, and nothing ever comes through it.
}

test.describe('A tab that missed the event', () => {
  test('still saves both sides without a dialog', async ({ openWith, page }) => {
    await page.routeWebSocket(EVENTS, openAndMute);
    const { notebook, tab } = await openWith(makeManyCells(6));
    const original = notebook.readSources();
    await tab.typeText(1, '  # mine');
    await notebook.edit([
      replace(4),
      { op: 'insert', at: 'end', cell_type: 'code', source: 'theirs = 6' }
    ]);
    expect(await tab.getSources()).not.toContain('theirs = 4');

    expect(await tab.save()).toContain('completed');
    const expected = [...original, 'theirs = 6'];
    expected[1] += '  # mine';
    expected[4] = 'theirs = 4';
    expect(notebook.readSources()).toEqual(expected);
    expect(await tab.getSources()).toEqual(expected);
    expect(await tab.isDirty()).toBe(false);
  });

  test('saves both sides, too, if another program wrote the file @nightly', async ({
    openWith
  }) => {
    const cells = makeManyCells(6);
    const { notebook, tab } = await openWith(cells);
    await tab.typeText(1, '  # mine');
    cells[4] = makeCodeCell('cell-id-4', 'theirs = 4');
    notebook.write(formatNotebook(cells));

    expect(await tab.save()).toContain('completed');
    const saved = notebook.readSources();
    expect(saved[1]).toContain('# mine');
    expect(saved[4]).toBe('theirs = 4');
    expect(await tab.getSources()).toEqual(saved);
  });

  test('catches up when its window gets the focus @nightly', async ({ openWith, page }) => {
    await page.routeWebSocket(EVENTS, openAndMute);
    const { notebook, tab } = await openWith(makeManyCells(6));
    await notebook.edit([replace(2)]);
    expect(await tab.getSources()).not.toContain('theirs = 2');
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await expect(tab.editor(2)).toHaveText('theirs = 2');
  });

  test('catches up when its socket is back @nightly', async ({ openWith, page }) => {
    let isDown = false;
    const sockets: WebSocketRoute[] = [];
    await page.routeWebSocket(EVENTS, async socket => {
      if (isDown) {
        await socket.close();
      } else {
        socket.connectToServer();
        sockets.push(socket);
      }
    });
    const { notebook, tab } = await openWith(makeManyCells(6));
    await expect.poll(() => sockets.length).toBe(1);
    isDown = true;
    await sockets[0].close();
    await notebook.edit([replace(2)]);
    isDown = false;
    await expect(tab.editor(2)).toHaveText('theirs = 2');
    expect(sockets).toHaveLength(2);
  });

  test('catches up by itself in a minute @nightly', async ({ openWith, page }) => {
    await page.clock.install();
    await page.routeWebSocket(EVENTS, openAndMute);
    const { notebook, tab } = await openWith(makeManyCells(6));
    // Timers stand still from here, however long the machine takes.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000));
    await notebook.edit([replace(2)]);
    await page.clock.runFor(61_000);
    await page.clock.resume();
    // JupyterLab may have been drawing the cells when its timers stopped, and does not go on.
    await expect.poll(() => tab.getSources()).toContain('theirs = 2');
  });
});
