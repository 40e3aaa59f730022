import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { makeManyCells, formatNotebook } from './notebooks';
import { HistoryPanel } from './panel';

interface Edit {
  edit_id: number;
  kind: string;
  client: string | null;
  undoes: number | null;
  undone_by: number | null;
  hash: string;
}

test('A person sees what an agent did, looks at one edit, takes it back, and types on', async ({
  agent,
  folder,
  open,
  page
}) => {
  const name = 'person.ipynb';
  folder.write(name, formatNotebook(makeManyCells(8)));
  const path = folder.getPath(name);
  const original = folder.readNotebook(name);
  const tab = await open(name);
  const panel = await HistoryPanel.show(page);
  await tab.typeText(0, '  # mine');

  const edits: number[] = [];
  for (const index of [2, 4, 6]) {
    const source = `agent = ${index}\nprint(agent)`;
    const operations = [{ op: 'replace', cell: `cell-id-${index}`, source }];
    const { edit_id: id } = await agent.edit(path, operations, 'Refactoring bot');
    edits.push(id!);
  }

  // Which: the toast says so, and the marks show it.
  const toast = getToasts(page);
  await expect(toast).toHaveText(/^Refactoring bot: 3 cells changed/);
  await expect.poll(async () => tab.listMarkedCells()).toEqual([2, 4, 6]);
  expect(await tab.getCaret()).toMatchObject({ before: 'print(0)  # mine', after: '' });
  await page.keyboard.type(' still');

  // What: the panel shows the difference of one of them, and undoes just that one.
  await expect(panel.rows).toHaveCount(3);
  await panel.toggle(1).click();
  const part = panel.getCellDiffs(1);
  await expect(part).toHaveCount(1);
  await expect(part).toContainText('agent = 4');
  await expect(part).toContainText('first_4 = 4');
  await panel.action(1, 'Undo').click();
  await expect.poll(async () => tab.getSource(4)).toBe('first_4 = 4\nsecond_4 = 4\nprint(4)');
  await tab.typeText(0, ', and on');
  expect(await tab.save()).toContain('completed');
  const marked = await tab.listMarkedCells();
  expect(marked).not.toContain(4);

  // The file has what the path comes to, to the byte; so have the tab and the history.
  const expected = structuredClone(original);
  const typed = '  # mine still, and on';
  expected.cells[0].source = ['first_0 = 0\n', 'second_0 = 0\n', `print(0)${typed}`];
  for (const index of [2, 6]) {
    const cell = expected.cells[index];
    Object.assign(cell, { execution_count: null, outputs: [] });
    cell.source = [`agent = ${index}\n`, 'print(agent)'];
  }
  const file = folder.readText(name);
  expect(file).toBe(`${JSON.stringify(expected, null, 1)}\n`);
  expect(await tab.getSources()).toEqual(folder.readSources(name));
  expect(await tab.isDirty()).toBe(false);
  const history = (await agent.get(`/nbedit/notebooks/${path}/history`)) as { edits: Edit[] };
  const [undo, ...made] = history.edits;
  expect(made.map(({ edit_id: id }) => id)).toEqual([...edits].reverse());
  expect(made.map(({ kind, client }) => [kind, client])).toEqual(
    made.map(() => ['edit', 'Refactoring bot'])
  );
  expect(undo).toMatchObject({ kind: 'undo', undoes: edits[1], undone_by: null });
  expect(made.map(({ undone_by: by }) => by)).toEqual([null, undo.edit_id, null]);
  const read = (await agent.get(`/api/contents/${path}?content=0&hash=1`)) as { hash: string };
  expect(await tab.getHash()).toBe(read.hash);
});
