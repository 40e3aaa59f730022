import { expect, test } from 'vitest';
import type { AttributedChange, AttributedEdit } from '../../src/notify/attribution';
import { summarizeOperations } from '../../src/notify/attribution';
import {
  findChangeKeys,
  listAffectedKeys,
  listDecidedEdits,
  listMessages,
  summarizeEffect,
  type NetEffect
} from '../../src/notify/netEffect';
import type { OperationEntry, UnseenReply } from '../../src/server/models';
import {
  makeChange,
  makeDeletion,
  makeEdit,
  makeInsertion,
  makeMove,
  makeState,
  makeUnseenCell
} from '../server/unseenServer';

const KEYS = ['a', 'b', 'c', 'd'];

const NOTHING: NetEffect = {
  changed: 0,
  added: 0,
  moved: 0,
  deleted: 0,
  hasMetadataChange: false,
  isTruncated: false
};

function makeUnseen(until: number, cells: UnseenReply['cells']): UnseenReply {
  const edits = [...new Set(cells.flatMap(({ edit_ids }) => edit_ids))].map(id => makeEdit(id));
  return { path: 'a.ipynb', hash: 'h', until, cells, edits, truncated: false };
}

function makeReport(id: number, ...operations: OperationEntry[]): AttributedEdit {
  return { id, operations, ...summarizeOperations(operations, KEYS) };
}

/** A change by Claude, as the tab has merged it. */
function makeArrival(
  edits: readonly AttributedEdit[],
  more: Partial<AttributedChange> = {}
): AttributedChange {
  return {
    clients: ['Claude'],
    cells: [...new Set(edits.flatMap(({ cells }) => cells))],
    removedCount: edits.reduce((sum, { removedCount }) => sum + removedCount, 0),
    hasMetadataChange: edits.some(({ hasMetadataChange }) => hasMetadataChange),
    isTruncated: false,
    bypassedMode: null,
    edits,
    isComplete: true,
    ...more
  };
}

function makeOperation(op: string, id: string | null, index: number | null = 0): OperationEntry {
  return { op, cell_id: id, index };
}

test('the effect of edits is what the server compares, each cell once', () => {
  const unseen = makeUnseen(3, [
    { ...makeChange('1.0', 'a', 0), edit_ids: [1, 2, 3] },
    makeInsertion('1.1', 'b', 1),
    makeMove('2.0', 'c', 0, 2),
    makeDeletion('2.1', 'x', 3),
    makeUnseenCell('3.0', { before: makeState(''), after: makeState('') }),
    makeChange('9.0', 'd', 3)
  ]);
  const changes = [makeArrival([1, 2].map(id => makeReport(id))), makeArrival([makeReport(3)])];
  expect(summarizeEffect(unseen, changes, KEYS)).toEqual({
    changed: 1,
    added: 1,
    moved: 1,
    deleted: 1,
    hasMetadataChange: true,
    isTruncated: false
  });
});

test('a moved cell that has changed as well counts as changed', () => {
  const moved = { ...makeChange('1.0', 'a', 2), index_before: 0, moved: true };
  expect(
    summarizeEffect(makeUnseen(1, [moved]), [makeArrival([makeReport(1)])], KEYS)
  ).toMatchObject({ changed: 1, moved: 0 });
});

test('the effect of an edit that the server has not compared is what its event says', () => {
  const change = makeArrival([makeReport(7, makeOperation('replace', 'a'))]);
  const older = makeUnseen(6, [makeDeletion('1.0', 'x', 0)]);
  for (const unseen of [null, older]) {
    expect(summarizeEffect(unseen, [change], KEYS)).toEqual({ ...NOTHING, changed: 1 });
    expect(listAffectedKeys(unseen, [change], KEYS)).toEqual(['a']);
  }
});

test('reported operations tell changed, added, moved and deleted cells apart', () => {
  const change = makeArrival([
    makeReport(
      1,
      makeOperation('replace', 'a'),
      makeOperation('move', 'b'),
      makeOperation('insert', 'c'),
      makeOperation('replace', 'c'),
      makeOperation('delete', 'x'),
      makeOperation('set_metadata', null, null)
    )
  ]);
  expect(summarizeEffect(null, [change], KEYS)).toEqual({
    changed: 1,
    added: 1,
    moved: 1,
    deleted: 1,
    hasMetadataChange: true,
    isTruncated: false
  });
});

