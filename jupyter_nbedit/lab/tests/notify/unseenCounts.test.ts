import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import {
  countUnseen,
  describeUnseen,
  describeUnseenNotebooks,
  listUnseenNotebooks,
  type UnseenSource
} from '../../src/notify/unseenCounts';
import type { UnseenReply } from '../../src/server/models';
import { makeChange } from '../server/unseenServer';

const trans = nullTranslator.load('jupyter_nbedit');

/** `open.ipynb` has two changes, and `kept.ipynb` none; of the others only edits are known. */
const source: UnseenSource = {
  canKeep: true,
  get: path => {
    const cells = {
      'open.ipynb': [makeChange('1.0', 'a', 0), makeChange('1.1', 'b', 1)],
      'kept.ipynb': []
    }[path];
    const reply: Omit<UnseenReply, 'cells'> = {
      path,
      hash: 'h',
      until: 1,
      edits: [],
      truncated: false
    };
    return cells === undefined ? null : { ...reply, cells };
  },
  notebooks: [
    { path: 'open.ipynb', edits: 5, clients: [], time: '' },
    { path: 'kept.ipynb', edits: 2, clients: [], time: '' },
    { path: 'sub/closed.ipynb', edits: 1, clients: [], time: '' }
  ]
};

test('the changes of a notebook are counted if they are known, and else its edits', () => {
  expect(countUnseen(source, 'open.ipynb')).toBe(2);
  expect(describeUnseen(source, 'open.ipynb', trans)).toBe('2 unseen changes');
  expect(countUnseen(source, 'sub/closed.ipynb')).toBe(1);
  expect(describeUnseen(source, 'sub/closed.ipynb', trans)).toBe('1 unseen edit');
});

test('edits that leave no change are not counted', () => {
  expect(countUnseen(source, 'kept.ipynb')).toBe(0);
  expect(describeUnseen(source, 'kept.ipynb', trans)).toBe('');
  expect(listUnseenNotebooks(source)).toEqual(['open.ipynb', 'sub/closed.ipynb']);
});

test('a notebook without unseen edits has none', () => {
  expect(countUnseen(source, 'other.ipynb')).toBe(0);
  expect(describeUnseen(source, 'other.ipynb', trans)).toBe('');
});

test('notebooks with unseen changes are counted', () => {
  expect(describeUnseenNotebooks(0, trans)).toBe('');
  expect(describeUnseenNotebooks(1, trans)).toBe('Unseen changes in 1 notebook');
  expect(describeUnseenNotebooks(3, trans)).toBe('Unseen changes in 3 notebooks');
});

test('nothing is counted for a user who may not keep it', () => {
  const reader = { ...source, canKeep: false };
  expect(countUnseen(reader, 'open.ipynb')).toBe(0);
  expect(describeUnseen(reader, 'sub/closed.ipynb', trans)).toBe('');
  expect(listUnseenNotebooks(reader)).toEqual([]);
});
