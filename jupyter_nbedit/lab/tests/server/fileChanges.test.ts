import type { Event } from '@jupyterlab/services';
import { beforeEach, expect, test, vi } from 'vitest';
import { FileChangeEvents, type FileChange, type FileProblem } from '../../src/server/fileChanges';

const EDIT = 'urn:jupyter-nbedit:edit:v1';
const CHANGE = 'urn:jupyter-nbedit:outside-change:v1';
const CONTENTS = 'https://events.jupyter.org/jupyter_server/contents_service/v1';

const page = { visibilityState: 'visible' };
let changes: FileChange[];
let problems: FileProblem[];
let resyncs: number;
let checks: number;
let emit: (emission: object) => void;
let manager: { _socket: object | null };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('window', Object.assign(new EventTarget(), { setInterval }));
  vi.stubGlobal('document', Object.assign(new EventTarget(), page));
  changes = [];
  problems = [];
  resyncs = 0;
  checks = 0;
  const stream = {
    connect: (slot: (sender: unknown, emission: object) => void) => {
      emit = emission => slot(null, emission);
    }
  };
  vi.stubGlobal('WebSocket', { OPEN: 1 });
  manager = Object.assign({ stream }, { _socket: null });
  const feed = new FileChangeEvents(manager as unknown as Event.IManager, () => 'anna');
  feed.addListener({
    onFileChange: change => changes.push(change),
    onFileProblem: problem => problems.push(problem),
    onResync: () => resyncs++,
    onCheck: () => checks++
  });
});

function makeEmission(seq: number, epoch = 'e'): object {
  return {
    schema_id: EDIT,
    epoch,
    seq,
    path: 'a.ipynb',
    hash: 'h',
    client: 'robo',
    user: 'u',
    edit_id: seq
  };
}

const change = {
  path: 'a.ipynb',
  hash: 'h',
  isUndoable: true,
  operations: [],
  isTruncated: false,
  bypassedMode: null
};

test('an edit is told with its hash and who made it', () => {
  emit(makeEmission(1));
  emit({ ...makeEmission(2), client: null, edit_id: null });
  expect(changes).toEqual([
    { ...change, client: 'robo', editId: 1 },
    { ...change, client: 'u', editId: null, isUndoable: false }
  ]);
});

test('an edit is told with what it did', () => {
  const operations = [
    { op: 'replace', cell_id: 'a', index: 3 },
    { op: 'set_metadata', cell_id: null, index: null }
  ];
  emit({ ...makeEmission(1), operations, truncated: true });
  expect(changes[0]).toMatchObject({
    operations: [
      { op: 'replace', cell_id: 'a', index: 3 },
      { op: 'set_metadata', cell_id: null, index: null }
    ],
    isTruncated: true
  });
});

test('a change by another program is told with its cells, and what mode it has bypassed', () => {
  const cells = [
    { op: 'change', cell_id: 'a', index: 2 },
    { op: 'delete', cell_id: null, index: 1 }
  ];
  const emission = {
    schema_id: CHANGE,
    epoch: 'e',
    seq: 1,
    kind: 'changed',
    path: 'a.ipynb',
    hash: 'h',
    edit_id: 4,
    undoable: true,
    cells,
    is_outside: true,
    mode: 'review'
  };
  emit(emission);
  emit({ ...emission, seq: 2, is_outside: false, metadata_changed: true, cells: [] });
  emit({ ...emission, seq: 3, mode: 'edit', hash: null, edit_id: null, undoable: false });
  expect(changes).toEqual([
    { ...change, client: null, editId: 4, operations: cells, bypassedMode: 'review' },
    {
      ...change,
      client: null,
      editId: 4,
      operations: [{ op: 'set_metadata', cell_id: null, index: null }]
    },
    { ...change, client: null, editId: null, isUndoable: false, hash: null, operations: cells }
  ]);
  // The first event of an epoch, and of each schema.
  expect(resyncs).toBe(1);
  emit({ ...emission, seq: 5 });
  expect(resyncs).toBe(2);
});

