import { expect, test } from 'vitest';
import type { Done } from '../src/done';
import type { FileChange } from '../src/events';
import { shares, type Arrived } from '../src/shares';

const KEYS = ['a', 'b', 'c', 'd'];

function edit(client: string | null, edit: number | null, ...cells: string[]): FileChange {
  const done: Done[] = cells.map(cell => ({ op: 'replace', cell, index: KEYS.indexOf(cell) }));
  return { path: 'n.ipynb', hash: `h${edit}`, client, edit, done, isCut: false };
}

/** Somebody has saved it, who knows by what. */
const SAVE: FileChange = {
  path: 'n.ipynb',
  hash: null,
  client: null,
  edit: null,
  done: [],
  isCut: false
};

function came(cells: string[], more: Partial<Arrived> = {}): Arrived {
  return { cells, removed: 0, isOfNotebook: false, isCut: false, ...more };
}

test('all that one client has made is its own, whatever its events name', () => {
  const changes = [edit('Bot', 1, 'a'), SAVE, edit('Bot', 2), SAVE];
  expect(shares(came(['a', 'c'], { removed: 2 }), changes, KEYS)).toEqual([
    { ...came(['a', 'c'], { removed: 2 }), clients: ['Bot'], edits: [1, 2], isWhole: true }
  ]);
});

test('what several have made is shared out by what their events name, the rest is of all', () => {
  const gone: FileChange = { ...edit('Bot', 3), done: [{ op: 'delete', cell: 'x', index: 2 }] };
  const changes = [edit('Bot', 1, 'a'), edit('Data agent', 2, 'b', 'd'), gone];
  expect(shares(came(['a', 'b', 'c'], { removed: 1 }), changes, KEYS)).toEqual([
    { ...came(['a'], { removed: 1 }), clients: ['Bot'], edits: [1, 3], isWhole: true },
    { ...came(['b']), clients: ['Data agent'], edits: [2], isWhole: true },
    { ...came(['c']), clients: ['Bot', 'Data agent'], edits: [], isWhole: false }
  ]);
});

test('an edit that the history does not have makes the share one that cannot be taken back', () => {
  const [share] = shares(came(['a']), [edit('Bot', 1, 'a'), edit('Bot', null, 'a')], KEYS);
  expect(share).toMatchObject({ edits: [1], isWhole: false });
});

test('what nobody has said anything of is of nobody, and cannot be taken back', () => {
  expect(shares(came(['a']), [SAVE], KEYS)).toEqual([
    { ...came(['a']), clients: [], edits: [], isWhole: false }
  ]);
});

test('nothing is nobody’s share', () => {
  expect(shares(came([]), [edit('Bot', 1, 'a')], KEYS)).toEqual([]);
});
