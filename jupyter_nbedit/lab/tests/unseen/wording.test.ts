import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import * as wording from '../../src/unseen/wording';
import {
  makeChange,
  makeDeletion,
  makeEdit,
  makeInsertion,
  makeMove,
  makeState,
  makeUnseenCell
} from '../server/unseenServer';

const trans = nullTranslator.load('jupyter_nbedit');

const change = makeChange('5.0', 'a', 0);

test('a change of a cell is a phrase after the name of its author', () => {
  const both = { ...change, moved: true, index_before: 6, outputs_cleared: true };
  const converted = makeUnseenCell('5.0', {
    index: 0,
    index_before: 0,
    before: makeState('a'),
    after: makeState('a', { cell_type: 'markdown' })
  });
  expect(
    [change, both, makeInsertion('5.0', 'n', 2), makeMove('5.0', 'm', 2, 5), converted].map(cell =>
      wording.describeChange(cell, trans)
    )
  ).toEqual([
    'changed this cell',
    'changed this cell, moved it here from position 7 and cleared its outputs',
    'added this cell',
    'moved this cell here from position 3',
    'made this cell a markdown cell'
  ]);
  const tagged = { ...converted, after: makeState('a', { metadata: { tags: ['x'] } }) };
  expect(wording.describeChange(tagged, trans)).toBe('changed the metadata of this cell');
  const rerun = { ...converted, after: makeState('a') };
  expect(wording.describeChange(rerun, trans)).toBe(
    'changed the outputs, the run number or the attachments of this cell'
  );
});

test('what has no cell is said at its line', () => {
  const [first, second] = [makeDeletion('5.0', 'x', 2), makeDeletion('5.1', 'y', 2)];
  expect(wording.describeMissing([first], trans)).toBe('deleted 1 cell');
  expect(wording.describeMissing([first, second], trans)).toBe('deleted 2 cells');
  const metadata = makeUnseenCell('5.0', { before: makeState(''), after: makeState('') });
  expect(wording.describeMissing([metadata], trans)).toBe('changed the metadata of the notebook');
});

test('the bar says who did what', () => {
  const cells = [
    ...[1, 2, 3].map(part => makeChange(`5.${part}`, `c${part}`, part)),
    makeDeletion('6.0', 'x', 2),
    makeInsertion('6.1', 'n', 2),
    makeMove('6.2', 'm', 2, 5)
  ];
  const edits = [makeEdit(5), makeEdit(6, { client: 'Codex' }), makeEdit(7, { client: 'Other' })];
  expect(wording.describeChanges({ cells, edits }, trans)).toBe(
    'Claude and Codex changed 3 cells, added 1, moved 1, deleted 1'
  );
  expect(wording.describeChanges({ cells: [cells[3] ?? change], edits }, trans)).toBe(
    'Codex deleted 1 cell'
  );
});

test('a mark says who, why, and what its button does', () => {
  const edits = [makeEdit(5, { message: 'Drop the test account.' })];
  expect(wording.describeMark(change, edits, trans)).toBe(
    'Changed by Claude: Drop the test account. Show what changed'
  );
  expect(wording.describeMark(makeInsertion('5.0', 'n', 1), [makeEdit(5)], trans)).toBe(
    'Added by Claude. Show what changed'
  );
  expect(wording.describeMark(makeMove('5.0', 'm', 2, 5), [makeEdit(5)], trans)).toBe(
    'Moved here from position 3 by Claude. Show what changed'
  );
});

test('authors are named once, and other programs are called that', () => {
  const outside = makeEdit(6, { kind: 'outside', client: null, user: '' });
  expect(wording.formatAuthors([makeEdit(5), makeEdit(6)], trans)).toBe('Claude');
  expect(wording.formatAuthors([outside], trans)).toBe('Another program');
  expect(wording.formatAuthors([outside, makeEdit(5)], trans)).toBe('Claude and another program');
  expect(wording.formatAuthors([], trans)).toBe('An agent');
  const inPage = { client: 'JupyterLab', user: 'bob' };
  expect(wording.formatAuthors([makeEdit(5, inPage)], trans)).toBe('bob');
  expect(wording.formatAuthors([makeEdit(5, { ...inPage, user: 'anonymous' })], trans)).toBe('You');
});

test('messages are listed once, newest first, without control characters', () => {
  const edits = ['one', 'two\u202E', 'one', null].map((message, id) => makeEdit(id, { message }));
  expect(wording.formatMessages(edits)).toBe('one · two');
  expect(wording.formatMessages([makeEdit(1, { message: 'x'.repeat(300) })])).toHaveLength(200);
  const [first] = edits;
  expect(wording.summarizeMessages(edits, trans)).toBe('one, and 1 more');
  expect(wording.summarizeMessages(first === undefined ? [] : [first], trans)).toBe('one');
  expect(wording.summarizeMessages([makeEdit(1, { message: null })], trans)).toBe('');
});

test('what is known of an author is that its name is not verified', () => {
  const anonymous = makeEdit(5, { user: '2f0976f161c0416f9056e4e7aa0c7065' });
  expect(wording.describeIdentity([makeEdit(5)], trans)).toBe('Signed in as alice');
  // Edits of older releases have names that Jupyter made up.
  for (const edit of [makeEdit(5, { user: 'anonymous' }), anonymous]) {
    expect(wording.describeIdentity([edit], trans)).toContain('without a user name');
  }
  expect(wording.describeIdentity([makeEdit(5, { kind: 'outside' })], trans)).toContain(
    'did not use this server'
  );
});
