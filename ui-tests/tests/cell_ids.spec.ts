import type { Agent, Operation } from './agent';
import { expect, test } from './fixtures';
import type { Folder } from './folder';
import {
  formatNotebook,
  makeCodeCell,
  makeMarkdownCell,
  makeStreamOutput,
  replace
} from './notebooks';
import type { Tab } from './tab';

function makeCells(ids: (string | null)[]) {
  return [
    makeMarkdownCell(ids[0], '# Title'),
    makeCodeCell(ids[1], 'x = 1\nprint(x)', [makeStreamOutput('1\n')], 1),
    makeCodeCell(ids[2], 'y = 1'),
    makeCodeCell(ids[3], 'y = 1')
  ];
}

/** A user types in one cell while an agent edits others by their place. */
async function editOnBothSides(
  agent: Agent,
  folder: Folder,
  tab: Tab,
  name: string
): Promise<void> {
  const models = await tab.getModels();
  await tab.typeText(1, '  # mine');
  await agent.edit(folder.getPath(name), [
    replace('cell-2', 'y = 2'),
    { op: 'insert', at: 'end', cell_type: 'code', source: 'z = 2' }
  ]);
  await expect(tab.editor(2)).toHaveText('y = 2');
  await expect(tab.editor(4)).toHaveText('z = 2');
  // Nobody's cell was replaced by another one only because it has no id.
  expect(await tab.getPositions(models)).toEqual([0, 1, 2, 3]);
  await expect(tab.output(1)).toHaveText('1');

  expect(await tab.save()).toContain('completed');
  const expected = ['# Title', 'x = 1\nprint(x)  # mine', 'y = 2', 'y = 1', 'z = 2'];
  expect(folder.readSources(name)).toEqual(expected);
  expect(await tab.getSources()).toEqual(expected);
}

test.describe('A notebook', () => {
  test('of nbformat 4.4, which has no ids, follows too and gets none @nightly', async ({
    agent,
    folder,
    openWith
  }) => {
    const { notebook, tab } = await openWith(
      formatNotebook(makeCells([null, null, null, null]), 4)
    );
    await editOnBothSides(agent, folder, tab, notebook.name);
    const saved = notebook.readContent();
    expect(saved.nbformat_minor).toBe(4);
    expect(saved.cells.filter(cell => 'id' in cell)).toEqual([]);
  });

  test('of nbformat 4.5 with ids missing follows too @nightly', async ({
    agent,
    folder,
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeCells(['title', null, null, 'last']));
    await editOnBothSides(agent, folder, tab, notebook.name);
    const ids = notebook.readContent().cells.map(cell => cell.id);
    expect([ids[0], ids[3]]).toEqual(['title', 'last']);
    expect(new Set(ids).size).toBe(5);
  });
});

test.describe('Of two equal cells without ids', () => {
  const TABLE: { name: string; operation: Operation; expected: string[] }[] = [
    {
      name: 'the first is deleted',
      operation: { op: 'delete', cell: 'cell-1' },
      expected: ['# Title', 'y = 1  # mine', 'z = 1']
    },
    {
      name: 'the first moves to the end',
      operation: { op: 'move', cell: 'cell-1', at: 'end' },
      expected: ['# Title', 'y = 1  # mine', 'z = 1', 'y = 1']
    },
    {
      name: 'the first moves to the start',
      operation: { op: 'move', cell: 'cell-1', at: 'start' },
      expected: ['y = 1', '# Title', 'y = 1  # mine', 'z = 1']
    },
    {
      name: 'the first is edited',
      operation: replace('cell-1', 'theirs = 1'),
      expected: ['# Title', 'theirs = 1', 'y = 1  # mine', 'z = 1']
    }
  ];
  for (const { name, operation, expected } of TABLE) {
    test(`${name}: its user goes on typing in the second @nightly`, async ({ openWith, page }) => {
      const { notebook, tab } = await openWith(
        formatNotebook(
          [
            makeMarkdownCell(null, '# Title'),
            makeCodeCell(null, 'y = 1'),
            makeCodeCell(null, 'y = 1'),
            makeCodeCell(null, 'z = 1')
          ],
          4
        )
      );
      const models = await tab.getModels();
      await tab.typeText(2, '  # mi');
      const { hash } = await notebook.edit([operation]);
      await expect.poll(async () => tab.getHash()).toBe(hash);
      await page.keyboard.type('ne');
      expect(await tab.getSources()).toEqual(expected);
      const position = (await tab.getPositions(models))[2];
      expect(expected[position]).toBe('y = 1  # mine');
      await expect(tab.root.locator('.jp-nbedit-conflict-mark')).toHaveCount(0);
    });
  }
});
