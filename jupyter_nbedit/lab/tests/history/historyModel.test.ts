import type { ServerConnection } from '@jupyterlab/services';
import { beforeEach, expect, test } from 'vitest';
import { HistoryModel } from '../../src/history/historyModel';
import { NbEditClient } from '../../src/server/client';
import type { HistoryEdit } from '../../src/server/models';
import { makeEdit } from './edits';

/** A ledger behind the HTTP routes of the history, and what it was asked. */
class Ledger {
  edits: HistoryEdit[] = [];
  readonly asked: string[] = [];
  /** What each answer waits for. */
  held = Promise.resolve();
  isBroken = false;

  /** Make edits after those that there are. */
  add(count: number, given: Partial<HistoryEdit> = {}): void {
    for (let i = 0; i < count; i++) {
      this.edits.unshift(makeEdit((this.edits[0]?.edit_id ?? 0) + 1, given));
    }
  }

  change(id: number, given: Partial<HistoryEdit>): void {
    this.edits = this.edits.map(old => (old.edit_id === id ? { ...old, ...given } : old));
  }

  readonly server = new NbEditClient({
    baseUrl: 'http://127.0.0.1/',
    init: {},
    token: '',
    Request,
    Headers,
    fetch: async ({ url }: Request) => {
      const { pathname, searchParams } = new URL(url);
      this.asked.push(pathname.replace('/nbedit/', '') + new URL(url).search);
      const before = Number(searchParams.get('before') ?? Number.POSITIVE_INFINITY);
      const limit = Number(searchParams.get('limit') ?? 50);
      const edits = this.edits.filter(({ edit_id: id }) => id < before).slice(0, limit);
      const next = edits.at(-1)?.edit_id;
      const hasMore = next !== undefined && next > (this.edits.at(-1)?.edit_id ?? 0);
      const body = JSON.stringify({ edits, next: hasMore ? next : null });
      const status = this.isBroken ? 500 : 200;
      await this.held;
      return new Response(body, { status });
    }
  } as unknown as ServerConnection.ISettings);
}

let ledger: Ledger;
let model: HistoryModel;

/** The ids of what the model lists; a run of them as its ends. */
function listIds(): string {
  const ids = model.edits.map(({ edit_id: id }) => id);
  return ids.every((id, i) => id === (ids[0] ?? 0) - i)
    ? `${ids[0]}..${ids.at(-1)}`
    : ids.join(' ');
}

beforeEach(async () => {
  ledger = new Ledger();
  ledger.add(120);
  model = new HistoryModel(ledger.server);
  model.setFilter({ path: 'a.ipynb' });
  await model.refresh();
});

test('a history is asked for page by page', async () => {
  expect(listIds()).toBe('120..71');
  await model.loadOlder();
  await model.loadOlder();
  expect(listIds()).toBe('120..1');
  expect(model.hasMore).toBe(false);
  await model.loadOlder();
  expect(ledger.asked.slice(2)).toEqual([
    'notebooks/a.ipynb/history?before=71&limit=50',
    'notebooks/a.ipynb/history?before=21&limit=50'
  ]);
});

test('new edits come before those that are known, and are told of', async () => {
  await model.loadOlder();
  const arrived: number[][] = [];
  model.changed.connect((_, edits) => arrived.push(edits.map(({ edit_id: id }) => id)));
  ledger.add(2);
  await model.refresh();
  expect(listIds()).toBe('122..21');
  expect(arrived).toEqual([[122, 121]]);
});

test('where edits are missing, the older ones are dropped and asked for again', async () => {
  await model.loadOlder();
  ledger.add(60);
  await model.refresh();
  expect(listIds()).toBe('180..131');
  await model.loadOlder();
  expect(listIds()).toBe('180..81');
});

test('an old edit that was undone is shown so, and its redo takes that back', async () => {
  await model.loadOlder();
  ledger.add(1, { kind: 'undo', undoes: 30 });
  ledger.change(30, { undone_by: 121 });
  await model.refresh();
  const old = (): HistoryEdit | undefined => model.edits.find(({ edit_id: id }) => id === 30);
  expect(old()?.undone_by).toBe(121);
  ledger.add(1, { kind: 'redo', undoes: 121 });
  ledger.change(30, { undone_by: null });
  ledger.change(121, { undone_by: 122 });
  await model.refresh();
  expect(old()?.undone_by).toBeNull();
  expect(listIds()).toBe('122..21');
});

test('a purged history is empty', async () => {
  await model.loadOlder();
  ledger.edits = [];
  await model.refresh();
  expect(model.edits).toEqual([]);
  expect(model.hasMore).toBe(false);
});

test('an answer about another notebook comes too late', async () => {
  let release = (): void => undefined;
  ledger.held = new Promise(resolve => (release = resolve));
  const late = model.refresh();
  model.setFilter(null);
  release();
  await late;
  expect(model.edits).toEqual([]);
  expect(model.failure).toBeNull();
});

test('a failure leaves what is known, and goes with the next answer', async () => {
  ledger.isBroken = true;
  await model.refresh();
  expect(model.failure?.status).toBe(500);
  expect(listIds()).toBe('120..71');
  ledger.isBroken = false;
  await model.refresh();
  expect(model.failure).toBeNull();
});

test('keeps no more and more edits while they come', async () => {
  for (let i = 0; i < 60; i++) {
    ledger.add(40);
    await model.refresh();
  }
  expect(model.edits.length).toBeLessThanOrEqual(1000);
  while (model.hasMore) {
    await model.loadOlder();
  }
  expect(model.edits.map(({ edit_id: id }) => id)).toEqual(
    ledger.edits.map(({ edit_id: id }) => id)
  );
});
