import { expect, test } from 'vitest';
import {
  isThere,
  shares,
  told,
  withoutEdit,
  type Arrived,
  type Done,
  type NumberedEdit,
  type Share
} from '../../src/notify/attribution';
import type { FileChange } from '../../src/server/fileChanges';

const KEYS = ['a', 'b', 'c', 'd'];

function edit(client: string | null, edit: number | null, ...cells: string[]): FileChange {
  const done: Done[] = cells.map(cell => ({ op: 'replace', cell, index: KEYS.indexOf(cell) }));
  return { path: 'n.ipynb', hash: `h${edit}`, client, edit, done, isCut: false };
}

function numbered(id: number, ...cells: string[]): NumberedEdit {
  return { id, cells, removed: 0, isOfNotebook: false };
}

/** Somebody has saved it, who knows by what. */
const SAVE: FileChange = {
  path: 'n.ipynb',
  hash: null,
  client: null,
  edit: null,
  done: [],
  isCut: false
};

function came(cells: string[], more: Partial<Arrived> = {}): Arrived {
  return { cells, removed: 0, isOfNotebook: false, isCut: false, ...more };
}

test('all that one client has made is its own, whatever its events name', () => {
  const changes = [edit('Bot', 1, 'a'), SAVE, edit('Bot', 2), SAVE];
  expect(shares(came(['a', 'c'], { removed: 2 }), changes, KEYS)).toEqual([
    {
      ...came(['a', 'c'], { removed: 2 }),
      clients: ['Bot'],
      edits: [numbered(1, 'a'), numbered(2)],
      isWhole: true
    }
  ]);
});

test('what several have made is shared out by what their events name, the rest is of all', () => {
  const gone: FileChange = { ...edit('Bot', 3), done: [{ op: 'delete', cell: 'x', index: 2 }] };
  const changes = [edit('Bot', 1, 'a'), edit('Data agent', 2, 'b', 'd'), gone];
  expect(shares(came(['a', 'b', 'c'], { removed: 1 }), changes, KEYS)).toEqual([
    {
      ...came(['a'], { removed: 1 }),
      clients: ['Bot'],
      edits: [numbered(1, 'a'), { ...numbered(3), removed: 1 }],
      isWhole: true
    },
    { ...came(['b']), clients: ['Data agent'], edits: [numbered(2, 'b', 'd')], isWhole: true },
    { ...came(['c']), clients: ['Bot', 'Data agent'], edits: [], isWhole: false }
  ]);
});

test('an edit that the history does not have makes the share one that cannot be taken back', () => {
  const [share] = shares(came(['a']), [edit('Bot', 1, 'a'), edit('Bot', null, 'a')], KEYS);
  expect(share).toMatchObject({ edits: [numbered(1, 'a')], isWhole: false });
});

test('what nobody has said anything of is of nobody, and cannot be taken back', () => {
  expect(shares(came(['a']), [SAVE], KEYS)).toEqual([
    { ...came(['a']), clients: [], edits: [], isWhole: false }
  ]);
});

test('nothing is nobody’s share', () => {
  expect(shares(came([]), [edit('Bot', 1, 'a')], KEYS)).toEqual([]);
});

test('edits under user names that Jupyter invented are those of one client', () => {
  const changes = [
    edit('2f0976f161c0416f9056e4e7aa0c7065', 1, 'a'),
    edit('7d1f9311ec2141318a4b7356a2f267fa', 2, 'b')
  ];
  const [share, ...others] = shares(came(['a', 'b', 'c']), changes, KEYS);
  expect(others).toEqual([]);
  expect(share).toMatchObject({ cells: ['a', 'b', 'c'], isWhole: true });
  expect(share?.clients).toHaveLength(1);
});

test('what is left without an edit is what the others are said to have done', () => {
  const changes = [edit('Bot', 1, 'a', 'b'), edit('Bot', 2, 'b'), edit('Bot', 3)];
  const gone: FileChange = { ...edit('Bot', 4), done: [{ op: 'delete', cell: 'x', index: 2 }] };
  const metadata: FileChange = {
    ...edit('Bot', 5),
    done: [{ op: 'set_metadata', cell: null, index: null }]
  };
  const arrived = came(['a', 'b', 'd'], { removed: 1, isOfNotebook: true });
  const [share] = shares(arrived, [...changes, gone, metadata], KEYS) as [Share];
  const left = (...undone: number[]): Share | null =>
    undone.reduce<Share | null>((rest, id) => rest && withoutEdit(rest, id), share);
  expect(left(1)).toMatchObject({ cells: ['b', 'd'], removed: 1, isOfNotebook: true });
  expect(left(1, 2)).toMatchObject({ cells: ['d'], removed: 1 });
  expect(left(4)).toMatchObject({ cells: ['a', 'b', 'd'], removed: 0 });
  expect(left(5)).toMatchObject({ isOfNotebook: false, removed: 1 });
  expect(left(9)).toEqual(share);
  expect(left(1, 2, 3, 4, 5)).toBeNull();
});

function did(op: string, cell: string | null, index: number | null = 0): Done {
  return { op, cell, index };
}

test('an edit is there once its cells are, and those it deleted are gone', () => {
  const edit = [did('insert', 'new'), did('replace', 'a'), did('delete', 'b')];
  expect(isThere(edit, ['a', 'b'])).toBe(false);
  expect(isThere(edit, ['new', 'a', 'b'])).toBe(false);
  expect(isThere(edit, ['new', 'b'])).toBe(false);
  expect(isThere(edit, ['new', 'a', 'c'])).toBe(true);
});

test('a cell that is inserted and deleted by the same edit is not waited for', () => {
  expect(isThere([did('insert', 'new'), did('delete', 'new')], ['a'])).toBe(true);
  expect(isThere([did('delete', 'a'), did('insert', 'a')], ['a'])).toBe(true);
});

test('of merged cells it is not said which one stays: none is waited for', () => {
  const edit = [did('merge', 'a'), did('merge', 'b')];
  expect(isThere(edit, ['a', 'b'])).toBe(true);
  expect(told(edit, ['a', 'c'])).toEqual({ cells: ['a'], removed: 1, isOfNotebook: false });
});

test('what is told are the cells that are there, each once, and how many are gone', () => {
  const edit = [
    did('replace', 'a'),
    did('move', 'a', 2),
    did('insert', 'new', 1),
    did('delete', 'b'),
    did('replace', 'never came')
  ];
  expect(told(edit, ['c', 'new', 'a'])).toEqual({
    cells: ['a', 'new'],
    removed: 1,
    isOfNotebook: false
  });
});

test('cells without ids are told of by their place', () => {
  const edit = [did('replace', null, 1), did('delete', null, 0), did('replace', null, 9)];
  expect(isThere(edit, ['a', 'b'])).toBe(true);
  expect(told(edit, ['a', 'b'])).toEqual({ cells: ['b'], removed: 1, isOfNotebook: false });
});

test('an edit of the notebook’s own metadata is told of, though it has no cell', () => {
  expect(told([did('set_metadata', null, null)], ['a'])).toEqual({
    cells: [],
    removed: 0,
    isOfNotebook: true
  });
});

test('ids that are names of things every object has are names like others', () => {
  const edit = [did('replace', '__proto__'), did('delete', 'constructor')];
  expect(isThere(edit, ['a'])).toBe(false);
  expect(isThere(edit, ['__proto__'])).toBe(true);
  expect(told(edit, ['__proto__'])).toMatchObject({ cells: ['__proto__'], removed: 1 });
});
