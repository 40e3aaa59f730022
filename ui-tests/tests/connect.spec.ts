import type { Locator, Page } from '@playwright/test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findViolations } from './axe';
import { expect, loadLab, test } from './fixtures';
import { makeManyCells, replace } from './notebooks';
import { HistoryPanel } from './panel';
import { setTheme, THEMES } from './pictures';
import { runCommand } from './lab';

const NAME = 'Connect an Agent…';
const PROGRAM = join(process.env.NBEDIT_ENV!, 'bin', 'jupyter-nbedit');
/** The program as a shell takes it: a path with spaces or other letters has quotes. */
const QUOTED_PROGRAM = /^[\w@%+=:,./-]+$/.test(PROGRAM) ? PROGRAM : `'${PROGRAM}'`;

/** The page "Connect an Agent", as its user sees it. */
class ConnectPage {
  constructor(private readonly page: Page) {}

  get root(): Locator {
    return this.page.locator('#nbedit-connect');
  }

  /** The text that is shown for the selected client, and its button. */
  get text(): Locator {
    return this.root.getByRole('tabpanel').locator('pre').first();
  }

  get agents(): Locator {
    return this.root.locator('.jp-nbedit-connect-agent');
  }

  /** The result of the test of the endpoint. */
  get result(): Locator {
    return this.root.locator('.jp-nbedit-connect-result');
  }

  client(name: string): Locator {
    return this.root.getByRole('tab', { name });
  }

  /** Open it in JupyterLab, which is loaded if it is not yet. */
  async open(): Promise<void> {
    await loadLab(this.page);
    await runCommand(this.page, 'nbedit:connect-agent');
    await this.client('Claude Code').waitFor();
  }

  async close(): Promise<void> {
    await this.page.evaluate(() => {
      for (const widget of window.jupyterapp.shell.widgets('main')) {
        if (widget.id === 'nbedit-connect') {
          widget.close();
        }
      }
    });
    await expect(this.root).toHaveCount(0);
  }
}

