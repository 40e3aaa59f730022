import { expect, test } from './fixtures';
import { makeManyCells } from './notebooks';

const ROUNDS = 150;

/** The same numbers in every run: a failure can be looked at again. */
function* generateNumbers(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

test(`Over ${ROUNDS} rounds of edits and typing, nothing is lost @nightly`, async ({
  folder,
  openWith
}) => {
  test.setTimeout(300_000);
  const { notebook, tab } = await openWith(makeManyCells(12));
  const chance = generateNumbers(20261120);
  const pick = (count: number) => Math.floor(chance.next().value * count);
  // The user has the even cells, the agent the odd ones and those it adds.
  const typed = new Map<string, string>();
  const wanted = new Map<string, string>();
  const added: string[] = [];
  const typing = async (round: number) => {
    const id = `cell-id-${2 * pick(6)}`;
    const word = ` u${round}`;
    const order = notebook.readContent().cells.map(cell => cell.id);
    await expect.poll(async () => tab.getIds()).toEqual(order);
    await tab.typeText(order.indexOf(id), word);
    typed.set(id, (typed.get(id) ?? '') + word);
  };
  const save = async () => {
    // JupyterLab ignores Ctrl-S while it still makes the checkpoint of the save before.
    const pressSave = async () => ((await tab.isDirty()) ? tab.save() : 'completed');
    await expect.poll(pressSave, { timeout: 20_000 }).toContain('completed');
  };
  for (let round = 0; round < ROUNDS; round++) {
    const dice = pick(10);
    if (dice < 4) {
      await typing(round);
    } else if (dice < 7) {
      const cell = added[pick(added.length + 6)] ?? `cell-id-${2 * pick(6) + 1}`;
      wanted.set(cell, `agent = ${round}`);
      await notebook.edit([{ op: 'replace', cell, source: `agent = ${round}` }]);
    } else if (dice === 7) {
      const id = `added-${round}`;
      added.push(id);
      wanted.set(id, `added = ${round}`);
      await notebook.edit([
        { op: 'insert', index: pick(12), cell_type: 'code', id, source: `added = ${round}` }
      ]);
    } else if (dice === 8 && added.length > 0) {
      await notebook.edit([{ op: 'move', cell: added[pick(added.length)], index: pick(12) }]);
    } else {
      await save();
    }
  }
  await save();

  const cells = new Map(
    folder
      .readNotebook(notebook.name)
      .cells.map((cell, at) => [cell.id as string, notebook.readSources()[at]])
  );
  expect(cells.size).toBe(12 + added.length);
  for (const [id, text] of typed) {
    expect(cells.get(id)!.endsWith(text), `${id} ends with${text}: ${cells.get(id)}`).toBe(true);
  }
  for (const [id, text] of wanted) {
    expect(cells.get(id)).toBe(text);
  }
  expect(await tab.getSources()).toEqual(notebook.readSources());
});
