import type { Page, WebSocketRoute } from '@playwright/test';
import { expect, test } from './fixtures';
import { formatNotebook, makeManyCells } from './notebooks';

const TABS = /\/nbedit\/tabs/;

const THEIRS = { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' };

/** Undo or redo the last edit of the current notebook as the menu does. */
async function runLast(page: Page, command: 'undo' | 'redo'): Promise<void> {
  await page.evaluate(async id => {
    await window.jupyterapp.commands.execute(id);
  }, `nbedit:${command}-last`);
}

test.describe('A person in an open page', () => {
  test.use({ sharesPage: false });

  test('undoes in a paused notebook, in each of two windows', async ({
    agent,
    anotherWindow,
    folder,
    open,
    page
  }) => {
    folder.write('paused.ipynb', formatNotebook(makeManyCells(4)));
    const path = folder.getPath('paused.ipynb');
    const original = folder.readText('paused.ipynb');
    await open('paused.ipynb');
    const other = await anotherWindow();
    await open('paused.ipynb', { page: other });
    const { edit_id: number } = await agent.edit(path, [THEIRS], 'Bot');
    const changed = folder.readText('paused.ipynb');
    await agent.setMode(path, 'plan');
    // Everybody can say to be JupyterLab.
    await expect(agent.undo(path, number, 'JupyterLab')).rejects.toThrow('plan_mode');
    expect(folder.readText('paused.ipynb')).toBe(changed);
    await runLast(other, 'undo');
    expect(folder.readText('paused.ipynb')).toBe(original);
    await runLast(page, 'redo');
    expect(folder.readText('paused.ipynb')).toBe(changed);
    await page.reload({ waitForIsReady: false } as never);
    await open('paused.ipynb');
    await runLast(page, 'undo');
    expect(folder.readText('paused.ipynb')).toBe(original);
  });

  test('undoes after the server has lost the connection and the page does not know it', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const lost: (() => Promise<void>)[] = [];
    let connections = 0;
    await page.routeWebSocket(TABS, (socket: WebSocketRoute) => {
      connections++;
      const server = socket.connectToServer();
      // The page is told nothing, as after a sleep or a restart behind a proxy.
      server.onClose(() => undefined);
      lost.push(async () => server.close());
    });
    folder.write('lost.ipynb', formatNotebook(makeManyCells(4)));
    const path = folder.getPath('lost.ipynb');
    const original = folder.readText('lost.ipynb');
    await open('lost.ipynb');
    await agent.edit(path, [THEIRS], 'Bot', { waitTabs: 10_000 });
    await agent.setMode(path, 'review');
    expect(connections).toBe(1);
    const statuses: number[] = [];
    page.on('response', response => {
      if (response.url().endsWith('/undo')) {
        statuses.push(response.status());
      }
    });
    await Promise.all(lost.map(async close => close()));
    const listNotebooks = async () =>
      JSON.stringify(
        await agent.callTool('agent/notebook_search', { folder: path.replace(/\/[^/]*$/, '') })
      );
    await expect.poll(listNotebooks).not.toContain('open in');
    await runLast(page, 'undo');
    expect(folder.readText('lost.ipynb')).toBe(original);
    expect(statuses).toEqual([409, 200]);
    expect(connections).toBe(2);
  });

  test('is told that the server cannot know it without WebSockets, and offered the modes', async ({
    agent,
    folder,
    open,
    page
  }) => {
    await page.routeWebSocket(TABS, async socket => socket.close());
    folder.write('none.ipynb', formatNotebook(makeManyCells(4)));
    const path = folder.getPath('none.ipynb');
    const original = folder.readText('none.ipynb');
    await open('none.ipynb');
    await agent.edit(path, [THEIRS], 'Bot');
    const changed = folder.readText('none.ipynb');
    await agent.setMode(path, 'plan');
    await runLast(page, 'undo');
    const toast = page.locator('.Toastify__toast', { hasText: 'no WebSocket' });
    await expect(toast).toBeVisible();
    expect(folder.readText('none.ipynb')).toBe(changed);
    await toast.getByRole('button', { name: 'What Agents May Do' }).click();
    await page.getByRole('menuitem', { name: 'This Notebook: Edits Allowed' }).click();
    await expect(page.locator('.jp-nbedit-mode-status-button')).toContainText('edits allowed');
    await runLast(page, 'undo');
    await expect.poll(() => folder.readText('none.ipynb')).toBe(original);
  });
});