test.describe('The page that shows how an agent is connected', () => {
  test('opens from the launcher, the palette, the menu and an empty history', async ({ page }) => {
    const connect = new ConnectPage(page);
    await loadLab(page);
    await page.locator('.jp-LauncherCard', { hasText: NAME }).click();
    await expect(connect.client('Claude Code')).toHaveAttribute('aria-selected', 'true');
    await expect(connect.client('Claude Code')).toBeFocused();
    await connect.close();

    await page.keyboard.press('Control+Shift+C');
    await page.keyboard.type('connect an agent');
    await page.keyboard.press('Enter');
    await expect(connect.client('Claude Code')).toBeFocused();
    await connect.close();

    await page.menu.clickMenuItem(`View>${NAME}`);
    await expect(connect.client('Claude Code')).toBeFocused();
    await connect.close();

    const history = await HistoryPanel.show(page);
    await history.root.getByRole('button', { name: NAME }).click();
    await expect(connect.client('Claude Code')).toBeFocused();
  });

  test('is used with the keyboard: clients, copy, where the agent runs', async ({
    context,
    page
  }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const connect = new ConnectPage(page);
    await connect.open();
    const local = await connect.text.textContent();
    expect(local).toBe(`claude mcp add -s user nbedit -- ${QUOTED_PROGRAM} mcp`);
    await page.keyboard.press('Tab');
    await expect(
      connect.root.getByRole('button', { name: 'Copy the text for Claude Code' })
    ).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(connect.root.getByRole('status').getByText('Copied.')).toBeAttached();
    expect(await page.evaluate(async () => navigator.clipboard.readText())).toBe(local);

    await page.keyboard.press('Shift+Tab');
    for (const [key, client] of [
      ['ArrowDown', 'Codex CLI'],
      ['ArrowRight', 'Gemini CLI'],
      ['End', 'Jupyter AI'],
      ['ArrowDown', 'Claude Code'],
      ['ArrowUp', 'Jupyter AI'],
      ['Home', 'Claude Code']
    ]) {
      await page.keyboard.press(key);
      await expect(connect.client(client)).toBeFocused();
      await expect(connect.root.getByRole('tabpanel', { name: client })).toBeVisible();
    }
    await page.keyboard.press('Shift+Tab');
    await expect(connect.root.getByRole('radio', { name: /this server/ })).toBeFocused();
    await page.keyboard.press('ArrowDown');
    await expect(connect.root.getByRole('radio', { name: /another computer/ })).toBeChecked();
    await expect(connect.text).toContainText(new URL(page.url()).origin);
    await expect(connect.text).toContainText('nbedit/mcp');
    await expect(connect.root).toContainText(
      'The address of this page works only on this computer'
    );
    expect(await connect.root.textContent()).not.toContain(process.env.NBEDIT_TOKEN);
  });

  test('copies in browsers without a clipboard for pages, as over HTTP @nightly', async ({
    context,
    page
  }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const connect = new ConnectPage(page);
    await connect.open();
    await connect.client('Cursor').click();
    const button = connect.root.getByRole('button', { name: 'Copy the command for Cursor' });
    await page.evaluate(() => {
      navigator.clipboard.writeText = async () => Promise.reject(new Error('not allowed'));
    });
    await button.click();
    await expect(button).toHaveText('Copied');
    expect(await page.evaluate(async () => navigator.clipboard.readText())).toBe(
      `${QUOTED_PROGRAM} setup cursor --write`
    );
    await page.evaluate(() => {
      Object.defineProperty(document, 'execCommand', { value: () => false });
    });
    await connect.root.getByRole('button', { name: 'Copy the address' }).click();
    await expect(connect.root.getByText('The browser did not copy.')).toBeAttached();
    expect(await page.evaluate(() => window.getSelection()!.toString())).toMatch(/nbedit\/mcp$/);
  });

  test('lists agents with their last edits while they make them, and opens notebooks', async ({
    create,
    page
  }) => {
    const notebook = create(makeManyCells(3), 'seen.ipynb');
    const connect = new ConnectPage(page);
    await connect.open();
    let count = 0;
    // Each edit changes the cell: nothing tells of one that changes nothing.
    const edit = async () => {
      await notebook.edit([replace(1, `a = ${++count}`)], 'An agent to connect');
    };
    await edit();
    const ours = connect.agents.filter({ hasText: 'An agent to connect' });
    await expect(ours).toContainText('cell 2 changed');
    await expect(ours.locator('time')).toHaveText('now');
    // The page says it of the last agent only, and other tests have agents, too.
    await expect(async () => {
      await edit();
      await expect(
        connect.root.getByText('An agent to connect has changed seen.ipynb.')
      ).toBeAttached({ timeout: 3_000 });
    }).toPass();
    await ours.getByRole('button', { name: 'Open seen.ipynb' }).click();
    await expect(page.locator('.jp-NotebookPanel .jp-Cell')).toHaveCount(3);
  });

  test('tests the endpoint and says what it finds, or what is wrong', async ({ page }) => {
    const connect = new ConnectPage(page);
    await connect.open();
    const button = connect.root.getByRole('button', { name: 'Test the MCP endpoint' });
    await button.click();
    await expect(connect.result).toHaveText(
      /^It answers: jupyter_nbedit \S+, MCP 2026-07-28, 5 tools: notebook_read, .*notebook_history\.$/
    );
    const failures = [
      [{ status: 404, body: 'Not Found' }, 'has no MCP endpoint'],
      [{ status: 403, body: '{"message": "You may not read."}' }, 'You may not read.'],
      [{ status: 502, body: 'Bad Gateway' }, 'A proxy before the server'],
      [null, 'The server does not answer.']
    ] as const;
    let index = 0;
    await page.route('**/nbedit/mcp', async route => {
      const [reply] = failures[index];
      await (reply === null ? route.abort() : route.fulfill(reply));
    });
    for (; index < failures.length; index++) {
      await button.click();
      await expect(connect.result).toContainText(failures[index][1]);
    }
  });

  test('says what is missing, and tries again @nightly', async ({ page }) => {
    const connect = new ConnectPage(page);
    let isDown = true;
    await page.route('**/nbedit/agents?*', async route => {
      if (isDown) {
        return route.abort();
      }
      const response = await route.fetch();
      const reply = (await response.json()) as Record<string, unknown>;
      return route.fulfill({ response, json: { ...reply, bridge: null, last_edits: null } });
    });
    await loadLab(page);
    await page.locator('.jp-LauncherCard', { hasText: NAME }).click();
    await expect(connect.root.getByRole('alert')).toContainText('The server does not answer.');
    isDown = false;
    await connect.root.getByRole('button', { name: 'Try again' }).click();
    await expect(connect.client('Claude Code')).toBeFocused();
    await expect(connect.root.getByRole('alert')).toHaveCount(0);
    await expect(connect.root).toContainText('has no command jupyter-nbedit');
    await expect(connect.root).toContainText('The edit history cannot be read');
  });

  for (const theme of [...THEMES, 'high contrast'] as const) {
    test(`is accessible in the theme ${theme} @nightly`, async ({ create, page }) => {
      const notebook = create(makeManyCells(3));
      await notebook.edit([replace(1, 'a = 1')]);
      const connect = new ConnectPage(page);
      await connect.open();
      if (theme === 'high contrast') {
        await runCommand(page, 'apputils:change-theme', { theme: 'JupyterLab Dark High Contrast' });
        await page.emulateMedia({ forcedColors: 'active' });
      } else {
        await setTheme(page, theme);
      }
      await connect.root.getByRole('button', { name: 'Test the MCP endpoint' }).click();
      await expect(connect.result).toContainText('It answers');
      for (const client of ['Claude Code', 'Cursor']) {
        await connect.client(client).click();
        expect(await findViolations(connect.root)).toEqual([]);
      }
      await connect.root.getByRole('radio', { name: /another computer/ }).check();
      expect(await findViolations(connect.root)).toEqual([]);
    });
  }
});

test('In a terminal of JupyterLab, the command line finds its own server without settings @nightly', async ({
  folder,
  page
}) => {
  folder.write('start.txt', '');
  await loadLab(page);
  await runCommand(page, 'terminal:create-new');
  await page.locator('.jp-Terminal .xterm-helper-textarea').waitFor({ state: 'attached' });
  await page.locator('.jp-Terminal .xterm-screen').click();
  const file = folder.getFile('status.txt');
  await page.keyboard.type(
    `${QUOTED_PROGRAM} status > '${file}.part'; mv '${file}.part' '${file}'\n`
  );
  await expect.poll(() => existsSync(file)).toBe(true);
  const text = folder.readText('status.txt');
  expect(text).toContain(process.env.TARGET_URL);
  expect(text).not.toContain(process.env.NBEDIT_TOKEN);
});
