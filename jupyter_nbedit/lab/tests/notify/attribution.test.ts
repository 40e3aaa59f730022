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

function makeFileChange(
  client: string | null,
  editId: number | null,
  ...cells: string[]
): FileChange {
  const operations: OperationEntry[] = cells.map(id => ({
    op: 'replace',
    cell_id: id,
    index: KEYS.indexOf(id)
  }));
  return {
    path: 'n.ipynb',
    hash: `h${editId}`,
    client,
    editId,
    isUndoable: editId !== null,
    operations,
    isTruncated: false,
    bypassedMode: null
  };
}

function makeEdit(id: number, ...cells: string[]): AttributedEdit {
  const { operations } = makeFileChange('Bot', id, ...cells);
  return { id, cells, operations, removedCount: 0, hasMetadataChange: false };
}

/** Somebody has saved it, who knows by what. */
const SAVE: FileChange = {
  path: 'n.ipynb',
  hash: null,
  client: null,
  editId: null,
  isUndoable: false,
  operations: [],
  isTruncated: false,
  bypassedMode: null
};

function makeChange(cells: string[], more: Partial<IncomingChange> = {}): IncomingChange {
  return {
    cells,
    removedCount: 0,
    hasMetadataChange: false,
    isTruncated: false,
    bypassedMode: null,
    ...more
  };
}

test('a change whose version before is not known is not complete: it cannot be undone', () => {
  const changes = [{ ...makeFileChange(null, 1, 'a'), isUndoable: false }];
  const [attributed] = attributeChange(makeChange(['a']), changes, KEYS);
  expect(attributed).toMatchObject({ edits: [makeEdit(1, 'a')], isComplete: false });
});

test('all that one client has made is its own, whatever its events name', () => {
  const changes = [makeFileChange('Bot', 1, 'a'), SAVE, makeFileChange('Bot', 2), SAVE];
  expect(attributeChange(makeChange(['a', 'c'], { removedCount: 2 }), changes, KEYS)).toEqual([
    {
      ...makeChange(['a', 'c'], { removedCount: 2 }),
      clients: ['Bot'],
      edits: [makeEdit(1, 'a'), makeEdit(2)],
      isComplete: true
    }
  ]);
});

test('what several have made is shared out by what their events name, the rest is of all', () => {
  const gone: FileChange = {
    ...makeFileChange('Bot', 3),
    operations: [{ op: 'delete', cell_id: 'x', index: 2 }]
  };
  const changes = [makeFileChange('Bot', 1, 'a'), makeFileChange('Data agent', 2, 'b', 'd'), gone];
  expect(attributeChange(makeChange(['a', 'b', 'c'], { removedCount: 1 }), changes, KEYS)).toEqual([
    {
      ...makeChange(['a'], { removedCount: 1 }),
      clients: ['Bot'],
      edits: [makeEdit(1, 'a'), { ...makeEdit(3), operations: gone.operations, removedCount: 1 }],
      isComplete: true
    },
    {
      ...makeChange(['b']),
      clients: ['Data agent'],
      edits: [makeEdit(2, 'b', 'd')],
      isComplete: true
    },
    { ...makeChange(['c']), clients: ['Bot', 'Data agent'], edits: [], isComplete: false }
  ]);
});

test('an edit that the history does not have makes the share one that cannot be undone', () => {
  const [share] = attributeChange(
    makeChange(['a']),
    [makeFileChange('Bot', 1, 'a'), makeFileChange('Bot', null, 'a')],
    KEYS
  );
  expect(share).toMatchObject({ edits: [makeEdit(1, 'a')], isComplete: false });
});

test('what nobody has said anything of is of nobody, and cannot be undone', () => {
  expect(attributeChange(makeChange(['a']), [SAVE], KEYS)).toEqual([
    { ...makeChange(['a']), clients: [], edits: [], isComplete: false }
  ]);
});

test('nothing is nobody’s share', () => {
  expect(attributeChange(makeChange([]), [makeFileChange('Bot', 1, 'a')], KEYS)).toEqual([]);
});

test('edits under user names that Jupyter invented are those of one client', () => {
  const changes = [
    makeFileChange('2f0976f161c0416f9056e4e7aa0c7065', 1, 'a'),
    makeFileChange('7d1f9311ec2141318a4b7356a2f267fa', 2, 'b')
  ];
  const [share, ...others] = attributeChange(makeChange(['a', 'b', 'c']), changes, KEYS);
  expect(others).toEqual([]);
  expect(share).toMatchObject({ cells: ['a', 'b', 'c'], isComplete: true });
  expect(share?.clients).toHaveLength(1);
});

