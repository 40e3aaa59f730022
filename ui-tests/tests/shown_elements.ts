import type { Locator, Page } from '@playwright/test';
import type { Agent } from './agent';
import { showFolder } from './file_browser';
import { expect } from './fixtures';
import type { Folder } from './folder';
import { formatNotebook, makeCodeCell, makeMarkdownCell, replace } from './notebooks';
import { runCommand } from './lab';
import { HistoryPanel } from './panel';
import type { Tab } from './tab';

const LINES = ['a = 1', 'b = 1', 'c = 1', 'd = 1', 'e = 1', 'f = 1'].join('\n');

/** The cells of a notebook for everything that is shown at cells, by their ids. */
const CELLS = [
  makeMarkdownCell('title', '# Rainfall'),
  makeCodeCell('load', 'import pandas as pd\nrain = pd.read_csv("rain.csv")'),
  makeMarkdownCell('prose', 'The limit is *100 mm*.\n\nIt is what the stations report.'),
  makeCodeCell('limit', 'limit = 100  # mm\nwet = rain[rain.mm > limit]\nprint(len(wet))'),
  makeCodeCell('test', 'print("test")'),
  makeCodeCell('account', 'account = "test"'),
  makeCodeCell('mine', 'months = 12'),
  makeCodeCell('draft', 'wet.plot()'),
  makeCodeCell('merged', LINES),
  makeCodeCell('clash', 'x = 1'),
  makeCodeCell('drop', 'print("drop me")'),
  makeCodeCell('moved', 'print("moved")'),
  makeCodeCell('end', 'print("end")')
];

interface NotebookArgs {
  agent: Agent;
  folder: Folder;
  open: (name: string) => Promise<Tab>;
}

/** What `showEverything` needs. */
export interface PageArgs extends NotebookArgs {
  dialogs: string[];
  page: Page;
}

/** Open a notebook in which an agent has changed, deleted and moved cells, and one as its user. */
export async function showChanges(
  { agent, folder, open }: NotebookArgs,
  name: string
): Promise<Tab> {
  folder.write(name, formatNotebook(CELLS));
  const tab = await open(name);
  const index = CELLS.findIndex(({ id }) => id === 'mine');
  await tab.typeText(index, ' + 1');
  await agent.edit(
    folder.getPath(name),
    [
      replace('prose', 'The limit is *200 mm*.\n\n- since 2026\n- as the stations report'),
      replace('limit', 'limit = 200  # mm\nwet = rain[rain.mm > limit]\nprint(wet.size)'),
      { op: 'delete', cell: 'test' },
      { op: 'delete', cell: 'account' },
      { op: 'move', cell: 'moved', after: 'title' },
      { op: 'insert', after: 'draft', id: 'added', cell_type: 'code', source: 'wet.describe()' },
      replace('mine', 'months = 6')
    ],
    'Claude',
    { message: 'Use the limit of 2026, and drop the test account' }
  );
  await expect.poll(async () => (await tab.listMarkedCells()).length).toBeGreaterThanOrEqual(4);
  await expect(tab.root.locator('.jp-nbedit-conflict-mark')).toHaveCount(1);
  return tab;
}

/**
 * Propose changes of a notebook that `showChanges` has opened: a new cell, and those of cells as
 * they are, of a cell that another agent changes in other lines and in the same line, a deletion and
 * a move.
 */
export async function propose({ agent, folder }: NotebookArgs, name: string): Promise<void> {
  const path = folder.getPath(name);
  await agent.setMode(path, 'review');
  await agent.propose(
    path,
    [
      replace('draft', 'wet.plot(kind="bar")'),
      replace('merged', LINES.replace('a = 1', 'a = 2')),
      replace('clash', 'x = 2'),
      { op: 'delete', cell: 'drop' },
      { op: 'move', cell: 'end', after: 'load' },
      { op: 'insert', at: 'end', id: 'new', cell_type: 'markdown', source: '## Why\n*Because.*' }
    ],
    { client: 'Claude', message: 'Show bars, as the report of 2025 did' }
  );
  await agent.setMode(path, null);
  await agent.edit(
    path,
    [replace('merged', LINES.replace('f = 1', 'f = 3')), replace('clash', 'x = 3')],
    'Codex'
  );
}

/** Show everything that we show to the user, and check the elements of each kind when they are shown. */
export async function showEverything(
  { agent, dialogs, folder, open, page }: PageArgs,
  check: (name: string, elements: Locator) => Promise<void>
): Promise<void> {
  const scene = { agent, folder, open };
  const name = 'rain.ipynb';
  const tab = await showChanges(scene, name);
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

  await propose(scene, name);
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
  const row = page.locator('.jp-DirListing-item', { hasText: name });
  await check('badge of a file', row.getByRole('img', { name: /unseen/ }));
  await tab.scrollToCell(0);
  await tab.cell(0).click();
  await tab.cell(0).locator('.jp-collapseHeadingButton').click();
  await check('badge of a heading', root.locator('.jp-nbedit-heading-badge'));
  await tab.cell(0).locator('.jp-collapseHeadingButton').click();

  const history = await HistoryPanel.show(page);
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
}
