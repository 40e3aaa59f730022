import { describe, expect, test } from 'vitest';
import { isAboutNotebook } from '../../src/blocks/cellDiff';
import { isInsert, locateMoveTarget, locatePart } from '../../src/proposals/proposalPartPosition';
import {
  makeCells,
  makeChangedPart,
  makeDeletePart,
  makeInsertPart,
  makePart,
  makeCellState
} from './parts';

const FIVE = makeCells('a', 'b', 'c', 'd', 'e');

describe('A part about a cell', () => {
  test('is shown below the cell with its id, wherever that stands by now', () => {
    const change = makeChangedPart('c', 2);
    expect(locatePart(change, [change], makeCells('x', 'a', 'c'))).toEqual({
      cell: 2,
      side: 'below',
      state: 'as-proposed'
    });
  });

  test('says so if the cell has another text or type by now', () => {
    const change = makeChangedPart('c', 2, { before: makeCellState('as it was') });
    expect(locatePart(change, [change], FIVE).state).toBe('changed');
    const converted = makeChangedPart('c', 2, {
      before: makeCellState('c', { cell_type: 'markdown' })
    });
    expect(locatePart(converted, [converted], FIVE).state).toBe('changed');
  });

  test('says so if the cell is gone, and is shown where it was', () => {
    const change = makeChangedPart('c', 2);
    expect(locatePart(change, [change], makeCells('a', 'b', 'd'))).toEqual({
      cell: 1,
      side: 'below',
      state: 'gone'
    });
    expect(locatePart(change, [change], makeCells('a'))).toMatchObject({ cell: 0, state: 'gone' });
  });

  test('is shown at the cell with its text where cells have no ids', () => {
    const change = makeChangedPart(null, 1, { before: makeCellState('c') });
    const shown = FIVE.map((cell, index) => ({ ...cell, id: `of the tab ${index}` }));
    expect(locatePart(change, [change], shown)).toMatchObject({ cell: 2, state: 'as-proposed' });
  });

  test('is shown at its index where several cells have its text, or none', () => {
    const change = makeChangedPart(null, 2, { before: makeCellState('same') });
    const same = ['same', 'x', 'same', 'same'].map(source => ({ id: '', type: 'code', source }));
    expect(locatePart(change, [change], same)).toMatchObject({ cell: 2, state: 'as-proposed' });
    expect(locatePart(change, [change], FIVE)).toMatchObject({ cell: 2, state: 'changed' });
  });

  test('is found by its index among cells that share its id', () => {
    const change = makeChangedPart('b', 2, { before: makeCellState('second') });
    const twins = ['x', 'first', 'second'].map(source => ({ id: 'b', type: 'code', source }));
    expect(locatePart(change, [change], twins)).toMatchObject({ cell: 2, state: 'as-proposed' });
  });
});

