import type { Locator, Page } from '@playwright/test';
import { findViolations } from './axe';
import { expect, test } from './fixtures';
import { formatNotebook, makeManyCells } from './notebooks';
import { HistoryPanel } from './panel';
import { setTheme, THEMES } from './pictures';

const NAME = 'Connect an Agent…';

/** The page "Connect an Agent", as its user sees it. */
class ConnectPage {
  constructor(private readonly page: Page) {}

  get root(): Locator {
    return this.page.getByRole('region', { name: 'Connect an agent' });
  }

  /** The text that is shown for the selected client, and its button. */
  get text(): Locator {
    return this.root.getByRole('tabpanel').locator('pre').first();
  }

  get agents(): Locator {
    return this.root.locator('.jp-nbedit-connect-agent');
  }

  client(name: string): Locator {
    return this.root.getByRole('tab', { name });
  }

  /** Open it in JupyterLab, which is loaded if it is not yet. */
  async open(): Promise<void> {
    if (this.page.url() === 'about:blank') {
      await this.page.goto('');
    }
    await this.page.evaluate(async () => {
      await window.jupyterapp.commands.execute('nbedit:connect-agent');
    });
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
    await page.goto('');
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

    const history = new HistoryPanel(page);
    await history.open();
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
    expect(local).toMatch(/^claude mcp add -s user nbedit -- \/.*jupyter-nbedit mcp$/);
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
    await expect(connect.text).toContainText(`${new URL(page.url()).origin}`);
    await expect(connect.text).toContainText('nbedit/mcp');
    await expect(connect.root).toContainText(
      'The address of this page works only on this computer'
    );
    expect(await connect.root.textContent()).not.toContain(process.env.NBEDIT_TOKEN);
  });

  test('copies in browsers without a clipboard for pages, as over HTTP', async ({
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
    expect(await page.evaluate(async () => navigator.clipboard.readText())).toMatch(
      /jupyter-nbedit setup cursor --write$/
    );
    await page.evaluate(() => {
      document.execCommand = () => false;
    });
    await connect.root.getByRole('button', { name: 'Copy the address' }).click();
    await expect(connect.root.getByText('The browser did not copy.')).toBeAttached();
    expect(await page.evaluate(() => window.getSelection()!.toString())).toMatch(/nbedit\/mcp$/);
  });

  test('lists agents with their last edits while they make them, and opens notebooks', async ({
    agent,
    folder,
    page
  }) => {
    folder.write('seen.ipynb', formatNotebook(makeManyCells(3)));
    const connect = new ConnectPage(page);
    await connect.open();
    const path = folder.getPath('seen.ipynb');
    const replace = [{ op: 'replace', cell: 'cell-id-1', source: 'a = 1' }];
    await agent.edit(path, replace, 'An agent to connect');
    const ours = connect.agents.filter({ hasText: '“An agent to connect”' });
    await expect(ours).toContainText('cell 2 changed');
    await expect(ours.locator('time')).toHaveText('now');
    await expect(
      connect.root.getByText('“An agent to connect” has changed seen.ipynb.')
    ).toBeAttached();
    await ours.getByRole('button', { name: 'Open seen.ipynb' }).click();
    await expect(page.locator('.jp-NotebookPanel .jp-Cell')).toHaveCount(3);
  });

  for (const theme of [...THEMES, 'high contrast'] as const) {
    test(`is accessible in the theme ${theme}`, async ({ agent, folder, page }) => {
      folder.write('seen.ipynb', formatNotebook(makeManyCells(3)));
      const replace = [{ op: 'replace', cell: 'cell-id-1', source: 'a = 1' }];
      await agent.edit(folder.getPath('seen.ipynb'), replace);
      const connect = new ConnectPage(page);
      await connect.open();
      if (theme === 'high contrast') {
        await page.emulateMedia({ forcedColors: 'active' });
      } else {
        await setTheme(page, theme);
      }
      await connect.root.getByRole('button', { name: 'Test the MCP endpoint' }).click();
      await expect(connect.root.locator('.jp-nbedit-connect-result')).not.toHaveText(
        /^(Testing…)?$/
      );
      for (const client of ['Claude Code', 'Cursor']) {
        await connect.client(client).click();
        expect(await findViolations(connect.root)).toEqual([]);
      }
      await connect.root.getByRole('radio', { name: /another computer/ }).check();
      expect(await findViolations(connect.root)).toEqual([]);
    });
  }
});