test('of a burst, a cell that came and went is not told, and one that is back has changed', () => {
  const arrivals = [
    makeArrival([makeReport(1, makeOperation('insert', 'new'), makeOperation('delete', 'a'))], {
      cells: [],
      removedCount: 1
    }),
    makeArrival([makeReport(2, makeOperation('delete', 'new'), makeOperation('insert', 'a'))], {
      removedCount: 1
    })
  ];
  expect(summarizeEffect(null, arrivals, KEYS)).toEqual({ ...NOTHING, changed: 1 });
});

test('merged cells are one changed cell, and deleted ones', () => {
  const merge = makeReport(1, makeOperation('merge', 'a'), makeOperation('merge', 'x'));
  expect(summarizeEffect(null, [makeArrival([merge])], KEYS)).toEqual({
    ...NOTHING,
    changed: 1,
    deleted: 1
  });
});

test('cells of which no operation is reported count as the tab has merged them', () => {
  const change = makeArrival([], { cells: ['a', 'b'], removedCount: 2, isTruncated: true });
  expect(summarizeEffect(null, [change], KEYS)).toEqual({
    ...NOTHING,
    changed: 2,
    deleted: 2,
    isTruncated: true
  });
});

test('the cells to view are in the order of the notebook, a deletion by what follows it', () => {
  const unseen = makeUnseen(2, [
    makeDeletion('1.0', 'x', 1),
    makeDeletion('1.1', 'y', 4),
    makeChange('1.2', null, 2),
    makeChange('2.0', 'a', 0)
  ]);
  const changes = [makeArrival([makeReport(1)])];
  expect(listAffectedKeys(unseen, changes, KEYS)).toEqual(['b', 'c', 'd']);
  expect(listAffectedKeys(unseen, [...changes, makeArrival([makeReport(2)])], KEYS)).toEqual(KEYS);
});

test('each change has a cell to view, also of several at one place and of the metadata', () => {
  const metadata = { ...makeChange('1.3', null, 0), index: null, index_before: null };
  const unseen = makeUnseen(1, [
    metadata,
    makeDeletion('1.0', 'x', 1),
    makeDeletion('1.1', 'y', 1),
    makeChange('1.2', 'b', 1)
  ]);
  expect(listAffectedKeys(unseen, [makeArrival([makeReport(1)])], KEYS)).toEqual([
    'a',
    'b',
    'b',
    'b'
  ]);
});

test('an edit without an unseen change is kept or undone, unless the server has not seen it', () => {
  const unseen = makeUnseen(3, [makeChange('2.0', 'a', 0)]);
  const changes = [makeArrival([1, 2, 3, 4].map(id => makeReport(id)))];
  expect(listDecidedEdits(unseen, changes)).toEqual([1, 3]);
  expect(listDecidedEdits(null, changes)).toEqual([]);
});

test('changes are undone in one step only if no other edit is in them', () => {
  const own = { ...makeChange('1.0', 'a', 0), edit_ids: [1, 2] };
  const shared = { ...makeChange('2.1', 'b', 1), edit_ids: [2, 3] };
  expect(findChangeKeys(makeUnseen(3, [own, shared]), [1, 2, 3])).toEqual(['1.0', '2.1']);
  expect(findChangeKeys(makeUnseen(3, [own, shared]), [1, 2])).toBeNull();
  expect(findChangeKeys(makeUnseen(3, [own]), [1, 2])).toEqual(['1.0']);
  expect(findChangeKeys(makeUnseen(3, []), [1, 2])).toBeNull();
  expect(findChangeKeys(makeUnseen(1, [own]), [1, 2])).toBeNull();
  expect(findChangeKeys(null, [1, 2])).toBeNull();
});

test('the messages are those of the edits, each once', () => {
  const unseen = {
    ...makeUnseen(4, []),
    edits: [
      makeEdit(1, { message: 'Tidy' }),
      makeEdit(2, { message: 'Of somebody else' }),
      makeEdit(3, { message: 'Tidy' }),
      makeEdit(4)
    ]
  };
  expect(listMessages(unseen, [makeArrival([1, 3, 4].map(id => makeReport(id)))])).toEqual([
    'Tidy'
  ]);
  expect(listMessages(null, [makeArrival([makeReport(1)])])).toEqual([]);
});