test('what is left without an edit is what the others are said to have done', () => {
  const changes = [
    makeFileChange('Bot', 1, 'a', 'b'),
    makeFileChange('Bot', 2, 'b'),
    makeFileChange('Bot', 3)
  ];
  const gone: FileChange = {
    ...makeFileChange('Bot', 4),
    operations: [{ op: 'delete', cell_id: 'x', index: 2 }]
  };
  const metadata: FileChange = {
    ...makeFileChange('Bot', 5),
    operations: [{ op: 'set_metadata', cell_id: null, index: null }]
  };
  const arrived = makeChange(['a', 'b', 'd'], { removedCount: 1, hasMetadataChange: true });
  const [share] = attributeChange(arrived, [...changes, gone, metadata], KEYS) as [
    AttributedChange
  ];
  const whatIsLeft = (...undone: number[]): AttributedChange | null =>
    undone.reduce<AttributedChange | null>((rest, id) => rest && removeEdit(rest, id), share);
  expect(whatIsLeft(1)).toMatchObject({
    cells: ['b', 'd'],
    removedCount: 1,
    hasMetadataChange: true
  });
  expect(whatIsLeft(1, 2)).toMatchObject({ cells: ['d'], removedCount: 1 });
  expect(whatIsLeft(4)).toMatchObject({ cells: ['a', 'b', 'd'], removedCount: 0 });
  expect(whatIsLeft(5)).toMatchObject({ hasMetadataChange: false, removedCount: 1 });
  expect(whatIsLeft(9)).toEqual(share);
  expect(whatIsLeft(1, 2, 3, 4, 5)).toBeNull();
});

function makeOperation(op: string, id: string | null, index: number | null = 0): OperationEntry {
  return { op, cell_id: id, index };
}

test('an edit is there once its cells are, and those it deleted are gone', () => {
  const operations = [
    makeOperation('insert', 'new'),
    makeOperation('replace', 'a'),
    makeOperation('delete', 'b')
  ];
  expect(isApplied(operations, ['a', 'b'])).toBe(false);
  expect(isApplied(operations, ['new', 'a', 'b'])).toBe(false);
  expect(isApplied(operations, ['new', 'b'])).toBe(false);
  expect(isApplied(operations, ['new', 'a', 'c'])).toBe(true);
});

test('a cell that is inserted and deleted by the same edit is not waited for', () => {
  expect(isApplied([makeOperation('insert', 'new'), makeOperation('delete', 'new')], ['a'])).toBe(
    true
  );
  expect(isApplied([makeOperation('delete', 'a'), makeOperation('insert', 'a')], ['a'])).toBe(true);
});

test('of merged cells it is not said which one stays: none is waited for', () => {
  const operations = [makeOperation('merge', 'a'), makeOperation('merge', 'b')];
  expect(isApplied(operations, ['a', 'b'])).toBe(true);
  expect(summarizeOperations(operations, ['a', 'c'])).toEqual({
    cells: ['a'],
    removedCount: 1,
    hasMetadataChange: false
  });
});

test('what is told are the cells that are there, each once, and how many are gone', () => {
  const operations = [
    makeOperation('replace', 'a'),
    makeOperation('move', 'a', 2),
    makeOperation('insert', 'new', 1),
    makeOperation('delete', 'b'),
    makeOperation('replace', 'never came')
  ];
  expect(summarizeOperations(operations, ['c', 'new', 'a'])).toEqual({
    cells: ['a', 'new'],
    removedCount: 1,
    hasMetadataChange: false
  });
});

test('cells without ids are told of by their place', () => {
  const operations = [
    makeOperation('replace', null, 1),
    makeOperation('delete', null, 0),
    makeOperation('replace', null, 9)
  ];
  expect(isApplied(operations, ['a', 'b'])).toBe(true);
  expect(summarizeOperations(operations, ['a', 'b'])).toEqual({
    cells: ['b'],
    removedCount: 1,
    hasMetadataChange: false
  });
});

test('an edit of the notebook’s own metadata is told of, though it has no cell', () => {
  expect(summarizeOperations([makeOperation('set_metadata', null, null)], ['a'])).toEqual({
    cells: [],
    removedCount: 0,
    hasMetadataChange: true
  });
});

test('ids that are names of things every object has are names like others', () => {
  const operations = [
    makeOperation('replace', '__proto__'),
    makeOperation('delete', 'constructor')
  ];
  expect(isApplied(operations, ['a'])).toBe(false);
  expect(isApplied(operations, ['__proto__'])).toBe(true);
  expect(summarizeOperations(operations, ['__proto__'])).toMatchObject({
    cells: ['__proto__'],
    removedCount: 1
  });
});
