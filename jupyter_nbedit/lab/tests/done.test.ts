import { expect, test } from 'vitest';
import { isThere, told, type Done } from '../src/done';

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
