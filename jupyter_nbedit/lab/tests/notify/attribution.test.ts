import { expect, test } from 'vitest';
import {
  attributeChange,
  isApplied,
  removeEdit,
  summarizeOperations,
  type AttributedChange,
  type AttributedEdit,
  type IncomingChange
} from '../../src/notify/attribution';
import type { FileChange } from '../../src/server/fileChanges';
import type { OperationEntry } from '../../src/server/models';

const KEYS = ['a', 'b', 'c', 'd'];

function edit(client: string | null, editId: number | null, ...cells: string[]): FileChange {
  const operations: OperationEntry[] = cells.map(id => ({
    op: 'replace',
    cell_id: id,
    index: KEYS.indexOf(id)
  }));
  return { path: 'n.ipynb', hash: `h${editId}`, client, editId, operations, isTruncated: false };
}

function numbered(id: number, ...cells: string[]): AttributedEdit {
  return { id, cells, removedCount: 0, hasMetadataChange: false };
}

/** Somebody has saved it, who knows by what. */
const SAVE: FileChange = {
  path: 'n.ipynb',
  hash: null,
  client: null,
  editId: null,
  operations: [],
  isTruncated: false
};

function came(cells: string[], more: Partial<IncomingChange> = {}): IncomingChange {
  return { cells, removedCount: 0, hasMetadataChange: false, isTruncated: false, ...more };
}

test('all that one client has made is its own, whatever its events name', () => {
  const changes = [edit('Bot', 1, 'a'), SAVE, edit('Bot', 2), SAVE];
  expect(attributeChange(came(['a', 'c'], { removedCount: 2 }), changes, KEYS)).toEqual([
    {
      ...came(['a', 'c'], { removedCount: 2 }),
      clients: ['Bot'],
      edits: [numbered(1, 'a'), numbered(2)],
      isComplete: true
    }
  ]);
});

test('what several have made is shared out by what their events name, the rest is of all', () => {
  const gone: FileChange = {
    ...edit('Bot', 3),
    operations: [{ op: 'delete', cell_id: 'x', index: 2 }]
  };
  const changes = [edit('Bot', 1, 'a'), edit('Data agent', 2, 'b', 'd'), gone];
  expect(attributeChange(came(['a', 'b', 'c'], { removedCount: 1 }), changes, KEYS)).toEqual([
    {
      ...came(['a'], { removedCount: 1 }),
      clients: ['Bot'],
      edits: [numbered(1, 'a'), { ...numbered(3), removedCount: 1 }],
      isComplete: true
    },
    { ...came(['b']), clients: ['Data agent'], edits: [numbered(2, 'b', 'd')], isComplete: true },
    { ...came(['c']), clients: ['Bot', 'Data agent'], edits: [], isComplete: false }
  ]);
});

test('an edit that the history does not have makes the share one that cannot be taken back', () => {
  const [share] = attributeChange(came(['a']), [edit('Bot', 1, 'a'), edit('Bot', null, 'a')], KEYS);
  expect(share).toMatchObject({ edits: [numbered(1, 'a')], isComplete: false });
});

test('what nobody has said anything of is of nobody, and cannot be taken back', () => {
  expect(attributeChange(came(['a']), [SAVE], KEYS)).toEqual([
    { ...came(['a']), clients: [], edits: [], isComplete: false }
  ]);
});

test('nothing is nobody’s share', () => {
  expect(attributeChange(came([]), [edit('Bot', 1, 'a')], KEYS)).toEqual([]);
});

test('edits under user names that Jupyter invented are those of one client', () => {
  const changes = [
    edit('2f0976f161c0416f9056e4e7aa0c7065', 1, 'a'),
    edit('7d1f9311ec2141318a4b7356a2f267fa', 2, 'b')
  ];
  const [share, ...others] = attributeChange(came(['a', 'b', 'c']), changes, KEYS);
  expect(others).toEqual([]);
  expect(share).toMatchObject({ cells: ['a', 'b', 'c'], isComplete: true });
  expect(share?.clients).toHaveLength(1);
});