test('a missing or unreadable file is told as a problem', () => {
  const emission = { schema_id: CHANGE, epoch: 'e', seq: 1, path: '/a.ipynb' };
  emit({ ...emission, kind: 'deleted' });
  emit({ ...emission, kind: 'renamed', new_path: 'b.ipynb' });
  emit({ ...emission, kind: 'unreadable', message: 'No JSON.' });
  expect(changes).toEqual([]);
  expect(problems).toEqual([
    { path: 'a.ipynb', kind: 'deleted', newPath: null, message: null },
    { path: 'a.ipynb', kind: 'renamed', newPath: 'b.ipynb', message: null },
    { path: 'a.ipynb', kind: 'unreadable', newPath: null, message: 'No JSON.' }
  ]);
});

test('events in a row ask for no resync, the first, a gap and a new server do', () => {
  emit(makeEmission(7));
  expect(resyncs).toBe(1);
  emit(makeEmission(8));
  emit(makeEmission(9));
  expect(resyncs).toBe(1);
  emit(makeEmission(11));
  expect(resyncs).toBe(2);
  emit(makeEmission(12, 'another'));
  expect(resyncs).toBe(3);
  emit(makeEmission(13, 'another'));
  expect(resyncs).toBe(3);
});

test('of the events of the contents service only saves are told', () => {
  for (const action of ['get', 'create', 'save', 'rename', 'delete', 'copy']) {
    emit({ schema_id: CONTENTS, action, path: `/${action}.ipynb` });
  }
  expect(changes).toEqual([
    {
      ...change,
      path: 'save.ipynb',
      hash: null,
      client: null,
      editId: null,
      isUndoable: false,
      operations: [],
      isTruncated: false
    }
  ]);
});

test('forged events of other shapes change nothing', () => {
  emit({ schema_id: EDIT, epoch: {}, seq: 'x', path: 3 });
  emit({ schema_id: CONTENTS, action: 'save' });
  emit({ schema_id: 'https://example.org/other', path: 'a.ipynb' });
  expect(changes).toEqual([]);
  emit({ ...makeEmission(1), operations: { length: 3 } });
  const operations = [null, 3, [], { op: 7 }, { op: 'x', cell_id: {}, index: 0.5 }];
  emit({ ...makeEmission(2), edit_id: '2', operations });
  expect(changes.map(({ operations }) => operations)).toEqual([
    [],
    [{ op: 'x', cell_id: null, index: null }]
  ]);
  expect(changes.map(({ editId }) => editId)).toEqual([1, null]);
});

test('coming back, waking up and time itself ask for a resync, but only in a visible page', () => {
  window.dispatchEvent(new Event('focus'));
  window.dispatchEvent(new Event('online'));
  document.dispatchEvent(new Event('visibilitychange'));
  expect([resyncs, checks]).toEqual([3, 0]);
  // Each minute a check of each file, and every fourth time all that events report.
  vi.advanceTimersByTime(180_000);
  expect([resyncs, checks]).toEqual([3, 3]);
  vi.advanceTimersByTime(60_000);
  expect([resyncs, checks]).toEqual([4, 3]);
  Object.assign(document, { visibilityState: 'hidden' });
  document.dispatchEvent(new Event('visibilitychange'));
  vi.advanceTimersByTime(240_000);
  expect([resyncs, checks]).toEqual([4, 3]);
});

test('each new connection asks for a resync, once it is open', () => {
  const socket = { readyState: 0 };
  manager._socket = socket;
  vi.advanceTimersByTime(3000);
  expect(resyncs).toBe(0);
  socket.readyState = 1;
  vi.advanceTimersByTime(3000);
  expect(resyncs).toBe(1);
  manager._socket = null;
  vi.advanceTimersByTime(3000);
  manager._socket = { readyState: 1 };
  vi.advanceTimersByTime(3000);
  expect(resyncs).toBe(2);
});

test('an edit in a page of another user has that user as its author', () => {
  for (const user of ['bob', 'anna', 'anonymous', null]) {
    emit({ ...makeEmission(1), client: 'JupyterLab', user });
  }
  expect(changes.map(({ client }) => client)).toEqual([
    'bob',
    'JupyterLab',
    'JupyterLab',
    'JupyterLab'
  ]);
});
