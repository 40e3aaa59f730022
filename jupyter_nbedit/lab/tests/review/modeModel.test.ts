import type { Event } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  describeStatus,
  isStopped,
  listModeChoices,
  ModeModel,
  type ModeClient
} from '../../src/review/modeModel';
import type { Mode, ModeReply } from '../../src/server/models';

const trans = nullTranslator.load('jupyter_nbedit');

const SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/mode/v1';

/** A server's memory of modes. */
class TestServer implements ModeClient {
  own = new Map<string, Mode>();
  configured: Mode = 'edit';
  fixed = false;
  isForbidden = false;
  asked = 0;

  getMode(path: string | null): Promise<ModeReply> {
    this.asked++;
    const own = (path === null ? null : this.own.get(path)) ?? null;
    const server = this.configured;
    return Promise.resolve({ path, mode: own ?? server, own, server, fixed: this.fixed });
  }

  setMode(path: string | null, mode: Mode | null): Promise<ModeReply> {
    if (this.isForbidden) {
      return Promise.reject(Object.assign(new Error('no right'), { status: 403 }));
    }
    if (path === null) {
      this.configured = mode ?? 'edit';
    } else if (mode === null) {
      this.own.delete(path);
    } else {
      this.own.set(path, mode);
    }
    return this.getMode(path);
  }
}

let server: TestServer;
let emit: (emission: object) => void;
let modes: ModeModel;

beforeEach(() => {
  server = new TestServer();
  const stream = {
    connect: (slot: (sender: unknown, emission: object) => void) => {
      emit = emission => slot(null, emission);
    }
  };
  modes = new ModeModel(server, { stream } as unknown as Event.IManager, trans);
});

async function settle(): Promise<void> {
  await new Promise(resolve => setTimeout(resolve));
}

test('the mode of the notebook in front is known, and of none without one', async () => {
  server.own.set('a.ipynb', 'review');
  modes.path = 'a.ipynb';
  expect(modes.current).toBeNull();
  await settle();
  expect(modes.current).toMatchObject({ path: 'a.ipynb', mode: 'review', own: 'review' });
  modes.path = null;
  await settle();
  expect(modes.current).toMatchObject({ path: null, mode: 'edit', own: null });
});

test('the answer for a notebook that was in front before is dropped', async () => {
  server.own.set('a.ipynb', 'plan');
  modes.path = 'a.ipynb';
  modes.path = 'b.ipynb';
  await settle();
  expect(modes.current).toMatchObject({ path: 'b.ipynb', mode: 'edit' });
});

test('an event of this notebook or of the server has the mode read again', async () => {
  modes.path = 'a.ipynb';
  await settle();
  const { asked } = server;
  emit({ schema_id: SCHEMA, path: 'b.ipynb', mode: 'plan' });
  emit({ schema_id: 'another', path: 'a.ipynb' });
  await settle();
  expect(server.asked).toBe(asked);
  server.own.set('a.ipynb', 'plan');
  emit({ schema_id: SCHEMA, path: 'a.ipynb', mode: 'review' });
  await settle();
  expect(modes.current?.mode).toBe('plan');
  server.configured = 'review';
  emit({ schema_id: SCHEMA, path: null, mode: 'review' });
  await settle();
  expect(modes.current?.server).toBe('review');
});

test('a mode is set for the notebook or for the server, and taken away', async () => {
  modes.path = 'a.ipynb';
  await modes.setMode('notebook', 'plan');
  expect(modes.current).toMatchObject({ mode: 'plan', own: 'plan', server: 'edit' });
  await modes.setMode('server', 'review');
  expect(modes.current).toMatchObject({ mode: 'plan', server: 'review' });
  await modes.setMode('notebook', null);
  expect(modes.current).toMatchObject({ mode: 'review', own: null });
});

test('without a notebook in front the mode of none is set', async () => {
  await modes.setMode('notebook', 'plan');
  expect(server.own.size).toBe(0);
  expect(server.configured).toBe('edit');
});

test('it is said why the mode cannot be changed', async () => {
  modes.path = 'a.ipynb';
  await settle();
  expect(modes.disabledReason).toBe('');
  server.isForbidden = true;
  await expect(modes.setMode('notebook', 'plan')).rejects.toThrow('no right');
  expect(modes.disabledReason).toBe('You have no right to change the mode');
  server.fixed = true;
  modes.refresh();
  await settle();
  expect(modes.disabledReason).toBe('The mode is fixed in the configuration of the server');
});

test('the choices are those of the notebook and of the server, each with what holds', () => {
  const reply: ModeReply = {
    path: 'a.ipynb',
    mode: 'review',
    own: null,
    server: 'review',
    fixed: false
  };
  const listChosen = (choices: ReturnType<typeof listModeChoices>): string[] =>
    choices.filter(({ isSelected }) => isSelected).map(({ label }) => label);
  expect(listModeChoices(reply, trans).map(({ scope, mode }) => `${scope} ${mode}`)).toEqual([
    'notebook edit',
    'notebook review',
    'notebook plan',
    'notebook null',
    'server edit',
    'server review',
    'server plan'
  ]);
  expect(listChosen(listModeChoices(reply, trans))).toEqual([
    'This notebook: As the server (Review first)',
    'All notebooks: Review first'
  ]);
  expect(listChosen(listModeChoices({ ...reply, own: 'plan' }, trans))).toContain(
    'This notebook: Paused'
  );
  expect(listModeChoices({ ...reply, path: null }, trans).map(({ scope }) => scope)).toEqual([
    'server',
    'server',
    'server'
  ]);
});

describe('The status item', () => {
  const holds = (more: Partial<ModeReply> = {}): ModeReply => ({
    path: 'a.ipynb',
    mode: 'edit',
    own: null,
    server: 'edit',
    fixed: false,
    ...more
  });
  const counts = (currentNotebook: number, otherNotebooks: number) => ({
    currentNotebook,
    otherNotebooks
  });

  test('counts the changes that are proposed for the notebook in front', () => {
    expect(describeStatus(holds({ mode: 'review' }), counts(9, 3), trans)).toEqual({
      label: 'Review first · 9 changes proposed',
      name: 'Agents in this notebook: review first, 9 changes proposed, 3 changes proposed in other notebooks'
    });
  });

  test('names changes that are proposed for other notebooks as such', () => {
    expect(describeStatus(holds(), counts(0, 1), trans)).toEqual({
      label: '1 change proposed in other notebooks',
      name: 'Agents in this notebook: edits allowed, 1 change proposed in other notebooks'
    });
  });

  test('counts the changes for all notebooks where none is in front', () => {
    expect(describeStatus(holds({ path: null }), counts(0, 4), trans)).toEqual({
      label: '4 changes proposed',
      name: 'Agents in all notebooks: edits allowed, 4 changes proposed'
    });
  });

  test('says that edits are stopped, and why, while the modes cannot be read', () => {
    const stopped = holds({ unreadable: 'The database is damaged.' });
    expect(isStopped(stopped)).toBe(true);
    expect(describeStatus(stopped, counts(0, 0), trans)).toEqual({
      label: 'Agent edits stopped',
      name: 'Agent edits are stopped: the server cannot read which notebooks are paused or reviewed. The database is damaged.'
    });
  });

  test('takes a server that does not speak of unreadable modes for one that can read them', () => {
    expect(isStopped(holds())).toBe(false);
    expect(isStopped(holds({ unreadable: null }))).toBe(false);
    expect(isStopped(null)).toBe(false);
  });
});
