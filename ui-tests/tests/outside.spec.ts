import { mkdirSync, renameSync, rmdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { ChangeEvents, listOutsideEntries, waitUntilFollowed, WatchedFile } from './changes';
import { expect, test } from './fixtures';
import type { Folder } from './folder';
import { getToasts, runCommand } from './lab';
import { formatNotebook, makeCodeCell, makeManyCells, replace, type CellJson } from './notebooks';
import { HistoryPanel } from './panel';
import { WRITERS } from './writers';

/** The cells that other programs write; the user has the first one. */
const CELLS = [1, 2, 3, 4];

const ROUNDS: [number, boolean, string][] = [
  [1, true, ''],
  [36, false, ' @nightly'],
  [36, true, ' @nightly']
];

for (const [rounds, isTyping, tag] of ROUNDS) {
  const who = isTyping ? 'whose user types' : 'without unsaved changes';
  test(`A tab ${who} shows ${rounds} changes by each kind of program${tag}`, async ({
    agent,
    folder,
    openWith,
    page
  }) => {
    const kinds = Object.entries(WRITERS);
    test.setTimeout(60_000 + rounds * kinds.length * 8_000);
    const { notebook, tab } = await openWith(makeManyCells(5), { name: 'a.ipynb' });
    // The version of a save that is written over at once has no copy, and so no undo.
    await page.evaluate(() => window.jupyterapp.commands.execute('docmanager:toggle-autosave'));
    await waitUntilFollowed(notebook.readText());
    const events = await ChangeEvents.watch(page, notebook.path);
    const times = new Map<string, number[]>();
    let typed = notebook.readSources()[0];
    let count = 0;
    for (let round = 0; round < rounds; round++) {
      for (const [kind, write] of kinds) {
        const index = CELLS[count % CELLS.length];
        const source = `changed = ${count++}`;
        if (isTyping) {
          await tab.typeText(0, ` u${count}`);
          typed += ` u${count}`;
        }
        const painted = tab.waitUntilPainted(index, source);
        // A failed write must fail the test by its own error.
        painted.catch(() => undefined);
        await write(folder.getFile(notebook.name), { cell: `cell-id-${index}`, source });
        const end = Date.now();
        times.set(kind, [...(times.get(kind) ?? []), (await painted) - end]);
        // The page may have found it by itself, before the server has.
        await expect.poll(async () => (await events.listVersions()).length).toBe(count);
        expect(await tab.getSource(0)).toBe(typed);
        await expect(tab.mark(index)).toHaveAttribute(
          'title',
          'Changed on disk. Show what changed'
        );
      }
      await expect(
        getToasts(page, /a\.ipynb changed on disk: \d cells? changed/).first()
      ).toBeVisible();
    }

    const entries = await listOutsideEntries(agent, notebook.path);
    expect(entries).toHaveLength(count);
    expect(entries.slice(1).map(entry => entry.hash_before)).toEqual(
      entries.slice(0, -1).map(entry => entry.hash)
    );
    // Later changes of the same cells prevent the undo of the others.
    expect(entries.slice(-CELLS.length).every(entry => entry.undoable)).toBe(true);
    const told = (await events.listVersions()).map(event => [
      event.kind,
      event.is_outside,
      event.edit_id
    ]);
    expect(told).toEqual(entries.map(entry => ['changed', true, entry.edit_id]));
    if (isTyping) {
      expect(await tab.save()).toContain('completed');
    }
    expect(await tab.isDirty()).toBe(false);
    expect(await tab.getSources()).toEqual(notebook.readSources());
    expect(await tab.getSource(0)).toBe(typed);
    expect(await listOutsideEntries(agent, notebook.path)).toHaveLength(count);
    console.log(`    ${who}: from the end of a write to the pixels, median (maximum):`);
    for (const [kind, values] of [...times, ['all', [...times.values()].flat()] as const]) {
      const sorted = [...values].sort((a, b) => a - b);
      console.log(
        `      ${kind}: ${sorted[Math.floor(sorted.length / 2)]} (${sorted.at(-1)}) ms ` +
          `of ${sorted.length}`
      );
    }
  });
}

/** Write a notebook over the one on disk, as another program does. */
function writeCells(folder: Folder, name: string, change: (cells: CellJson[]) => CellJson[]): void {
  const { cells } = folder.readNotebook(name);
  folder.write(name, formatNotebook(change(cells)));
}

function withSources(cells: CellJson[], sources: Record<number, string>): CellJson[] {
  return cells.map((cell, index) =>
    index in sources ? { ...cell, source: [sources[index]] } : cell
  );
}

test('A toast lists the cells that another program changed, and its Undo takes them back', async ({
  agent,
  folder,
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(6), { name: 'a.ipynb' });
  const before = notebook.readText();
  await waitUntilFollowed(notebook.readText());
  await tab.typeText(0, ' # mine');
  const events = await ChangeEvents.watch(page, notebook.path);
  writeCells(folder, notebook.name, cells =>
    withSources(cells, { 2: 'changed = 2', 4: 'changed = 4' })
  );
  const toast = getToasts(page, notebook.name);
  await expect(toast).toContainText('a.ipynb changed on disk: 2 cells changed');
  await toast.hover();
  expect(await tab.listMarkedCells()).toEqual([2, 4]);

  await toast.getByRole('button', { name: 'Undo' }).click();
  await expect(toast).toHaveText('Undid the edit in a.ipynb.');
  expect(notebook.readText()).toBe(before);
  await expect.poll(async () => tab.getSource(2)).toContain('first_2');
  await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
  expect(await tab.getSource(0)).toContain(' # mine');
  await toast.getByRole('button', { name: 'Hide notification' }).click();
  await expect(toast).toHaveCount(0);

  writeCells(folder, notebook.name, cells => [
    cells[0],
    cells[2],
    makeCodeCell('new', 'new = 1'),
    ...cells.slice(3, 5)
  ]);
  await expect(toast).toContainText('a.ipynb changed on disk: 1 cell added, 2 deleted');
  expect(await tab.save()).toContain('completed');
  expect(await tab.getSources()).toEqual(notebook.readSources());
  expect(notebook.readSources()[0]).toContain(' # mine');
  expect(await events.list()).toHaveLength(2);
  expect(await listOutsideEntries(agent, notebook.path)).toHaveLength(2);
});

test('A change that the tab finds before its event can be undone, too @nightly', async ({
  folder,
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(4), { name: 'a.ipynb' });
  const toast = getToasts(page, notebook.name);
  const undo = toast.getByRole('button', { name: 'Undo' });
  let before = '';
  for (let round = 0; round < 10; round++) {
    before = notebook.readText();
    await waitUntilFollowed(before);
    writeCells(folder, notebook.name, cells => withSources(cells, { 1: `changed = ${round}` }));
    // As if its user had come back from another window.
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await expect(tab.editor(1)).toHaveText(`changed = ${round}`);
    await expect(toast).toBeVisible();
    if (await undo.isVisible()) {
      break;
    }
    // On a busy machine the event may come later than the tab waits for it.
    await toast.locator('.Toastify__close-button').click();
    await expect(toast).toHaveCount(0);
  }
  await undo.click();
  await expect(toast).toHaveText('Undid the edit in a.ipynb.');
  expect(notebook.readText()).toBe(before);
});

/** What other programs make of a file, with the notice about it. */
const PROBLEMS: Record<string, [(file: string) => void, RegExp, (file: string) => void]> = {
  deleted: [
    file => rmSync(file),
    /^a\.ipynb was deleted on disk\. This tab keeps its content; save it to create the file again\./,
    () => undefined
  ],
  renamed: [
    file => renameSync(file, file.replace('a.ipynb', 'b.ipynb')),
    /^a\.ipynb was renamed to b\.ipynb on disk\. This tab keeps its content; open the file by its new name\./,
    file => rmSync(file.replace('a.ipynb', 'b.ipynb'))
  ],
  'no JSON any more': [
    file => writeFileSync(file, '<<<<<<< no JSON'),
    /^a\.ipynb cannot be read from disk now\. This tab keeps its content\. /,
    () => undefined
  ],
  'a folder now': [
    file => {
      rmSync(file);
      mkdirSync(file);
    },
    /^a\.ipynb cannot be read from disk now\. This tab keeps its content\. /,
    file => rmdirSync(file)
  ]
};

for (const [kind, [breakFile, notice, cleanUp]] of Object.entries(PROBLEMS)) {
  const tag = kind === 'deleted' ? '' : ' @nightly';
  test(`One notice says that the file is ${kind}, until it is back${tag}`, async ({
    agent,
    folder,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(4), { name: 'a.ipynb' });
    const text = notebook.readText();
    await waitUntilFollowed(notebook.readText());
    const watched = await WatchedFile.open(page, folder);
    await tab.typeText(0, ' # mine');
    const typed = await tab.getSources();
    const file = folder.getFile(notebook.name);
    breakFile(file);
    const toasts = getToasts(page);
    await expect(toasts).toHaveText(notice);
    expect(await tab.getSources()).toEqual(typed);
    // Other looks at the file do not tell it again.
    await watched.waitForLook();
    await watched.waitForLook();
    await expect(toasts).toHaveCount(1);

    cleanUp(file);
    notebook.write(text);
    await expect(toasts).toHaveCount(0);
    writeCells(folder, notebook.name, cells => withSources(cells, { 2: 'changed = 2' }));
    await expect(tab.editor(2)).toHaveText('changed = 2');
    await expect(toasts).toContainText('a.ipynb changed on disk: 1 cell changed');
    expect(await tab.getSource(0)).toBe(typed[0]);
    expect(await listOutsideEntries(agent, notebook.path)).toHaveLength(1);
    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual(await tab.getSources());
  });
}

for (const [mode, text] of [
  ['review', 'Another program changed a.ipynb without review: 1 cell changed'],
  ['plan', 'Another program changed a.ipynb, although edits are paused: 1 cell changed']
] as const) {
  test(`In mode ${mode}, a toast says what another program has bypassed @nightly`, async ({
    create,
    folder,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(4), 'a.ipynb');
    await notebook.setMode(mode);
    const tab = await open(notebook.name);
    await waitUntilFollowed(notebook.readText());
    writeCells(folder, notebook.name, cells => withSources(cells, { 1: 'changed = 1' }));
    await expect(getToasts(page, notebook.name)).toContainText(text);
    await expect(tab.editor(1)).toHaveText('changed = 1');
    await getToasts(page, notebook.name).getByRole('button', { name: 'Undo' }).click();
    await expect(getToasts(page, notebook.name)).toHaveText('Undid the edit in a.ipynb.');
    await expect.poll(async () => tab.getSource(1)).toContain('first_1');
  });
}

test('What JupyterLab saves and what agents edit and undo is no change by another program @nightly', async ({
  agent,
  anotherWindow,
  folder,
  open,
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(
    [...makeManyCells(3), makeCodeCell('run', 'print("hello")')],
    { kernel: true }
  );
  await waitUntilFollowed(notebook.readText());
  const other = await open(notebook.name, { page: await anotherWindow() });
  const events = await ChangeEvents.watch(page, notebook.path);
  const watched = await WatchedFile.open(page, folder);
  // It sees each version.
  const look = async () => watched.waitForLook();
  await look();
  await tab.typeText(0, ' # one');
  expect(await tab.save()).toContain('completed');
  await look();
  await tab.typeText(0, ' # two');
  // As the timer of autosave does.
  await runCommand(page, 'docmanager:save');
  await look();
  await tab.placeCaret(3);
  await page.keyboard.press('Control+Enter');
  await expect(tab.output(3)).toHaveText('hello');
  expect(await tab.save()).toContain('completed');
  await look();
  const { edit_id: edit } = await notebook.edit([replace(1)]);
  await look();
  await notebook.undo(edit, 'Test agent');
  await look();
  await expect.poll(async () => other.getSources()).toEqual(notebook.readSources());
  await other.typeText(2, ' # three');
  expect(await other.save()).toContain('completed');
  await look();
  utimesSync(folder.getFile(notebook.name), new Date(), new Date());
  await look();
  expect(await events.list()).toEqual([]);
  expect(await listOutsideEntries(agent, notebook.path)).toEqual([]);

  // The watcher was at work.
  writeCells(folder, notebook.name, cells => withSources(cells, { 1: 'changed = 1' }));
  await expect(tab.editor(1)).toHaveText('changed = 1');
  await expect(other.editor(1)).toHaveText('changed = 1');
  expect(await events.list()).toHaveLength(1);
  expect(await listOutsideEntries(agent, notebook.path)).toHaveLength(1);
});

test('The history panel lists a change by another program, undoes and redoes it', async ({
  folder,
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(5));
  const before = notebook.readText();
  await waitUntilFollowed(notebook.readText());
  const panel = await HistoryPanel.show(page);
  writeCells(folder, notebook.name, cells => [
    ...withSources(cells, { 1: 'changed = 1', 3: 'changed = 3' }).slice(0, 4),
    makeCodeCell('new', 'new = 1')
  ]);
  const after = notebook.readText();
  await expect(panel.titles).toHaveText(['cells 2 and 4 changed, cell 5 deleted, cell 5 added']);
  await expect(panel.rows.nth(0)).toContainText('Another program');
  await panel.toggle(0).click();
  await expect(panel.getCellDiffs(0)).toHaveCount(4);

  await panel.action(0, 'Undo').click();
  await expect(panel.rows).toHaveCount(2);
  expect(notebook.readText()).toBe(before);
  await expect.poll(async () => tab.getSources()).toEqual(notebook.readSources());
  await panel.action(0, 'Redo').click();
  await expect(panel.rows).toHaveCount(3);
  expect(notebook.readText()).toBe(after);
  await expect.poll(async () => tab.getSources()).toEqual(notebook.readSources());
  expect(await tab.isDirty()).toBe(false);
});
