import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import { ViewButton } from '../../src/notify/viewButton';

const trans = nullTranslator.load('jupyter_nbedit');

function press(view: ViewButton, keys: readonly string[]): string {
  const [action] = view.makeActions(keys, () => undefined);
  action?.callback(new Event('click') as MouseEvent);
  return action?.label ?? '';
}

test('each press goes to the next place, and tells which of the changes are there', () => {
  const viewed: string[] = [];
  const view = new ViewButton(key => viewed.push(key), trans);
  const keys = ['a', 'b', 'b', 'b', 'c', 'd'];
  const labels = [1, 2, 3, 4, 5].map(() => press(view, keys));
  expect(viewed).toEqual(['a', 'b', 'c', 'd', 'a']);
  expect(labels).toEqual([
    'View 1 of 6',
    'View 2–4 of 6',
    'View 5 of 6',
    'View 6 of 6',
    'View 1 of 6'
  ]);
});

test('one place needs no numbers, and none no button', () => {
  const view = new ViewButton(() => undefined, trans);
  expect(press(view, ['a'])).toBe('View');
  expect(press(view, ['a', 'a'])).toBe('View');
  expect(view.makeActions([], () => undefined)).toEqual([]);
});

test('the next press goes to what has taken the place of a cell that is gone', () => {
  const viewed: string[] = [];
  const view = new ViewButton(key => viewed.push(key), trans);
  press(view, ['a', 'b', 'c']);
  expect(press(view, ['b', 'c'])).toBe('View 1 of 2');
  expect(viewed).toEqual(['a', 'b']);
});
