import { Time } from '@jupyterlab/coreutils';
import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, test, vi } from 'vitest';
import { getEditAction } from '../../src/history/historyModel';
import {
  describeAuthor,
  describeCells,
  describeChanges,
  describeConflicts,
  describeEdit,
  describeIdentity,
  describePosition,
  describeRestore,
  describeUndoError,
  describeUndoReply,
  formatMessage
} from '../../src/history/wording';
import { NbEditError } from '../../src/server/client';
import type { CellDiff, EditReply, HistoryEdit, OperationEntry } from '../../src/server/models';
import { describeAge } from '../../src/ui/age';
import { makeEdit } from './edits';

const trans = nullTranslator.load('jupyter_nbedit');

const makeOperation = (op: string, ...places: (number | null)[]): OperationEntry[] =>
  places.map(index => ({ op, cell_id: index === null ? null : `cell-${index}`, index }));

describe('The title of an edit', () => {
  const titles: [string, Partial<HistoryEdit>, string][] = [
    ['names one cell', { operations: makeOperation('replace', 2) }, 'cell 3 changed'],
    [
      'names cells in their order',
      { operations: makeOperation('replace', 6, 2, 4) },
      'cells 3, 5 and 7 changed'
    ],
    ['names each cell once', { operations: makeOperation('replace_text', 2, 2) }, 'cell 3 changed'],
    [
      'counts the rest',
      { operations: makeOperation('insert', 0, 1, 2, 3, 4, 5, 6) },
      'cells 1, 2, 3, 4, 5 and 2 more added'
    ],
    [
      'tells of each deed',
      {
        operations: [
          ...makeOperation('replace', 0),
          ...makeOperation('insert', 1),
          ...makeOperation('delete', 4)
        ]
      },
      'cell 1 changed, cell 2 added, cell 5 deleted'
    ],
    [
      'tells metadata from cells',
      { operations: makeOperation('set_metadata', null) },
      'metadata of the notebook changed'
    ],
    [
      'says that another program changed no cell',
      { kind: 'outside', operations: [], cells_changed: 0 },
      'no cell changed, only metadata or the format of the file'
    ],
    [
      'says that it does not know what another program changed',
      { kind: 'outside', operations: [], cells_changed: 0, undoable: false },
      'changed; the version before is not known'
    ],
    [
      'says that there is more',
      { operations: makeOperation('replace', 0), truncated: true, cells_changed: 30 },
      'cell 1 changed, and others'
    ],
    [
      'of cells that a person undid',
      { operations: makeOperation('undo', 2) },
      'changes of cell 3 undone'
    ],
    [
      'takes a new operation for a change',
      { operations: makeOperation('of tomorrow', 0) },
      'cell 1 changed'
    ],
    ['of a new notebook', { kind: 'create', total_cells: 1 }, 'Created with 1 cell'],
    [
      'of an undo',
      { kind: 'undo', operations: makeOperation('undo', 1), undoes: 1 },
      'Undo: cell 2'
    ],
    [
      'of a redo',
      { kind: 'redo', operations: makeOperation('redo', 1, 2), cells_changed: 2 },
      'Redo: cells 2 and 3'
    ]
  ];
  test.each(titles)('%s', (_, given, title) => {
    expect(describeEdit(makeEdit(3, given), trans)).toBe(title);
  });
});

test('cells that are not listed are counted', () => {
  expect(
    describeCells(makeEdit(1, { operations: makeOperation('undo', 3), cells_changed: 21 }), trans)
  ).toBe('cells 4 and 20 more');
  expect(describeCells({ operations: [] }, trans)).toBe('the notebook’s metadata');
});

test('an answer about several cells names them all', () => {
  const several = {
    op: 'undo',
    cell_id: null,
    index: null,
    cells: [6, 2].map(index => ({
      cell_id: `cell-${index}`,
      index,
      cell_type: 'code',
      source_hash: ''
    }))
  };
  expect(describeCells({ operations: [several] }, trans)).toBe('cells 3 and 7');
  const edited = { op: 'replace', cell_id: 'cell-0', index: 0 };
  expect(describeCells({ operations: [several, edited] }, trans)).toBe('cells 1, 3 and 7');
  expect(describeCells({ operations: [{ ...several, cells: [] }] }, trans)).toBe(
    'the notebook’s metadata'
  );
});

