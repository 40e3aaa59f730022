import type { Page } from '@playwright/test';
import { expect, test } from '../fixtures';
import { getToasts } from '../lab';
import { makeCodeCell, makeHtmlOutput, makeManyCells, makeNotebook, replace } from '../notebooks';
import type { Tab } from '../tab';

const EDITS = 50;
const AGENTS = [0, 1, 2, 3, 4];
const CELLS = 12;
/** How long file and room are waited for, in milliseconds; how long it took is printed. */
const AGREEMENT = 30_000;

const OUTPUT = makeHtmlOutput('<b>rendered</b><script>window.nbeditScriptRan = true;</script>');

interface Model {
  content: { cells: { source: string; metadata: { trusted?: boolean } }[] };
}

interface FileHash {
  hash: string;
}

async function hasScriptRun(page: Page): Promise<boolean> {
  return page.evaluate(() => 'nbeditScriptRan' in window);
}

test(`Two pages type in one cell while ${EDITS} edits arrive in others`, async ({
  agent,
  anotherWindow,
  folder,
  open
}) => {
  const name = 'together.ipynb';
  const path = folder.getPath(name);
  const cells = [...makeManyCells(CELLS), makeCodeCell('shown', 'show()', [OUTPUT], 1)].map(
    cell => ({
      ...cell,
      metadata: { trusted: true }
    })
  );
  await agent.writeContents(path, {
    type: 'notebook',
    format: 'json',
    content: makeNotebook(cells)
  });
  const expected = folder.readSources(name);
  const one = await open(name, { kernel: true });
  const two = await open(name, { page: await anotherWindow() });
  for (const tab of [one, two]) {
    expect(await tab.isCollaborative()).toBe(true);
    await expect(tab.output(CELLS).locator('b')).toHaveText('rendered');
    expect(await hasScriptRun(tab.page)).toBe(true);
  }
  const kernel = await one.getKernelId();
  const output = await one.output(CELLS).locator('b').elementHandle();

  await one.placeCaret(1);
  await two.placeCaret(1);
  await two.page.keyboard.press('Control+Home');
  const edits = { areDone: false };
  const type = async (tab: Tab, words: string) => {
    let typed = '';
    while (!edits.areDone) {
      await tab.page.keyboard.type(words, { delay: 40 });
      typed += words;
    }
    return typed;
  };
  const typing = Promise.all([
    type(one, '# the quick brown fox jumps over the lazy dog. '),
    type(two, '# but the dog sleeps on, and dreams. ')
  ]);
  const edit = async (at: number, source: string) => {
    const operation = { op: 'replace', cell: `cell-id-${at}`, source };
    const { answeredAt } = await agent.edit(path, [operation]);
    expected[at] = source;
    return answeredAt;
  };
  const painted = Promise.all([one, two].map(async tab => tab.waitUntilPainted(2, 'first = 2')));
  const answered = await edit(2, 'first = 2');
  const times = (await painted).map(time => time - answered);
  await Promise.all(
    AGENTS.map(async lane => {
      for (let round = 1; round <= EDITS / AGENTS.length; round++) {
        await edit(2 + lane + AGENTS.length * (round % 2), `agent = ${lane}\nround = ${round}`);
      }
    })
  );
  edits.areDone = true;
  const [last, first] = await typing;
  const since = Date.now();
  expected[1] = first + expected[1] + last;

  for (const tab of [one, two]) {
    await expect.poll(async () => tab.getSources(), { intervals: [50] }).toEqual(expected);
  }
  // A contents manager that writes in place shows half a file now and then.
  await expect(() => expect(folder.readSources(name)).toEqual(expected)).toPass({
    timeout: AGREEMENT,
    intervals: [50]
  });
  console.log(
    `    answer of the PATCH to text on screen: ${times.join(', ')} ms; pages, file and room agree ` +
      `${Date.now() - since} ms after the last key`
  );
  const hashOnDisk = async () => {
    const model = (await agent.get(`/api/contents/${path}?content=0&hash=1`)) as FileHash;
    return model.hash;
  };
  expect(await one.getCaret()).toMatchObject({ line: 2, before: `print(1)${last}`, after: '' });
  expect(await two.getCaret()).toMatchObject({ line: 0, before: first });

  for (const tab of [one, two]) {
    expect(await tab.output(CELLS).locator('b').textContent()).toBe('rendered');
    if (process.env.NBEDIT_ROOMS === 'jupyter_collaboration') {
      // A page that has not heard of the room's last save yet would ask, with and without agents.
      await expect.poll(async () => (await tab.getHash()) === (await hashOnDisk())).toBe(true);
    }
    await tab.page.keyboard.press('Control+s');
    // What the edits before have set alight is to go out.
    await expect(tab.root.locator('.jp-nbedit-flash')).toHaveCount(0);
  }
  expect(await output!.evaluate(node => node.isConnected)).toBe(true);
  expect(await one.getKernelId()).toBe(kernel);
  expect(kernel).toBeTruthy();

  const flashed = await Promise.all([one, two].map(async tab => tab.watchFlashes()));
  const { operations } = await agent.edit(
    path,
    [
      replace(3, 'last = 3'),
      { op: 'insert', before: 'cell-id-4', cell_type: 'code', source: 'new = 4' },
      { op: 'delete', cell: 'cell-id-5' }
    ],
    'Refactoring bot'
  );
  for (const [at, tab] of [one, two].entries()) {
    const toast = getToasts(tab.page, 'Refactoring bot');
    await expect(toast).toContainText('Refactoring bot: 1 cell changed, 1 added, 1 deleted');
    await expect(tab.editor(4)).toHaveText('new = 4');
    expect(await flashed[at]()).toEqual(['cell-id-3', operations[1].cell_id]);
  }
  expect(await one.getViewState()).toMatchObject({ activeCellId: 'cell-id-1', mode: 'edit' });

  await expect(async () => {
    const model = (await agent.get(`/api/contents/${path}`)) as Model;
    expect(model.content.cells.map(({ source }) => source)).toEqual(await one.getSources());
    const trusted = model.content.cells.map(({ metadata }) => metadata.trusted);
    expect(trusted).toEqual(trusted.map(() => true));
  }).toPass({ timeout: AGREEMENT });
});
