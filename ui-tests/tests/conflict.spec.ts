import type { Locator } from '@playwright/test';
import { expect, test, type TestArgs } from './fixtures';
import { getToasts } from './lab';
import { formatNotebook, makeCodeCell, makeManyCells, replace } from './notebooks';
import type { Tab } from './tab';

const MINE = 'x = 1 + 10';
const THEIRS = 'x = 2';

type Opened = Awaited<ReturnType<TestArgs['openWith']>>;

/** The block of the conflict at a cell; the other one there is that of the edit's change. */
function getBlock(tab: Tab, index: number): Locator {
  return tab
    .cell(index)
    .locator('.jp-nbedit-block')
    .filter({ has: tab.page.getByRole('button', { name: /^Mine/ }) });
}

function getMark(tab: Tab, index: number): Locator {
  return tab.cell(index).locator('.jp-nbedit-conflict-mark');
}

function getToast(tab: Tab): Locator {
  return getToasts(tab.page, 'both changed');
}

/** Both sides change the same line: the user in the tab, the agent on disk. */
async function createConflict(openWith: TestArgs['openWith']): Promise<Opened> {
  const opened = await openWith([makeCodeCell('one', 'x = 1'), makeCodeCell('two', 'y = 1')]);
  const { notebook, tab } = opened;
  await tab.typeText(0, ' + 10');
  await notebook.edit([replace('one', THEIRS), replace('two', 'y = 2')], 'Claude');
  // The other cell, which they do not disagree about, arrives at once.
  await expect(tab.editor(1)).toHaveText('y = 2');
  await expect(getBlock(tab, 0)).toBeVisible();
  expect(await tab.getSource(0)).toBe(MINE);
  expect(notebook.readSources()).toEqual([THEIRS, 'y = 2']);
  return opened;
}

test.describe('A cell that was changed on both sides', () => {
  test('has a block with both texts, a mark and a toast, and its user goes on typing', async ({
    openWith,
    page
  }) => {
    const { tab } = await createConflict(openWith);
    const block = getBlock(tab, 0);
    await expect(block).toContainText('Claude and you both changed this cell');
    await expect(block.locator('.cm-deletedChunk')).toContainText(MINE);
    await expect(block.locator('.cm-changedLine')).toContainText(THEIRS);
    await expect(getMark(tab, 0)).toHaveAttribute(
      'title',
      'Claude and you both changed this cell. Show both'
    );
    await expect(getToast(tab)).toHaveText(
      /^Claude and you both changed 1 cell\. Yours stays until you choose\./
    );
    // One question for one cell; the edit has changed another one, too.
    await expect(tab.bar).toHaveText(
      /^Claude and you both changed 1 cell · Claude changed 1 cell.*of 2/
    );
    expect(await tab.listMarkedCells()).toEqual([1]);
    await page.keyboard.type(' + 100');
    expect(await tab.getSource(0)).toBe(`${MINE} + 100`);
    // What is typed is compared, too.
    await expect(block.locator('.cm-deletedChunk')).toContainText(`${MINE} + 100`);
  });

  test('keeps the user’s text by "Mine", and a save stores it', async ({ openWith }) => {
    const { notebook, tab } = await createConflict(openWith);
    await getBlock(tab, 0).getByRole('button', { name: /^Mine/ }).click();
    await expect(getBlock(tab, 0)).toHaveCount(0);
    await expect(getMark(tab, 0)).toHaveCount(0);
    await expect(getToast(tab)).toHaveCount(0);
    expect(await tab.getSources()).toEqual([MINE, 'y = 2']);
    // The decision is one on the change, too; that of the other cell waits.
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    await expect(tab.bar).toHaveText(/^Claude changed 1 cell/);

    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual([MINE, 'y = 2']);
  });

  test('can be decided later: the bar counts it, and its mark and the keys lead to it', async ({
    openWith,
    page
  }) => {
    const { tab } = await createConflict(openWith);
    await getToast(tab).getByRole('button', { name: 'Hide notification' }).click();
    await expect(getToast(tab)).toHaveCount(0);
    const isFocused = async () =>
      getBlock(tab, 0).evaluate(node => node.contains(document.activeElement));
    await getMark(tab, 0).click();
    await expect.poll(isFocused).toBe(true);
    await page.keyboard.press('Escape');
    await expect.poll(isFocused).toBe(false);
    expect((await tab.getViewState()).mode).toBe('command');
    await expect(tab.bar).toContainText('Claude and you both changed 1 cell');
    // To the change of the other cell, which is the last one, and on to the first one.
    await page.keyboard.press('Alt+Shift+F5');
    await expect(tab.block(1)).toBeFocused();
    await page.keyboard.press('Alt+F5');
    await expect.poll(isFocused).toBe(true);
    // As in all blocks: the agent's text is taken, or not.
    await page.keyboard.press('n');
    await expect(getBlock(tab, 0)).toHaveCount(0);
    expect(await tab.getSource(0)).toBe(MINE);
  });

  test('is saved with the user’s text while the question is open @nightly', async ({
    openWith
  }) => {
    const { notebook, tab } = await createConflict(openWith);
    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual([MINE, 'y = 2']);
    expect(await tab.getSources()).toEqual([MINE, 'y = 2']);
    await getBlock(tab, 0)
      .getByRole('button', { name: /^Theirs/ })
      .click();
    await expect(tab.editor(0)).toHaveText(THEIRS);
    expect(await tab.isDirty()).toBe(true);
  });

  test('is merged without a question if they changed different lines', async ({ openWith }) => {
    const lines = ['a = 1', 'b = 1', 'c = 1', 'd = 1', 'e = 1'];
    const { notebook, tab } = await openWith([makeCodeCell('one', lines.join('\n'))]);
    await tab.typeText(0, '  # mine');
    await notebook.edit([
      { op: 'replace', cell: 'one', source: ['a = 2', ...lines.slice(1)].join('\n') }
    ]);
    const merged = ['a = 2', 'b = 1', 'c = 1', 'd = 1', 'e = 1  # mine'].join('\n');
    await expect.poll(async () => tab.getSource(0)).toBe(merged);
    await expect(getBlock(tab, 0)).toHaveCount(0);
    expect(await tab.getCaret()).toMatchObject({ line: 4, before: 'e = 1  # mine' });

    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual([merged]);
  });
});