test('what a client calls itself is in quotes, and who was verified is not', () => {
  expect(describeAuthor(makeEdit(1, { client: 'An agent' }), trans)).toBe('An agent, by anna');
  expect(describeAuthor(makeEdit(1), trans)).toBe('anna');
});

test('a user that the server has made up for a token is not named', () => {
  const user = '7d1f9311ec2141318a4b7356a2f267fa';
  expect(describeAuthor(makeEdit(1, { user, client: 'An agent' }), trans)).toBe('An agent');
  expect(describeAuthor(makeEdit(1, { user }), trans)).toBe('An agent');
  expect(describeIdentity(makeEdit(1, { user }), trans)).toBe(
    'Signed in with the server’s token, without a user name'
  );
  expect(describeIdentity(makeEdit(1, { user, client: 'Bot' }), trans)).toBe(
    'Signed in with the server’s token, without a user name. ' +
      'The client calls itself Bot, which nobody has verified.'
  );
  expect(describeIdentity(makeEdit(1), trans)).toBe('User anna');
  expect(describeIdentity(makeEdit(1, { client: 'Bot' }), trans)).toBe(
    'User anna. The client calls itself Bot, which nobody has verified.'
  );
});

test('names and messages are shown without what reverses or hides text', () => {
  const evil = 'txt.\u202Eexe\u0007\u2028';
  expect(describeAuthor(makeEdit(1, { client: evil }), trans)).toBe('txt.exe, by anna');
  expect(formatMessage(makeEdit(1, { message: evil }))).toBe('txt.exe');
});

test('a name of a translation’s place is no place', () => {
  expect(describeAuthor(makeEdit(1, { client: '%2 %1', user: 'anna' }), trans)).toBe(
    '%2 %1, by anna'
  );
});

const makeCellDiff = (given: Partial<CellDiff>): CellDiff => ({
  part: 0,
  cell_id: 'c',
  index_before: 2,
  index: 2,
  moved: false,
  outputs_cleared: false,
  before: { cell_type: 'code', source: 'a', metadata: {} },
  after: { cell_type: 'code', source: 'b', metadata: {} },
  ...given
});

test('a part says which cell it is and what else became of it', () => {
  expect(describePosition(makeCellDiff({}), trans)).toBe('Cell 3');
  expect(describePosition(makeCellDiff({ index: null, after: null }), trans)).toBe('Former cell 3');
  expect(
    describePosition(makeCellDiff({ cell_id: null, index: null, index_before: null }), trans)
  ).toBe('Notebook metadata');
  expect(describeChanges(makeCellDiff({ before: null, index_before: null }), trans)).toEqual([
    'added'
  ]);
  expect(describeChanges(makeCellDiff({ after: null, index: null }), trans)).toEqual(['deleted']);
  expect(
    describeChanges(
      makeCellDiff({
        moved: true,
        index_before: 4,
        outputs_cleared: true,
        after: { cell_type: 'markdown', source: 'a', metadata: {} }
      }),
      trans
    )
  ).toEqual(['code to markdown', 'moved from 5', 'outputs cleared']);
});

test('each cell in the way of an undo is told with its reason', () => {
  expect(
    describeConflicts(
      [
        { cell_id: 'a', index: 2, why: 'changed' },
        { cell_id: 'b', index: null, why: 'gone' },
        { cell_id: null, index: 3, why: 'ambiguous' },
        { cell_id: 'c', index: null, why: 'no_place' }
      ],
      ['kernelspec', 'authors'],
      trans
    )
  ).toEqual([
    'Cell 3 was changed since.',
    'A cell (b) is gone.',
    'Cell 4 is not the only one like it.',
    'A cell (c) has no place left: the cells around it are gone.',
    'The notebook’s metadata was changed since: kernelspec, authors.'
  ]);
});

