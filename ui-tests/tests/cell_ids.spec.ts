import type { Agent } from './agent';
import { expect, test } from './fixtures';
import type { Folder } from './folder';
import { code, markdown, notebook, printed } from './notebooks';
import type { Tab } from './tab';

function cells(ids: (string | null)[]) {
  return [
    markdown(ids[0], '# Title'),
    code(ids[1], 'x = 1\nprint(x)', [printed('1\n')], 1),
    code(ids[2], 'y = 1'),
    code(ids[3], 'y = 1')
  ];
}

/** A user types in one cell while an agent edits others by their place. */
async function bothEdit(agent: Agent, folder: Folder, tab: Tab, name: string): Promise<void> {
  const models = await tab.models();
  await tab.type(1, '  # mine');
  await agent.edit(folder.path(name), [
    { op: 'replace', cell: 'cell-2', source: 'y = 2' },
    { op: 'insert', at: 'end', cell_type: 'code', source: 'z = 2' }
  ]);
  await expect(tab.editor(2)).toHaveText('y = 2');
  await expect(tab.editor(4)).toHaveText('z = 2');
  // Nobody's cell was replaced by another one only because it has no id.
  expect(await tab.positionsOf(models)).toEqual([0, 1, 2, 3]);
  await expect(tab.output(1)).toHaveText('1');

  expect(await tab.save()).toContain('completed');
  const expected = ['# Title', 'x = 1\nprint(x)  # mine', 'y = 2', 'y = 1', 'z = 2'];
  expect(folder.sources(name)).toEqual(expected);
  expect(await tab.sources()).toEqual(expected);
}

test.describe('A notebook', () => {
  test('of nbformat 4.4, which has no ids, follows too and gets none', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('old.ipynb', notebook(cells([null, null, null, null]), 4));
    const tab = await open('old.ipynb');
    await bothEdit(agent, folder, tab, 'old.ipynb');
    const saved = folder.notebook('old.ipynb');
    expect(saved.nbformat_minor).toBe(4);
    expect(saved.cells.filter(cell => 'id' in cell)).toEqual([]);
  });

  test('of nbformat 4.5 with ids missing follows too @nightly', async ({ agent, folder, open }) => {
    folder.write('some.ipynb', notebook(cells(['title', null, null, 'last'])));
    const tab = await open('some.ipynb');
    await bothEdit(agent, folder, tab, 'some.ipynb');
    const ids = folder.notebook('some.ipynb').cells.map(cell => cell.id);
    expect([ids[0], ids[3]]).toEqual(['title', 'last']);
    expect(new Set(ids).size).toBe(5);
  });
});