test.describe('One edit against several changed cells', () => {
  async function createConflicts(openWith: TestArgs['openWith']): Promise<Opened> {
    const opened = await openWith(makeManyCells(40));
    const { notebook, tab } = opened;
    for (const index of [1, 3, 35]) {
      await tab.typeText(index, '  # mine');
    }
    await tab.scrollToCell(1);
    await notebook.edit(
      [1, 3, 35].map(index => replace(index)),
      'Claude'
    );
    await expect(getToast(tab)).toHaveText(/^Claude and you both changed 3 cells\./);
    return opened;
  }

  test('is one toast, whose "View" goes from one to the next, and "All theirs" takes all', async ({
    openWith
  }) => {
    const { tab } = await createConflicts(openWith);
    const toast = getToast(tab);
    for (const [round, index] of [1, 3, 35].entries()) {
      const view = toast.getByRole('button', { name: /^View/ });
      await expect(view).toHaveText(`View ${round + 1} of 3`);
      await view.click();
      await expect.poll(async () => tab.isInView(index)).toBe(true);
      await expect
        .poll(async () =>
          getBlock(tab, index).evaluate(node => node.contains(document.activeElement))
        )
        .toBe(true);
    }
    await getBlock(tab, 35).getByRole('button', { name: /^Mine/ }).click();
    await expect(toast).toHaveText(/^Claude and you both changed 2 cells\./);
    await toast.getByRole('button', { name: 'All theirs' }).click();
    await expect(toast).toHaveCount(0);
    await expect.poll(async () => tab.getSource(1)).toBe('theirs = 1');
    await expect.poll(async () => tab.getSource(3)).toBe('theirs = 3');
    expect(await tab.getSource(35)).toContain('# mine');
    await expect(tab.root.locator('.jp-nbedit-conflict-mark')).toHaveCount(0);
  });

  test('keeps all texts of the user by "All mine" @nightly', async ({ openWith }) => {
    const { notebook, tab } = await createConflicts(openWith);
    const before = await tab.getSources();
    await getToast(tab).getByRole('button', { name: 'All mine' }).click();
    await expect(tab.root.locator('.jp-nbedit-conflict-mark')).toHaveCount(0);
    expect(await tab.getSources()).toEqual(before);
    await expect(tab.bar).toBeHidden();
    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual(before);
  });
});

