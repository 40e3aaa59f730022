import { expect, test } from 'vitest';
import { WriteRight } from '../../src/server/writeRight';

test('a user who may only read is offered no action, and no command is enabled', () => {
  const right = new WriteRight();
  const isEnabled = right.restrict(() => true);
  expect(right.offer(['keep', 'undo'])).toEqual(['keep', 'undo']);
  expect(isEnabled()).toBe(true);
  right.isGranted = false;
  expect(right.offer(['keep', 'undo'])).toEqual([]);
  expect(isEnabled()).toBe(false);
  right.isGranted = true;
  expect(isEnabled()).toBe(true);
});

test('a command that is not possible is not enabled for a writer', () => {
  expect(new WriteRight().restrict(() => false)()).toBe(false);
});

test('only a change of the right is reported', () => {
  const right = new WriteRight();
  const reports: boolean[] = [];
  right.changed.connect(({ isGranted }) => reports.push(isGranted));
  for (const isGranted of [true, false, false, true]) {
    right.isGranted = isGranted;
  }
  expect(reports).toEqual([false, true]);
});
