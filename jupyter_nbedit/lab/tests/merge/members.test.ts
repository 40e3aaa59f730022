import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listConflicts, mergeAttachments } from '../../src/merge/members';
import { readCell, type Cell, type JsonObject } from '../../src/merge/notebook';

interface Case {
  readonly name: string;
  readonly base: JsonObject;
  readonly mine: JsonObject | null;
  readonly theirs: JsonObject | null;
  readonly conflicts: readonly string[];
}

const CASES = JSON.parse(readFileSync('../../tests/member_conflicts.json', 'utf-8')) as Case[];

/** Read a cell of the table, which leaves out what is usual. */
function read(cell: JsonObject): Cell {
  return readCell({ cell_type: 'code', source: '', metadata: {}, ...cell }, 'a');
}

test.each(CASES)('$name: the members in conflict are those of the table', entry => {
  const base = read(entry.base);
  const [mine, theirs] = [entry.mine, entry.theirs].map(cell => cell && read(cell));
  expect(listConflicts(base, mine ?? null, theirs ?? null)).toEqual(entry.conflicts);
  expect(listConflicts(base, theirs ?? null, mine ?? null)).toEqual(entry.conflicts);
});

function readMarkdown(source: string, attachments?: JsonObject): Cell {
  return read({ cell_type: 'markdown', source, ...(attachments && { attachments }) });
}

const [A, B] = [{ 'image/png': 'A' }, { 'image/png': 'B' }];

test('attachments are merged by name', () => {
  const base = readMarkdown('a b');
  const [mine, theirs] = [readMarkdown('a b', { a: A }), readMarkdown('a b', { b: B })];
  expect(mergeAttachments(base, mine, theirs, 'a b')).toEqual({ a: A, b: B });
});

test('an attachment that both sides changed is as in the tab', () => {
  const base = readMarkdown('a');
  const [mine, theirs] = [readMarkdown('a', { a: A }), readMarkdown('a', { a: B })];
  expect(mergeAttachments(base, mine, theirs, 'a')).toEqual({ a: A });
});

test('an unused attachment that the tab has dropped returns with a source that refers to it', () => {
  const base = readMarkdown('none', { a: A });
  const mine = readMarkdown('none');
  expect(mergeAttachments(base, mine, readMarkdown('none', { a: A }), 'none')).toBeNull();
  expect(mergeAttachments(base, mine, readMarkdown('a', { a: A }), 'a')).toEqual({ a: A });
});

test('a long source with many attachments is taken to refer to each', () => {
  const names = Array.from({ length: 2000 }, (_, number) => `${number}.png`);
  const attachments = Object.fromEntries(names.map(name => [name, A]));
  const source = 'x'.repeat(100_000);
  const base = readMarkdown(source, attachments);
  expect(listConflicts(base, readMarkdown(source), null)).toEqual(['existence']);
  expect(listConflicts(readMarkdown('x', { a: A }), readMarkdown('x'), null)).toEqual([]);
});

test('a cell without attachments keeps none', () => {
  const cell = readMarkdown('a');
  expect(mergeAttachments(cell, cell, cell, 'a')).toBeNull();
  const empty = readMarkdown('a', {});
  expect(mergeAttachments(empty, empty, empty, 'a')).toEqual({});
});
