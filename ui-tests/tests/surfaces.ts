import type { Agent } from './agent';
import { expect } from './fixtures';
import type { Folder } from './folder';
import { formatNotebook, makeCodeCell, makeMarkdownCell } from './notebooks';
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

const replace = (cell: string, source: string) => ({ op: 'replace', cell, source });

interface Scene {
  agent: Agent;
  folder: Folder;
  open: (name: string) => Promise<Tab>;
}

/** Open a notebook in which an agent has changed, deleted and moved cells, and one as its user. */
export async function showChanges({ agent, folder, open }: Scene, name: string): Promise<Tab> {
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
export async function propose({ agent, folder }: Scene, name: string): Promise<void> {
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
