import type { Event } from '@jupyterlab/services';
import { beforeEach, expect, test, vi } from 'vitest';
import { NbEditError } from '../../src/server/client';
import type { FileChange, FileChangeListener } from '../../src/server/fileChanges';
import { UnseenModel } from '../../src/server/unseenModel';
import { WriteRight } from '../../src/server/writeRight';
import { makeChange, makeEdit, UnseenServer } from './unseenServer';

const UNSEEN = 'urn:jupyter-nbedit:unseen:v1';

let server: UnseenServer;
let model: UnseenModel;
let emit: (emission: object) => void;
let listener: FileChangeListener;
let openPaths: string[];
let changes: string[];
let isPageVisible: boolean;
let right: WriteRight;

beforeEach(() => {
  vi.restoreAllMocks();
  vi.useFakeTimers();
  server = new UnseenServer();
  server.cells = [makeChange('5.0', 'a', 0), makeChange('6.0', 'b', 1)];
  server.edits = [makeEdit(5), makeEdit(6)];
  openPaths = ['a.ipynb'];
  isPageVisible = true;
  right = new WriteRight();
  const stream = {
    connect: (slot: (sender: unknown, emission: object) => void) => {
      emit = emission => slot(null, emission);
    }
  };
  model = new UnseenModel(
    server,
    { stream } as unknown as Event.IManager,
    { addListener: added => (listener = added) },
    path => openPaths.includes(path),
    () => isPageVisible,
    right
  );
  changes = [];
  model.changed.connect((_, path) => changes.push(path));
});

function reportEdit(path = 'a.ipynb'): void {
  listener.onFileChange?.({ path } as FileChange);
}

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(2000);
}

function countReads(): number {
  return server.requests.filter(request => request === 'get a.ipynb').length;
}

test('nothing is known of a notebook that was not read', async () => {
  expect(model.get('a.ipynb')).toBeNull();
  expect((await model.read('a.ipynb'))?.cells).toEqual(server.cells);
  expect(model.get('a.ipynb')?.until).toBe(6);
  expect(changes).toEqual(['a.ipynb']);
});

test('a burst of edits causes one read', async () => {
  await model.read('a.ipynb');
  for (let edit = 0; edit < 20; edit++) {
    reportEdit();
  }
  await settle();
  expect(countReads()).toBe(2);
});

test('events cause reads for at most half of the time', async () => {
  server.release = new Promise(resolve => setTimeout(resolve, 1500));
  await Promise.all([model.read('a.ipynb'), vi.advanceTimersByTimeAsync(1500)]);
  reportEdit();
  await vi.advanceTimersByTimeAsync(1400);
  expect(countReads()).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(countReads()).toBe(2);
});

test('what changes while it is read is read again, once', async () => {
  let release = (): void => undefined;
  server.release = new Promise(resolve => (release = resolve));
  const first = model.read('a.ipynb');
  server.cells = [];
  const second = model.read('a.ipynb');
  const third = model.read('a.ipynb');
  release();
  expect((await first)?.cells).toHaveLength(2);
  expect((await second)?.cells).toEqual([]);
  expect((await third)?.cells).toEqual([]);
  expect(countReads()).toBe(2);
});

test('listeners are called only if something has changed', async () => {
  await model.read('a.ipynb');
  reportEdit();
  await settle();
  expect(changes).toHaveLength(1);
});

test('a Keep in another browser is read', async () => {
  await model.read('a.ipynb');
  server.cells = [];
  emit({ schema_id: UNSEEN, path: '/a.ipynb' });
  await settle();
  expect(model.get('a.ipynb')?.cells).toEqual([]);
});

test('everything is read again if events may have been missed', async () => {
  await model.read('a.ipynb');
  listener.onResync?.();
  await settle();
  expect(server.requests).toEqual(['get a.ipynb', 'get a.ipynb', 'list']);
});

test('a hidden page does not list the notebooks after an event', async () => {
  isPageVisible = false;
  reportEdit('b.ipynb');
  await settle();
  expect(server.requests).toEqual([]);
  isPageVisible = true;
  listener.onResync?.();
  await settle();
  expect(server.requests).toEqual(['list']);
});

test('a notebook that is closed is forgotten', async () => {
  await model.read('a.ipynb');
  openPaths = [];
  reportEdit();
  await settle();
  expect(model.get('a.ipynb')).toBeNull();
  expect(countReads()).toBe(1);
});

test('Keep names the changes and the newest edit that was read', async () => {
  await model.read('a.ipynb');
  await model.keep('a.ipynb', ['5.0']);
  expect(model.get('a.ipynb')?.cells.map(({ key }) => key)).toEqual(['6.0']);
  await model.keep('a.ipynb');
  expect(server.requests.slice(1)).toEqual(['keep 5.0 until 6', 'keep all until 6']);
  expect(model.get('a.ipynb')?.cells).toEqual([]);
  expect(changes).toHaveLength(3);
});

test('what is left is known when an undo has settled', async () => {
  await model.read('a.ipynb');
  expect((await model.undo('a.ipynb', ['6.0'])).reply?.edit_id).toBe(100);
  expect(model.get('a.ipynb')?.cells.map(({ key }) => key)).toEqual(['5.0']);
  expect(server.requests).toContain('undo 6.0 until 6');
});

test('a refused undo is told, and what is unseen is read again', async () => {
  await model.read('a.ipynb');
  server.failure = new NbEditError(409, 'cell_changed', 'No.');
  const undo = model.undo('a.ipynb', ['6.0']);
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  await expect(undo).rejects.toThrow('No.');
  expect(countReads()).toBe(2);
  expect(warn).toHaveBeenCalledOnce();
});

test.each([403, 404, 503])('nothing is unseen if the server answers %i', async status => {
  await model.read('a.ipynb');
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  server.failure = new NbEditError(status, 'any', 'No.');
  expect(await model.read('a.ipynb')).toBeNull();
  expect(changes).toHaveLength(2);
  expect(warn).not.toHaveBeenCalled();
});

test('what is known stays while the server does not answer', async () => {
  await model.read('a.ipynb');
  vi.spyOn(console, 'warn').mockReturnValue();
  server.failure = new NbEditError(0, 'unreachable', 'No.');
  expect((await model.read('a.ipynb'))?.cells).toHaveLength(2);
});

test('the notebooks with unseen edits are listed', async () => {
  let count = 0;
  model.notebooksChanged.connect(() => count++);
  model.refreshNotebooks();
  await settle();
  expect(model.notebooks).toEqual([
    { path: 'a.ipynb', edits: 2, clients: ['Claude'], time: '2026-11-23T09:00:00Z' }
  ]);
  reportEdit('b.ipynb');
  await settle();
  expect(count).toBe(1);
});

test('it is reported that the user may keep nothing any more', () => {
  const reports: boolean[] = [];
  model.notebooksChanged.connect(({ canKeep }) => reports.push(canKeep));
  right.isGranted = false;
  right.isGranted = true;
  expect(reports).toEqual([false, true]);
});
