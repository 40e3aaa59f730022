import type { Page, WebSocketRoute } from '@playwright/test';
import { expect, test } from './fixtures';
import { getModeStatus, getToasts } from './lab';
import { makeManyCells, replace } from './notebooks';

const TABS = /\/nbedit\/tabs/;

const THEIRS = replace(1);

/** Undo or redo the last edit of the current notebook as the menu does. */
async function runLast(page: Page, command: 'undo' | 'redo'): Promise<void> {
  await page.evaluate(async id => {
    await window.jupyterapp.commands.execute(id);
  }, `nbedit:${command}-last`);
}

test.describe('A person in an open page', () => {
  test.use({ sharesPage: false });

  test('undoes in a paused notebook, in each of two windows', async ({
    anotherWindow,
    open,
    openWith,
    page
  }) => {
    const { notebook } = await openWith(makeManyCells(4));
    const original = notebook.readText();
    const other = await anotherWindow();
    await open(notebook.name, { page: other });
    const { edit_id: number } = await notebook.edit([THEIRS], 'Bot');
    const changed = notebook.readText();
    await notebook.setMode('plan');
    // Everybody can say to be JupyterLab.
    await expect(notebook.undo(number, 'JupyterLab')).rejects.toThrow('plan_mode');
    expect(notebook.readText()).toBe(changed);
    await runLast(other, 'undo');
    expect(notebook.readText()).toBe(original);
    await runLast(page, 'redo');
    expect(notebook.readText()).toBe(changed);
    await page.reload({ waitForIsReady: false } as never);
    await open(notebook.name);
    await runLast(page, 'undo');
    expect(notebook.readText()).toBe(original);
  });

  test('undoes after the server has lost the connection and the page does not know it', async ({
    agent,
    openWith,
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
    const { notebook } = await openWith(makeManyCells(4));
    const original = notebook.readText();
    await notebook.edit([THEIRS], 'Bot', { waitTabs: 10_000 });
    await notebook.setMode('review');
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
        await agent.callTool('agent/notebook_search', {
          folder: notebook.path.replace(/\/[^/]*$/, '')
        })
      );
    await expect.poll(listNotebooks).not.toContain('open in');
    await runLast(page, 'undo');
    expect(notebook.readText()).toBe(original);
    expect(statuses).toEqual([409, 200]);
    expect(connections).toBe(2);
  });

  test('is told that the server cannot know it without WebSockets, and offered the modes', async ({
    openWith,
    page
  }) => {
    await page.routeWebSocket(TABS, async socket => socket.close());
    const { notebook } = await openWith(makeManyCells(4));
    const original = notebook.readText();
    await notebook.edit([THEIRS], 'Bot');
    const changed = notebook.readText();
    await notebook.setMode('plan');
    await runLast(page, 'undo');
    const toast = getToasts(page, 'no WebSocket');
    await expect(toast).toBeVisible();
    expect(notebook.readText()).toBe(changed);
    await toast.getByRole('button', { name: 'What Agents May Do' }).click();
    await page.getByRole('menuitem', { name: 'This Notebook: Edits Allowed' }).click();
    await expect(getModeStatus(page)).toContainText('edits allowed');
    await runLast(page, 'undo');
    await expect.poll(() => notebook.readText()).toBe(original);
  });
});
