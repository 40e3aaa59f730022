import { expect, test } from 'vitest';
import { UnseenLocator, type TabCell } from '../../src/unseen/unseenPosition';
import type { UnseenCell } from '../../src/server/models';
import {
  makeChange,
  makeDeletion,
  makeInsertion,
  makeState,
  makeUnseenCell
} from '../server/unseenServer';

/** Cells whose sources are `new` and their ids. */
function makeCells(...ids: string[]): TabCell[] {
  return ids.map(id => ({ id, getSource: () => `new ${id}` }));
}

/** A change of a cell without an id, whose source is that of the tab's cell. */
function makeChangeWithoutId(key: string, index: number, source: string): UnseenCell {
  return makeUnseenCell(key, {
    index_before: index,
    index,
    before: makeState('old'),
    after: makeState(source)
  });
}

function locate(
  change: UnseenCell,
  cells: readonly TabCell[],
  locator = new UnseenLocator(),
  isSameVersion = true
): unknown {
  return locator.locate([change], cells, isSameVersion).get(change);
}

test('a change is at the cell with its id, wherever that is in the tab', () => {
  const cells = makeCells('x', 'b', 'a');
  expect(locate(makeChange('5.0', 'a', 0), cells)).toEqual({
    cell: 2,
    side: 'below',
    isOwnCell: true
  });
});

test('a new cell that the tab does not have yet is not shown', () => {
  expect(locate(makeInsertion('5.0', 'new', 1), makeCells('a', 'b'))).toBeNull();
});

test('a cell without an id is followed when users add and delete cells', () => {
  const locator = new UnseenLocator();
  const change = makeChangeWithoutId('5.0', 1, 'new b');
  expect(locate(change, makeCells('a', 'b', 'c'), locator)).toMatchObject({ cell: 1 });
  expect(locate(change, makeCells('x', 'y', 'a', 'b'), locator)).toMatchObject({ cell: 3 });
  const typedIn = [{ id: 'b', getSource: () => 'mine' }, ...makeCells('a', 'c')];
  expect(locate(change, typedIn, locator)).toEqual({ cell: 0, side: 'below', isOwnCell: true });
});

test('a cell without an id that users have moved is found by its source', () => {
  const change = makeChangeWithoutId('5.0', 0, 'new b');
  expect(locate(change, makeCells('a', 'c', 'b'))).toMatchObject({ cell: 2, isOwnCell: true });
});

test('a change is shown at its index if its cell cannot be told', () => {
  const change = makeChangeWithoutId('5.0', 1, 'gone');
  const expected = { cell: 1, side: 'below', isOwnCell: false };
  expect(locate(change, makeCells('a', 'b', 'c'))).toEqual(expected);
  const last = makeChangeWithoutId('5.0', 9, 'gone');
  expect(locate(last, makeCells('a', 'b'))).toMatchObject({ cell: 1, isOwnCell: false });
});

test('of cells with the same id the one with the index and the source is changed', () => {
  const cells = [
    { id: 'a', getSource: () => 'other' },
    { id: 'a', getSource: () => 'new a' }
  ];
  expect(locate(makeChange('5.0', 'a', 1), cells)).toMatchObject({ cell: 1, isOwnCell: true });
});

test('a deleted cell is in its gap', () => {
  const cells = makeCells('a', 'b', 'c');
  const gaps = [0, 1, 3, 7].map(gap => locate(makeDeletion('5.0', 'x', gap), cells));
  expect(gaps).toMatchObject([
    { cell: 0, side: 'above' },
    { cell: 0, side: 'below' },
    { cell: 2, side: 'below' },
    { cell: 2, side: 'below' }
  ]);
});

test('the gap of a deleted cell goes along with the cell before it', () => {
  const locator = new UnseenLocator();
  const deletion = makeDeletion('5.0', 'x', 2);
  expect(locate(deletion, makeCells('a', 'b', 'c'), locator)).toMatchObject({ cell: 1 });
  expect(locate(deletion, makeCells('mine', 'a', 'b', 'c'), locator)).toMatchObject({ cell: 2 });
  // Another edit has added a cell above it.
  const again = makeDeletion('5.0', 'x', 3);
  expect(locate(again, makeCells('new', 'a', 'b', 'c'), locator)).toMatchObject({ cell: 2 });
  expect(locate(again, makeCells('new', 'a'), locator)).toMatchObject({ cell: 1 });
});

test('the gap of a deleted cell is found again when the tab shows its version', () => {
  const locator = new UnseenLocator();
  // Another edit has moved the last cell to the beginning, and the tab does not show it yet.
  const deletion = makeDeletion('5.0', 'x', 2);
  locate(deletion, makeCells('a', 'b', 'c'), locator, false);
  const moved = makeCells('c', 'a', 'b');
  expect(locate(deletion, moved, locator)).toMatchObject({ cell: 1 });
  // It keeps this place while the tab is behind again.
  const again = makeDeletion('5.0', 'x', 3);
  expect(locate(again, moved, locator, false)).toMatchObject({ cell: 1 });
  expect(locate(again, makeCells('new', 'c', 'a', 'b'), locator)).toMatchObject({ cell: 2 });
});

test('a change of the metadata of the notebook is above all cells', () => {
  const change = makeUnseenCell('5.0', { before: makeState(''), after: makeState('') });
  expect(locate(change, makeCells('a', 'b'))).toEqual({
    cell: 0,
    side: 'above',
    isOwnCell: false
  });
});

test('where a change was is forgotten when it is kept', () => {
  const locator = new UnseenLocator();
  const change = makeChangeWithoutId('5.0', 1, 'new b');
  locate(change, makeCells('a', 'b'), locator);
  locator.locate([], makeCells('a', 'b'), true);
  const typedIn = [{ id: 'b', getSource: () => 'mine' }, ...makeCells('a')];
  expect(locate(change, typedIn, locator)).toMatchObject({ isOwnCell: false });
});