test('what is left without an edit is what the others are said to have done', () => {
  const changes = [edit('Bot', 1, 'a', 'b'), edit('Bot', 2, 'b'), edit('Bot', 3)];
  const gone: FileChange = {
    ...edit('Bot', 4),
    operations: [{ op: 'delete', cell_id: 'x', index: 2 }]
  };
  const metadata: FileChange = {
    ...edit('Bot', 5),
    operations: [{ op: 'set_metadata', cell_id: null, index: null }]
  };
  const arrived = came(['a', 'b', 'd'], { removedCount: 1, hasMetadataChange: true });
  const [share] = attributeChange(arrived, [...changes, gone, metadata], KEYS) as [
    AttributedChange
  ];
  const left = (...undone: number[]): AttributedChange | null =>
    undone.reduce<AttributedChange | null>((rest, id) => rest && removeEdit(rest, id), share);
  expect(left(1)).toMatchObject({ cells: ['b', 'd'], removedCount: 1, hasMetadataChange: true });
  expect(left(1, 2)).toMatchObject({ cells: ['d'], removedCount: 1 });
  expect(left(4)).toMatchObject({ cells: ['a', 'b', 'd'], removedCount: 0 });
  expect(left(5)).toMatchObject({ hasMetadataChange: false, removedCount: 1 });
  expect(left(9)).toEqual(share);
  expect(left(1, 2, 3, 4, 5)).toBeNull();
});

function did(op: string, id: string | null, index: number | null = 0): OperationEntry {
  return { op, cell_id: id, index };
}

test('an edit is there once its cells are, and those it deleted are gone', () => {
  const edit = [did('insert', 'new'), did('replace', 'a'), did('delete', 'b')];
  expect(isApplied(edit, ['a', 'b'])).toBe(false);
  expect(isApplied(edit, ['new', 'a', 'b'])).toBe(false);
  expect(isApplied(edit, ['new', 'b'])).toBe(false);
  expect(isApplied(edit, ['new', 'a', 'c'])).toBe(true);
});

test('a cell that is inserted and deleted by the same edit is not waited for', () => {
  expect(isApplied([did('insert', 'new'), did('delete', 'new')], ['a'])).toBe(true);
  expect(isApplied([did('delete', 'a'), did('insert', 'a')], ['a'])).toBe(true);
});

test('of merged cells it is not said which one stays: none is waited for', () => {
  const edit = [did('merge', 'a'), did('merge', 'b')];
  expect(isApplied(edit, ['a', 'b'])).toBe(true);
  expect(summarizeOperations(edit, ['a', 'c'])).toEqual({
    cells: ['a'],
    removedCount: 1,
    hasMetadataChange: false
  });
});

test('what is told are the cells that are there, each once, and how many are gone', () => {
  const edit = [
    did('replace', 'a'),
    did('move', 'a', 2),
    did('insert', 'new', 1),
    did('delete', 'b'),
    did('replace', 'never came')
  ];
  expect(summarizeOperations(edit, ['c', 'new', 'a'])).toEqual({
    cells: ['a', 'new'],
    removedCount: 1,
    hasMetadataChange: false
  });
});

test('cells without ids are told of by their place', () => {
  const edit = [did('replace', null, 1), did('delete', null, 0), did('replace', null, 9)];
  expect(isApplied(edit, ['a', 'b'])).toBe(true);
  expect(summarizeOperations(edit, ['a', 'b'])).toEqual({
    cells: ['b'],
    removedCount: 1,
    hasMetadataChange: false
  });
});

test('an edit of the notebook’s own metadata is told of, though it has no cell', () => {
  expect(summarizeOperations([did('set_metadata', null, null)], ['a'])).toEqual({
    cells: [],
    removedCount: 0,
    hasMetadataChange: true
  });
});

test('ids that are names of things every object has are names like others', () => {
  const edit = [did('replace', '__proto__'), did('delete', 'constructor')];
  expect(isApplied(edit, ['a'])).toBe(false);
  expect(isApplied(edit, ['__proto__'])).toBe(true);
  expect(summarizeOperations(edit, ['__proto__'])).toMatchObject({
    cells: ['__proto__'],
    removedCount: 1
  });
});