describe('A new cell', () => {
  test('is shown below the one that it would follow', () => {
    const insert = makeInsertPart('n', 2);
    expect(locatePart(insert, [insert], FIVE)).toMatchObject({ cell: 1, side: 'below' });
  });

  test('is shown at the cells beside its place, also if others were added above', () => {
    const insert = makeInsertPart('n', 2, { cell_above: 'b', cell_below: 'c' });
    const more = makeCells('x', 'y', 'a', 'b', 'c');
    expect(locatePart(insert, [insert], more)).toMatchObject({ cell: 3, side: 'below' });
    const without = makeCells('x', 'y', 'c');
    expect(locatePart(insert, [insert], without)).toMatchObject({ cell: 1, side: 'below' });
    const first = makeInsertPart('n', 0, { cell_above: null, cell_below: 'a' });
    expect(locatePart(first, [first], more)).toMatchObject({ cell: 1, side: 'below' });
    expect(locateMoveTarget(insert, [insert], more)).toEqual({ cell: 3, side: 'below' });
    // Without ids, and if both are gone, the index counts.
    const bare = makeInsertPart('n', 2, { cell_above: null, cell_below: 'gone' });
    expect(locatePart(bare, [bare], more)).toMatchObject({ cell: 1, side: 'below' });
  });

  test('is followed by a cell that the proposal moves below it', () => {
    // a b c d e -> a b n d c e, of which the insert was accepted.
    const insert = makeInsertPart('n', 2, { cell_above: 'b', status: 'accepted' });
    const move = makeChangedPart('c', 2, {
      index: 4,
      moved: true,
      after: makeCellState('c'),
      cell_above: 'b'
    });
    const above = makeChangedPart('d', 3, {
      index: 3,
      moved: true,
      after: makeCellState('d'),
      cell_above: 'b'
    });
    const cells = makeCells('a', 'b', 'n', 'c', 'd', 'e');
    const parts = [insert, move, above];
    expect(locateMoveTarget(above, parts, cells)).toEqual({ cell: 2, side: 'below' });
  });

  test('is shown above the first where it would be the first', () => {
    const insert = makeInsertPart('n', 0);
    expect(locatePart(insert, [insert], FIVE)).toMatchObject({ cell: 0, side: 'above' });
  });

  test('is placed among the cells that stay, not among those that come, go and move', () => {
    // a b c d e -> new1 b new2 d c: new2 stands after b, and neither after new1 nor after c.
    const first = makeInsertPart('n1', 0);
    const second = makeInsertPart('n2', 2);
    const parts = [
      makeDeletePart('a', 0),
      first,
      second,
      makeChangedPart('c', 2, { index: 4, moved: true, after: makeCellState('c') }),
      makeDeletePart('e', 4)
    ];
    expect(locatePart(second, parts, FIVE)).toMatchObject({ cell: 1, side: 'below' });
    expect(locatePart(first, parts, FIVE)).toMatchObject({ cell: 0, side: 'above' });
  });

  test('takes what was accepted of its proposal into account', () => {
    const first = makeInsertPart('n1', 1, { status: 'accepted' });
    const gone = makeDeletePart('b', 1, { status: 'accepted' });
    const last = makeInsertPart('n2', 4);
    // a b c d e -> a n1 c d n2 e, of which n1 and the deletion of b are done.
    const now = makeCells('a', 'n1', 'c', 'd', 'e');
    expect(locatePart(last, [first, gone, last], now)).toMatchObject({ cell: 3, side: 'below' });
  });

  test('follows the new cell before it once that is accepted', () => {
    const first = makeInsertPart('n1', 1, { status: 'accepted' });
    const second = makeInsertPart('n2', 2);
    const now = makeCells('a', 'n1', 'b');
    const anchor = { id: 'a', side: 'below' } as const;
    expect(locatePart(second, [first, second], now, anchor)).toMatchObject({ cell: 1 });
    // The tab may not have it yet.
    expect(locatePart(second, [first, second], makeCells('a', 'b'), anchor)).toMatchObject({
      cell: 0
    });
  });

  test('stays with the cell it was shown at', () => {
    const insert = makeInsertPart('n', 2);
    const now = makeCells('x', 'y', 'a', 'b');
    expect(locatePart(insert, [insert], now, { id: 'b', side: 'below' })).toMatchObject({
      cell: 3
    });
    expect(locatePart(insert, [insert], now, { id: 'gone', side: 'below' })).toMatchObject({
      cell: 1
    });
  });

  test('is shown at the last cell if the notebook has become shorter', () => {
    const insert = makeInsertPart('n', 5);
    expect(locatePart(insert, [insert], makeCells('a'))).toMatchObject({ cell: 0, side: 'below' });
  });
});

test('a part without id and indexes is about the notebook, and shown above it', () => {
  const metadata = makePart({
    before: makeCellState('', { cell_type: null, source: null }),
    after: makeCellState('', { cell_type: null, source: null })
  });
  expect(isAboutNotebook(metadata)).toBe(true);
  expect(isInsert(metadata)).toBe(false);
  expect(locatePart(metadata, [metadata], FIVE)).toMatchObject({ cell: 0, side: 'above' });
});
