import type { ServerConnection } from '@jupyterlab/services';
import { beforeEach, expect, test, vi } from 'vitest';
import { TabConnection, type OpenTab } from '../../src/server/tabConnection';

/** The server's end of a socket. */
class Socket {
  static all: Socket[] = [];

  constructor(readonly url: string) {
    Socket.all.push(this);
  }

  /** Let the page in. */
  accept(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  close(): void {
    this.readyState = 3;
    this.onclose?.();
  }

  /** Send the page its id. */
  sendId(page: string): void {
    this.onmessage?.({ data: JSON.stringify({ page }) });
  }

  send(message: string): void {
    this._reports.push(JSON.parse(message) as object);
  }

  /** Return what the page has reported since the last call. */
  takeReports(): object[] {
    return this._reports.splice(0);
  }

  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { readonly data: string }) => void) | null = null;
  readyState = 0;
  private readonly _reports: object[] = [];
}

let isThere: boolean;
let tabs: TabConnection;

beforeEach(() => {
  vi.useFakeTimers();
  Socket.all = [];
  isThere = true;
  const settings = {
    appendToken: true,
    token: 'a token',
    wsUrl: 'ws://127.0.0.1:8888/user/a%40b/',
    WebSocket: Socket
  };
  tabs = new TabConnection(settings as unknown as ServerConnection.ISettings, () =>
    Promise.resolve(isThere)
  );
  tabs.start();
});

function assertPresent<T>(item: T | undefined): T {
  if (item === undefined) {
    throw new Error('It is not there.');
  }
  return item;
}

function makeReport(
  path: string,
  hash: string | null,
  edit: number | null,
  state = 'shown'
): object {
  return { saw: { path, hash, edit_id: edit, state } };
}

async function flushTimers(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

async function connectSocket(
  ...paths: string[]
): Promise<{ socket: Socket; one: OpenTab; other: OpenTab | undefined }> {
  const opened = paths.map(path => tabs.open(path));
  await flushTimers();
  const socket = assertPresent(Socket.all.at(-1));
  socket.accept();
  socket.takeReports();
  return { socket, one: assertPresent(opened[0]), other: opened[1] };
}

test('a page connects once when it opens, under the base URL and with the token', async () => {
  await flushTimers();
  expect(Socket.all).toHaveLength(1);
  tabs.open('a.ipynb');
  tabs.open('b.ipynb');
  await flushTimers();
  expect(Socket.all.map(({ url }) => url)).toEqual([
    'ws://127.0.0.1:8888/user/a%40b/nbedit/tabs?token=a%20token'
  ]);
});

test('what was open before there was a connection is said with it', async () => {
  tabs.open('a.ipynb').report('1', 'shown');
  await flushTimers();
  assertPresent(Socket.all[0]).accept();
  expect(assertPresent(Socket.all[0]).takeReports()).toEqual([
    { tabs: { 'a.ipynb': 1 } },
    makeReport('a.ipynb', '1', null)
  ]);
});

test('tabs are told of when they open, close and move', async () => {
  const { socket, one } = await connectSocket('a.ipynb');
  const other = tabs.open('b.ipynb');
  tabs.open('b.ipynb');
  await flushTimers();
  expect(socket.takeReports()).toEqual([{ tabs: { 'a.ipynb': 1, 'b.ipynb': 2 } }]);
  tabs.close(other);
  one.setPath('c.ipynb');
  await flushTimers();
  expect(socket.takeReports()).toEqual([{ tabs: { 'c.ipynb': 1, 'b.ipynb': 1 } }]);
  expect(Socket.all).toHaveLength(1);
});

test('what a tab shows is said once, with the newest edit that it took in', async () => {
  const { socket, one } = await connectSocket('a.ipynb');
  one.markApplied([{ editId: 7 }, { editId: null }, { editId: 6 }]);
  await flushTimers();
  expect(socket.takeReports()).toEqual([]);
  one.report('h', 'merged');
  one.report('h', 'merged');
  await flushTimers();
  one.markApplied([]);
  one.report('h', 'merged');
  await flushTimers();
  expect(socket.takeReports()).toEqual([makeReport('a.ipynb', 'h', 7, 'merged')]);
  one.report(null, 'shown');
  await flushTimers();
  expect(socket.takeReports()).toEqual([makeReport('a.ipynb', null, 7)]);
});

test('of several tabs of a notebook the one that is behind counts', async () => {
  const { socket, one, other } = await connectSocket('a.ipynb', 'a.ipynb');
  one.markApplied([{ editId: 7 }]);
  one.report('h', 'shown');
  await flushTimers();
  expect(socket.takeReports()).toEqual([]);
  other?.markApplied([{ editId: 8 }]);
  other?.report('i', 'waiting');
  await flushTimers();
  expect(socket.takeReports()).toEqual([makeReport('a.ipynb', null, 7, 'waiting')]);
});

test('a tab that moved says anew what it shows', async () => {
  const { socket, one } = await connectSocket('a.ipynb');
  one.report('h', 'shown');
  await flushTimers();
  one.setPath('b.ipynb');
  await flushTimers();
  expect(socket.takeReports().slice(1)).toEqual([
    { tabs: { 'b.ipynb': 1 } },
    makeReport('b.ipynb', 'h', null)
  ]);
});

test('a lost connection is made again, and nothing is taken for known there', async () => {
  const { socket, one } = await connectSocket('a.ipynb');
  one.markApplied([{ editId: 7 }]);
  one.report('h', 'shown');
  await flushTimers();
  socket.close();
  await vi.advanceTimersByTimeAsync(1000);
  const again = assertPresent(Socket.all[1]);
  again.accept();
  expect(again.takeReports()).toEqual([
    { tabs: { 'a.ipynb': 1 } },
    makeReport('a.ipynb', 'h', null)
  ]);
  one.markApplied([{ editId: 3 }]);
  one.report('i', 'shown');
  await flushTimers();
  expect(again.takeReports()).toEqual([makeReport('a.ipynb', 'i', 3)]);
});

test('a server that is away is asked ever more seldom', async () => {
  tabs.open('a.ipynb');
  await flushTimers();
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    const { length } = Socket.all;
    assertPresent(Socket.all.at(-1)).close();
    await vi.advanceTimersByTimeAsync(seconds * 1000 - 1);
    expect(Socket.all).toHaveLength(length);
    await vi.advanceTimersByTimeAsync(1);
    expect(Socket.all).toHaveLength(length + 1);
  }
});

