import type { Operation } from './agent';
import { expect, test } from './fixtures';
import { makeCodeCell, makeMarkdownCell, replace } from './notebooks';
import type { CellJson } from './notebooks';
import type { Tab } from './tab';

const COLLAPSED = 'jp-MarkdownHeadingCollapsed';

function makeCells(): CellJson[] {
  return [
    { ...makeMarkdownCell('one', '# One'), metadata: { [COLLAPSED]: true } },
    makeCodeCell('a', 'a = 1'),
    makeMarkdownCell('sub', '## Sub'),
    makeCodeCell('b', 'b = 1'),
    makeMarkdownCell('two', '# Two'),
    makeCodeCell('c', 'c = 1')
  ];
}

function setCollapsed(cell: string, value: boolean | null): Operation {
  return { op: 'set_metadata', cell, patch: { [COLLAPSED]: value } };
}

function insert(source: string, position: Record<string, string>, metadata = {}): Operation {
  return { op: 'insert', cell_type: 'markdown', id: 'new', source, metadata, ...position };
}

const BEFORE = ['a', 'sub', 'b'];

const CASES: { name: string; operations: Operation[]; hidden: string[] }[] = [
  { name: 'deleted', operations: [{ op: 'delete', cell: 'one' }], hidden: [] },
  {
    name: 'made a code cell',
    operations: [{ op: 'replace', cell: 'one', cell_type: 'code', source: 'x = 1' }],
    hidden: []
  },
  {
    name: 'made a text',
    operations: [replace('one', 'One')],
    hidden: []
  },
  {
    name: 'given a lower level',
    operations: [replace('one', '## One')],
    hidden: ['a']
  },
  {
    name: 'followed by a heading of its level',
    operations: [replace('sub', '# Sub')],
    hidden: ['a']
  },
  {
    name: 'followed by no heading, which is deleted',
    operations: [{ op: 'delete', cell: 'two' }],
    hidden: ['a', 'sub', 'b', 'c']
  },
  {
    name: 'followed by no heading, which becomes a code cell',
    operations: [{ op: 'replace', cell: 'two', cell_type: 'code', source: 'x = 1' }],
    hidden: ['a', 'sub', 'b', 'two', 'c']
  },
  {
    name: 'followed by a heading of a lower level',
    operations: [replace('two', '## Two')],
    hidden: ['a', 'sub', 'b', 'two', 'c']
  },
  {
    name: 'expanded by its metadata',
    operations: [setCollapsed('one', null)],
    hidden: []
  },
  {
    name: 'followed by another, collapsed by its metadata',
    operations: [setCollapsed('two', true)],
    hidden: ['a', 'sub', 'b', 'c']
  },
  {
    name: 'expanded, and the one in it collapsed',
    operations: [setCollapsed('one', null), setCollapsed('sub', true)],
    hidden: ['b']
  },
  {
    name: 'followed by a new heading',
    operations: [insert('# New', { after: 'a' })],
    hidden: ['a']
  },
  {
    name: 'followed by a new collapsed heading',
    operations: [insert('## New', { after: 'two' }, { [COLLAPSED]: true })],
    hidden: ['a', 'sub', 'b', 'c']
  },
  {
    name: 'followed by a new text',
    operations: [insert('text', { after: 'a' })],
    hidden: ['a', 'new', 'sub', 'b']
  },
  {
    name: 'left by a cell that moves',
    operations: [{ op: 'move', cell: 'a', at: 'end' }],
    hidden: ['sub', 'b']
  },
  {
    name: 'followed by a cell that moves there',
    operations: [{ op: 'move', cell: 'c', after: 'one' }],
    hidden: ['c', 'a', 'sub', 'b']
  },
  { name: 'moved', operations: [{ op: 'move', cell: 'one', after: 'sub' }], hidden: ['b'] },
  {
    name: 'followed by a heading that was a code cell',
    operations: [{ op: 'replace', cell: 'a', cell_type: 'markdown', source: '# A' }],
    hidden: []
  }
];

/** Return which cells are hidden, and what the buttons say that show them. */
async function readVisibility(tab: Tab): Promise<{ hidden: string[]; buttons: string[] }> {
  const hidden = await tab.getHiddenIds();
  const buttons = await tab.root.locator('.jp-showHiddenCellsButton').allTextContents();
  return { hidden, buttons };
}

test.describe('Cells below a collapsed heading', () => {
  for (const { name, operations, hidden } of CASES) {
    test(`are visible as after a reload if it is ${name} @nightly`, async ({
      folder,
      open,
      openWith
    }) => {
      const { notebook, tab } = await openWith(makeCells());
      await expect.poll(async () => tab.getHiddenIds()).toEqual(BEFORE);
      const { hash } = await notebook.edit(operations);
      await expect.poll(async () => tab.getHash()).toBe(hash);
      await expect.poll(async () => tab.getHiddenIds()).toEqual(hidden);
      expect(await tab.isDirty()).toBe(false);
      // JupyterLab changes the visibility of cells in later frames, too.
      await tab.waitFrames(30);
      const visibility = await readVisibility(tab);
      folder.write('loaded.ipynb', notebook.readText());
      const loaded = await open('loaded.ipynb');
      await expect.poll(async () => readVisibility(loaded)).toEqual({ ...visibility, hidden });
    });
  }

  test('do not include the one in which its user types @nightly', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeCells());
    await tab.typeText(5, '0');
    await notebook.edit([insert('text', { after: 'one' }), setCollapsed('two', true)]);
    await expect.poll(async () => tab.getHiddenIds()).toEqual(['new', ...BEFORE]);
    await page.keyboard.type('0');
    await notebook.edit([replace('two', 'Two')]);
    await expect.poll(async () => tab.getHiddenIds()).toEqual(['new', ...BEFORE, 'two']);
    await page.keyboard.type('0');
    expect(await tab.getSource(6)).toBe('c = 1000');
    expect(await tab.getViewState()).toMatchObject({ activeCellId: 'c', mode: 'edit' });
  });
});
