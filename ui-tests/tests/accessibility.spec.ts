import type { Locator, Page } from '@playwright/test';
import { findViolations } from './axe';
import { showFolder } from './file_browser';
import { expect, test } from './fixtures';
import { formatNotebook } from './notebooks';
import { HistoryPanel } from './panel';
import { setTheme } from './pictures';
import { propose, showChanges } from './surfaces';

const NAME = 'rain.ipynb';

async function runCommand(page: Page, command: string): Promise<void> {
  await page.evaluate(id => {
    void window.jupyterapp.commands.execute(id);
  }, command);
}

// In JupyterLab 4.2, only the cells in sight would be on the page.
test.use({
  mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode: 'defer' } }
});

for (const look of ['light', 'dark', 'high contrast', 'forced colours'] as const) {
  test(`axe-core finds no problem in anything that is shown to the user: ${look}${look === 'light' ? '' : ' @nightly'}`, async ({
    agent,
    dialogs,
    folder,
    open,
    page
  }) => {
    const problems: Record<string, string[]> = {};
    const check = async (name: string, elements: Locator): Promise<void> => {
      await expect(elements.first(), name).toBeVisible();
      for (const element of await elements.all()) {
        const found = await findViolations(element);
        if (found.length > 0) {
          problems[name] = [...(problems[name] ?? []), ...found];
        }
      }
    };
    const scene = { agent, folder, open };
    await page.goto('');
    if (look === 'forced colours') {
      await page.emulateMedia({ forcedColors: 'active' });
    } else {
      await setTheme(page, look);
    }
    const tab = await showChanges(scene, NAME);
    const { root } = tab;
    const bar = root.getByRole('region', { name: 'Changes by agents' });
    const blocks = root.locator('.jp-nbedit-block');
    const toasts = page.locator('.Toastify__toast');
    const ids = await tab.getIds();
    const getBlock = (id: string, kind: 'change' | 'proposal') =>
      tab.cell(ids.indexOf(id)).locator(`.jp-nbedit-${kind}`);

    await expect(toasts).toHaveCount(2);
    await check('toasts', toasts);
    await check('conflict', blocks);
    await check('marks', root.locator('.jp-nbedit-mark, .jp-nbedit-conflict-mark'));
    await check('line of deleted cells', root.locator('.jp-nbedit-line'));
    await check('bar', bar);
    await page.keyboard.press('Escape');
    await tab.mark(ids.indexOf('limit')).click();
    await check('change of code', getBlock('limit', 'change'));
    await tab.mark(ids.indexOf('moved')).click();
    await check('moved cell', getBlock('moved', 'change'));
    await tab.mark(ids.indexOf('prose')).click();
    const prose = getBlock('prose', 'change');
    await check('change of Markdown', prose);
    await prose.getByRole('button', { name: /^Rendered/ }).click();
    await expect(prose.locator('.jp-RenderedMarkdown')).toHaveCount(2);
    await check('rendered Markdown', prose);
    await root.locator('.jp-nbedit-line').getByRole('button', { name: 'Show' }).click();
    await expect(root.locator('.jp-nbedit-change .jp-nbedit-diff')).toHaveCount(2);
    await check('deleted cells', root.locator('.jp-nbedit-change'));

    await propose(scene, NAME);
    await expect(root.locator('.jp-nbedit-proposal')).toHaveCount(6);
    await check('proposals', root.locator('.jp-nbedit-proposal'));
    await check('target of a move', root.locator('.jp-nbedit-move-line'));
    await check('bar with proposals', bar);
    const draft = getBlock('draft', 'proposal');
    await draft.getByRole('button', { name: /^Reject with a reason/ }).click();
    await check('reason', draft);
    await page.keyboard.press('Escape');

    const status = page.locator('.jp-nbedit-mode-status-button');
    await check('status', status);
    await showFolder(page, folder.getPath(''));
    const row = page.locator('.jp-DirListing-item', { hasText: NAME });
    await check('badge of a file', row.getByRole('img', { name: /unseen/ }));
    await tab.scrollToCell(0);
    await tab.cell(0).click();
    await tab.cell(0).locator('.jp-collapseHeadingButton').click();
    await check('badge of a heading', root.locator('.jp-nbedit-heading-badge'));
    await tab.cell(0).locator('.jp-collapseHeadingButton').click();

    const history = new HistoryPanel(page);
    await history.open();
    await expect(history.sessions).toHaveCount(2);
    await check('history', history.root);
    await history.toggle(1).click();
    await expect(history.getCellDiffs(1).locator('.cm-content').first()).toBeVisible();
    await check('edit with its diffs', history.root);
    await history.getRestoreButton(1).click();
    await check('restore', page.locator('.jp-Dialog-content'));
    await page.keyboard.press('Escape');
    await expect(page.locator('.jp-Dialog')).toHaveCount(0);
    expect(dialogs.splice(0)).toHaveLength(1);
    await history.root.getByRole('searchbox').fill('no such text');
    await expect(history.root).toContainText('No edit matches.');
    await check('filtered history', history.root);
    await tab.scrollToCell(ids.indexOf('limit'));
    await tab.cell(ids.indexOf('limit')).click();
    await runCommand(page, 'nbedit:show-cell-history');
    await expect(history.rows).toHaveCount(1);
    await check('history of a cell', history.root);

    // A mode is a notebook's or the server's, and the server is other tests' as well.
    folder.write('new.ipynb', formatNotebook([]));
    await agent.setMode(folder.getPath('new.ipynb'), 'review');
    folder.remove('new.ipynb');
    await agent.proposeNew(folder.getPath('new.ipynb'), [
      { cell_type: 'markdown', source: '# New' },
      { cell_type: 'code', source: 'print("new")' }
    ]);
    await runCommand(page, 'nbedit:review-proposals');
    const list = page.getByRole('region', { name: 'Proposed changes of all notebooks' });
    await list.getByText('Show 2 cells').click();
    await expect(list.locator('.cm-content')).toHaveCount(2);
    await check('list of proposals', list);
    await runCommand(page, 'nbedit:connect-agent');
    await check('connected agents', page.locator('#nbedit-connect'));

    expect(problems).toEqual({});
    const emptyAlerts = await page
      .locator('[role="alert"]')
      .evaluateAll(all => all.filter(({ textContent }) => textContent === '').length);
    expect(emptyAlerts).toBe(0);
  });
}
