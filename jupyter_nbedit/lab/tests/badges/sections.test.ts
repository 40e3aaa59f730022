import { describe, expect, test } from 'vitest';
import { countByHeading, groupByCollapsedHeading } from '../../src/badges/sections';

const makeEntries = (...cells: number[]) =>
  cells.map((cell, index) => ({ key: `k${index}`, position: { cell } }));

describe('Entries below collapsed headings', () => {
  const shown = { isHidden: false, isCollapsed: false };
  const hidden = { isHidden: true, isCollapsed: false };
  const heading = { isHidden: false, isCollapsed: true };

  test('belong to the heading that hides them, and visible ones to none', () => {
    const cells = [shown, heading, hidden, hidden, shown, heading, hidden];
    expect(groupByCollapsedHeading(cells, makeEntries(0, 1, 2, 3, 4, 6))).toEqual(
      new Map([
        [1, { firstKey: 'k2', count: 2 }],
        [5, { firstKey: 'k5', count: 1 }]
      ])
    );
  });

  test('belong to the outermost heading if several hide them', () => {
    const inner = { isHidden: true, isCollapsed: true };
    expect(groupByCollapsedHeading([heading, inner, hidden], makeEntries(2, 1))).toEqual(
      new Map([[0, { firstKey: 'k0', count: 2 }]])
    );
  });

  test('count as many as they stand for', () => {
    const entries = makeEntries(1, 2).map(entry => ({ ...entry, changeCount: 3 }));
    expect(groupByCollapsedHeading([heading, hidden, hidden], entries)).toEqual(
      new Map([[0, { firstKey: 'k0', count: 6 }]])
    );
    const headings = [{ cell: 0, level: 1, isCollapsed: false }];
    expect(countByHeading(headings, entries)).toEqual([6]);
  });

  test('belong to none if their cell is gone, or no heading hides them', () => {
    expect(groupByCollapsedHeading([shown], makeEntries(5)).size).toBe(0);
    expect(groupByCollapsedHeading([hidden, hidden], makeEntries(1)).size).toBe(0);
  });
});

describe('The table of contents', () => {
  const make = (cell: number, level: number, isCollapsed = false) => ({
    cell,
    level,
    isCollapsed
  });

  test('counts the entries of each section up to the next heading', () => {
    const headings = [make(1, 1), make(3, 2), make(5, 1)];
    expect(countByHeading(headings, makeEntries(0, 1, 2, 3, 4, 4, 9))).toEqual([2, 3, 1]);
  });

  test('counts at a collapsed heading what it hides', () => {
    const headings = [make(0, 1, true), make(2, 2), make(4, 3), make(6, 1)];
    expect(countByHeading(headings, makeEntries(1, 3, 5, 7))).toEqual([3, 1, 1, 1]);
  });

  test('counts a cell of several headings once', () => {
    const headings = [make(0, 1), make(0, 2)];
    expect(countByHeading(headings, makeEntries(0))).toEqual([1, 0]);
    expect(countByHeading(headings, makeEntries(1))).toEqual([0, 1]);
  });

  test('counts nothing at a heading whose cell is gone', () => {
    expect(countByHeading([make(-1, 1)], makeEntries(0))).toEqual([0]);
  });
});