test('a time is told from now, and never lies in the future', () => {
  vi.stubGlobal('document', { documentElement: { lang: 'en' } });
  const formatTimeAgo = (seconds: number): string =>
    new Date(Date.now() - seconds * 1000).toISOString();
  expect(
    [
      formatTimeAgo(-30),
      formatTimeAgo(5),
      formatTimeAgo(59),
      formatTimeAgo(125),
      formatTimeAgo(2 * 3600 + 60),
      formatTimeAgo(25 * 3600)
    ].map(describeAge)
  ).toEqual(['now', 'now', 'now', '2 minutes ago', '2 hours ago', 'yesterday']);
});

test('what can be done to an edit goes by what became of it', () => {
  expect(getEditAction(makeEdit(1))).toBe('undo');
  expect(getEditAction(makeEdit(1, { undone_by: 2, undoable: false }))).toBe('redo');
  expect(getEditAction(makeEdit(2, { kind: 'undo', undoes: 1 }))).toBe('redo');
  expect(getEditAction(makeEdit(3, { kind: 'redo', undoes: 2 }))).toBe('undo');
  expect(getEditAction(makeEdit(1, { undoable: false }))).toBeNull();
});

test('a restore says which state of the notebook comes back: when it was, and after which edit', () => {
  const edit = makeEdit(1, {
    path: 'folder/b.ipynb',
    time: '2026-11-27T14:32:00Z',
    client: 'Claude',
    operations: makeOperation('replace', 2)
  });
  const time = Time.format(new Date(edit.time));
  expect(describeRestore(edit, trans)).toBe(
    `b.ipynb becomes what it was on ${time}, after this edit by Claude, by anna: cell 3 changed`
  );
  expect(describeRestore({ ...edit, message: 'Fix the mean' }, trans)).toContain(': Fix the mean');
});

test('an undo that its user has cancelled is not told', () => {
  const error = new NbEditError(0, 'undo_cancelled', 'The user has cancelled the undo.');
  expect(describeUndoError(error, 'undo', trans)).toEqual([]);
  expect(describeUndoError(error, 'redo', trans)).toEqual([]);
});

test('what cannot be undone or redone is told without the requests of programs', () => {
  const message = 'There is no such edit. GET its `history` for the edits it has.';
  const describe = (command: 'undo' | 'redo', details: object): string[] =>
    describeUndoError(
      new NbEditError(409, 'nothing_to_undo', message, { ...details }),
      command,
      trans
    );
  expect(describe('undo', {})).toEqual([
    'None of the newest edits of this notebook can be undone.'
  ]);
  expect(describe('redo', {})).toEqual([
    'None of the newest edits of this notebook can be redone.'
  ]);
  expect(describe('undo', { edit_id: 3, undone_by: 4 })).toEqual(['This edit is undone already.']);
  expect(describe('redo', { edit_id: 4, undone_by: 5 })).toEqual(['This edit is redone already.']);
  expect(describe('undo', { edit_id: 3 })).toEqual([
    'This edit has created the notebook. Delete the file if you do not want it.'
  ]);
  expect(describe('redo', { edit_id: 3 })).toEqual([
    'This edit was not undone, or was redone since.'
  ]);
});

test('the undo of what a person has undone is told as a redo', () => {
  const describe = (kind: HistoryEdit['kind'], command: 'undo' | 'redo'): string => {
    const operations = [{ op: 'undo', cell_id: 'c', index: 1 }];
    return describeUndoReply(
      { operations, undone: [{ kind }] } as unknown as EditReply,
      command,
      trans
    );
  };
  expect(describe('edit', 'undo')).toBe('Undone: cell 2');
  expect(describe('edit', 'redo')).toBe('Redone: cell 2');
  expect(describe('undo_cells', 'undo')).toBe('Redone: cell 2');
  expect(describe('undo_cells', 'redo')).toBe('Undone: cell 2');
  expect(describe('restore', 'undo')).toBe('Undone: cell 2');
});