test('A cell that one side deleted can stay deleted, or stay @nightly', async ({ openWith }) => {
  const { notebook, tab } = await openWith(makeManyCells(4));
  await tab.typeText(1, '  # mine');
  await tab.typeText(2, '  # mine');
  await notebook.edit(
    [1, 2].map(index => ({ op: 'delete', cell: `cell-id-${index}` })),
    'Claude'
  );
  await expect(getBlock(tab, 1)).toContainText('Claude deleted this cell, which you changed');
  await expect(getBlock(tab, 1).getByRole('button', { name: /^Both/ })).toHaveCount(0);
  await getBlock(tab, 1)
    .getByRole('button', { name: /^Theirs/ })
    .click();
  await expect.poll(async () => tab.getIds()).toEqual(['cell-id-0', 'cell-id-2', 'cell-id-3']);
  await getBlock(tab, 1).getByRole('button', { name: /^Mine/ }).click();
  await expect(getBlock(tab, 1)).toHaveCount(0);
  expect(await tab.save()).toContain('completed');
  expect(notebook.readSources()).toEqual(await tab.getSources());
  expect(await tab.getSource(1)).toContain('# mine');
});

test('A conflict with another program, or with another window, names no JupyterLab @nightly', async ({
  anotherWindow,
  open,
  openWith
}) => {
  const cells = ['x = 1', 'y = 1'].map((source, index) => makeCodeCell(`cell-${index}-id`, source));
  const { notebook, tab } = await openWith(cells);
  const other = await open(notebook.name, { page: await anotherWindow() });
  await tab.typeText(0, '0');
  notebook.write(formatNotebook([makeCodeCell('cell-0-id', 'x = 2'), cells[1]]));
  await expect(getBlock(tab, 0)).toContainText('Another program and you both changed this cell');
  await expect(getMark(tab, 0)).toHaveAttribute('title', /^Another program and you both/);
  await expect(getToast(tab)).toHaveText(/^Another program and you both changed 1 cell\./);

  await notebook.edit([replace('cell-1-id', 'y = 2')], 'Claude');
  await expect.poll(async () => tab.getSource(1)).toBe('y = 2');
  await tab.typeText(1, '0');
  await other.mark(1).click();
  await other.block(1).getByRole('button', { name: /^Undo/ }).click();
  await expect(getBlock(tab, 1)).toContainText('You changed this cell here and in the file');
  await expect(getMark(tab, 1)).toHaveAttribute('title', /^You changed this cell here/);
});

test.describe('A cell that its user changes, and an agent merges with the next', () => {
  const BASE = ['a = 1', 'b = 1', 'c = 1'];

  async function createMerge(openWith: TestArgs['openWith']): Promise<Opened> {
    const opened = await openWith(
      BASE.map((source, index) => makeCodeCell(`cell-${index}-id`, source))
    );
    const { notebook, tab } = opened;
    await tab.typeText(0, '0');
    await notebook.edit([{ op: 'merge', cells: ['cell-0-id', 'cell-1-id'] }], 'Claude');
    await expect(getBlock(tab, 0)).toContainText('Claude and you both changed this cell');
    return opened;
  }

  for (const [choice, expected] of [
    ['Mine', ['a = 10', 'b = 1', 'c = 1']],
    ['Theirs', ['a = 1\nb = 1', 'c = 1']],
    ['Both', ['a = 10\na = 1\nb = 1', 'c = 1']]
  ] as const) {
    test(`loses no text by a save before the choice of "${choice}" @nightly`, async ({
      openWith
    }) => {
      const { notebook, tab } = await createMerge(openWith);
      expect(await tab.save()).toContain('completed');
      expect(notebook.readSources()).toEqual(['a = 10', 'b = 1', 'c = 1']);
      await getBlock(tab, 0)
        .getByRole('button', { name: new RegExp(`^${choice}`) })
        .click();
      await expect.poll(async () => tab.getSources()).toEqual(expected);
      await tab.placeCaret(0);
      expect(await tab.save()).toContain('completed');
      expect(notebook.readSources()).toEqual(expected);
    });
  }
});
