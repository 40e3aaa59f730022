import { expect, test } from 'vitest';
import { BlockNavigator, type NavigatorEntry } from '../../src/blocks/blockNavigator';

function makeEntry(key: string, cell: number): NavigatorEntry {
  return { key, position: { cell, side: 'below' } };
}

const e0 = makeEntry('e0', 1);
const e1 = makeEntry('e1', 4);
const e2 = makeEntry('e2', 4);
const e3 = makeEntry('e3', 9);
const entries = [e0, e1, e2, e3];

function makeNavigator(): BlockNavigator<NavigatorEntry> {
  const navigator = new BlockNavigator<NavigatorEntry>();
  navigator.entries = entries;
  return navigator;
}

/** Go to an entry and return its key. */
function go(
  navigator: BlockNavigator<NavigatorEntry>,
  direction: 'next' | 'previous',
  activeCell = 0
): string | undefined {
  const entry = navigator.find(direction, activeCell);
  if (entry !== null) {
    navigator.visit(entry);
  }
  return entry?.key;
}

test('a user starts at the active cell', () => {
  expect(go(makeNavigator(), 'next', 0)).toBe('e0');
  expect(go(makeNavigator(), 'next', 4)).toBe('e1');
  expect(go(makeNavigator(), 'previous', 4)).toBe('e0');
  expect(go(makeNavigator(), 'previous', 12)).toBe('e3');
});

test('after the last entry comes the first, and before the first the last', () => {
  expect(go(makeNavigator(), 'next', 10)).toBe('e0');
  const navigator = makeNavigator();
  expect([1, 2, 3, 4, 5].map(() => go(navigator, 'next'))).toEqual(['e0', 'e1', 'e2', 'e3', 'e0']);
  expect([1, 2].map(() => go(navigator, 'previous'))).toEqual(['e3', 'e2']);
});

test('the entry after one that is gone is the next, and the one before it the previous', () => {
  for (const [direction, expected] of [
    ['next', 'e2'],
    ['previous', 'e0']
  ] as const) {
    const navigator = makeNavigator();
    navigator.visit(e1);
    expect(navigator.currentIndex).toBe(1);
    navigator.entries = entries.filter(({ key }) => key !== 'e1');
    expect([navigator.current, navigator.currentIndex]).toEqual([null, null]);
    expect(go(navigator, direction)).toBe(expected);
  }
});

test('after the last entry is gone, the first is the next', () => {
  const navigator = makeNavigator();
  navigator.visit(e3);
  navigator.entries = entries.slice(0, 3);
  expect(go(navigator, 'next')).toBe('e0');
});

test('the current entry stays the same when others come and go', () => {
  const navigator = makeNavigator();
  navigator.visit(e2);
  navigator.entries = entries.slice(1);
  expect(navigator.current).toBe(e2);
  expect(navigator.currentIndex).toBe(1);
});

test('a user who was at an entry and went elsewhere starts at the active cell', () => {
  const navigator = makeNavigator();
  navigator.visit(e0);
  navigator.reset();
  expect(go(navigator, 'next', 5)).toBe('e3');
});

test('without entries there is none to go to', () => {
  const navigator = new BlockNavigator<NavigatorEntry>();
  expect(navigator.find('next', 0)).toBeNull();
  expect(navigator.find('previous', 0)).toBeNull();
});