test('a server without the route is left alone', async () => {
  isThere = false;
  tabs.open('a.ipynb');
  await flushTimers();
  assertPresent(Socket.all[0]).close();
  await vi.advanceTimersByTimeAsync(3_600_000);
  tabs.open('b.ipynb');
  await flushTimers();
  expect(Socket.all).toHaveLength(1);
});

test('a request waits for the id that the server sends, and another id comes with another connection', async () => {
  const first = tabs.getId();
  const socket = assertPresent(Socket.all[0]);
  socket.accept();
  socket.sendId('one');
  expect(await first).toBe('one');
  socket.close();
  // Nobody waits for the next attempt.
  const second = tabs.getId();
  assertPresent(Socket.all[1]).accept();
  assertPresent(Socket.all[1]).sendId('two');
  expect(await second).toBe('two');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(Socket.all).toHaveLength(2);
});

test('an id that the server does not know is replaced once, whoever asks', async () => {
  const socket = assertPresent(Socket.all[0]);
  socket.accept();
  socket.sendId('one');
  const renewed = Promise.all([tabs.renewId('one'), tabs.renewId('one')]);
  expect(Socket.all).toHaveLength(2);
  expect(socket.readyState).toBe(3);
  assertPresent(Socket.all[1]).accept();
  assertPresent(Socket.all[1]).sendId('two');
  expect(await renewed).toEqual(['two', 'two']);
  expect(await tabs.renewId('one')).toBe('two');
  expect(Socket.all).toHaveLength(2);
});

test('there is no id if the socket is refused, or an old server sends none', async () => {
  const refused = tabs.getId();
  assertPresent(Socket.all[0]).close();
  expect(await refused).toBeNull();
  const unsent = tabs.getId();
  assertPresent(Socket.all[1]).accept();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await unsent).toBeNull();
  // The next request does not wait; one that comes late, or with another connection, is used.
  expect(await tabs.getId()).toBeNull();
  assertPresent(Socket.all[1]).sendId('late');
  expect(await tabs.getId()).toBe('late');
  assertPresent(Socket.all[1]).close();
  const next = tabs.getId();
  assertPresent(Socket.all[2]).accept();
  assertPresent(Socket.all[2]).sendId('next');
  expect(await next).toBe('next');
});
