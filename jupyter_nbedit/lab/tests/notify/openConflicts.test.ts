import { beforeEach, expect, test } from 'vitest';
import type { CellConflict } from '../../src/merge/notebookMerge';
import { joinTexts, OpenConflicts, type OpenConflict } from '../../src/notify/openConflicts';

const CONFLICT: CellConflict = {
  index: 0,
  kind: 'changed',
  mine: null,
  theirs: null,
  absorbed: []
};

function makeConflict(key: string): OpenConflict {
  return { key, conflict: CONFLICT, clients: ['Claude'] };
}

let conflicts: OpenConflicts;
let changeCount: number;
let resolutions: string[];

beforeEach(() => {
  conflicts = new OpenConflicts();
  changeCount = 0;
  resolutions = [];
  conflicts.changed.connect(() => changeCount++);
  conflicts.resolved.connect((_, { conflict, choice }) =>
    resolutions.push(`${conflict.key}: ${choice}`)
  );
});

test('conflicts are open until they are resolved', () => {
  const [a, b] = [makeConflict('a'), makeConflict('b')];
  conflicts.add([a, b]);
  conflicts.resolve([a], 'theirs');
  expect(conflicts.all).toEqual([b]);
  expect(conflicts.has(a)).toBe(false);
  expect(resolutions).toEqual(['a: theirs']);
  expect(changeCount).toBe(2);
});

test('a conflict is resolved once, and a later one of its cell replaces it', () => {
  const [first, second] = [makeConflict('a'), makeConflict('a')];
  conflicts.add([first]);
  conflicts.add([second]);
  expect(conflicts.all).toEqual([second]);
  conflicts.resolve([first], 'mine');
  expect(conflicts.has(second)).toBe(true);
  conflicts.resolve([second], 'both');
  conflicts.resolve([second], 'mine');
  expect(resolutions).toEqual(['a: both']);
});

test('conflicts of cells that are gone are removed without a choice', () => {
  conflicts.add([makeConflict('a'), makeConflict('b')]);
  conflicts.retain(['b', 'c']);
  expect(conflicts.all.map(({ key }) => key)).toEqual(['b']);
  conflicts.retain(['b']);
  expect(changeCount).toBe(2);
  expect(resolutions).toEqual([]);
});

test('both texts are one after the other, each in lines of its own', () => {
  expect(joinTexts('x = 1', 'x = 2')).toBe('x = 1\nx = 2');
  expect(joinTexts('x = 1\n', 'x = 2')).toBe('x = 1\nx = 2');
  expect(joinTexts('', 'x = 2')).toBe('x = 2');
});
