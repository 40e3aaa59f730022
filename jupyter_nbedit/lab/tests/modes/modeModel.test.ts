import type { Event } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import { beforeEach, describe, expect, test } from 'vitest';
import { findChoice, isSelected, isStopped, MODE_CHOICES } from '../../src/modes/modeChoice';
import { ModeModel, type ModeClient } from '../../src/modes/modeModel';
import { describeChoice, describeStatus, labelChoice, listNotices } from '../../src/modes/wording';
import type { Mode, ModeReply } from '../../src/server/models';
import { WriteRight } from '../../src/server/writeRight';

const trans = nullTranslator.load('jupyter_nbedit');

const SCHEMA = 'urn:jupyter-nbedit:mode:v1';

/** A server's memory of modes. */
class TestServer implements ModeClient {
  own = new Map<string, Mode>();
  configured: Mode = 'edit';
  fixed = false;
  isForbidden = false;
  writable = true;
  asked = 0;

  getMode(path: string | null): Promise<ModeReply> {
    this.asked++;
    const own = (path === null ? null : this.own.get(path)) ?? null;
    const server = this.configured;
    const { fixed, writable } = this;
    return Promise.resolve({
      path,
      mode: own ?? server,
      own,
      server,
      fixed,
      unreadable: null,
      writable
    });
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
let right: WriteRight;

beforeEach(() => {
  server = new TestServer();
  right = new WriteRight();
  const stream = {
    connect: (slot: (sender: unknown, emission: object) => void) => {
      emit = emission => slot(null, emission);
    }
  };
  modes = new ModeModel(server, { stream } as unknown as Event.IManager, right, trans);
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
  server.fixed = true;
  modes.refresh();
  await settle();
  expect(modes.disabledReason).toBe('The mode is fixed in the configuration of the server');
});

describe('The right to change notebooks', () => {
  const REASON = 'You have no right to change notebooks on this server';

  test('is read with each mode', async () => {
    modes.path = 'a.ipynb';
    await settle();
    expect(right.isGranted).toBe(true);
    server.writable = false;
    modes.refresh();
    await settle();
    expect(right.isGranted).toBe(false);
    expect(modes.disabledReason).toBe(REASON);
    server.writable = true;
    modes.path = 'b.ipynb';
    await settle();
    expect(right.isGranted).toBe(true);
    expect(modes.disabledReason).toBe('');
  });

  test('is the reason that is named if the mode is fixed, too', async () => {
    Object.assign(server, { writable: false, fixed: true });
    modes.refresh();
    await settle();
    expect(modes.disabledReason).toBe(REASON);
  });

  test('stays as it was while the server does not answer', async () => {
    server.writable = false;
    modes.refresh();
    await settle();
    server.getMode = () => Promise.reject(new Error('unreachable'));
    modes.refresh();
    await settle();
    expect(right.isGranted).toBe(false);
  });

  test('decides alone: a refused change of the mode is no reason', async () => {
    server.writable = true;
    modes.path = 'a.ipynb';
    await settle();
    server.isForbidden = true;
    await expect(modes.setMode('notebook', 'plan')).rejects.toThrow('no right');
    expect(modes.disabledReason).toBe('');
  });
});

const answer = (more: Partial<ModeReply> = {}): ModeReply => ({
  path: 'a.ipynb',
  mode: 'edit',
  own: null,
  server: 'edit',
  fixed: false,
  unreadable: null,
  writable: true,
  ...more
});

describe('The choices', () => {
  const listSelected = (reply: ModeReply | null): string[] =>
    MODE_CHOICES.filter(choice => isSelected(choice, reply)).map(choice =>
      labelChoice(choice, reply, trans)
    );

  test('are those of the notebook and of all notebooks, each with its label', () => {
    const reply = answer({ server: 'review' });
    expect(MODE_CHOICES.map(choice => labelChoice(choice, reply, trans))).toEqual([
      'This Notebook: Edits Allowed',
      'This Notebook: Review First',
      'This Notebook: Paused',
      'This Notebook: Default (Review First)',
      'Default for All Notebooks: Edits Allowed',
      'Default for All Notebooks: Review First',
      'Default for All Notebooks: Paused'
    ]);
  });

  test('say in the palette what they do', () => {
    const reply = answer({ server: 'review' });
    const labels = MODE_CHOICES.map(choice => describeChoice(choice, reply, trans));
    expect(labels).toEqual([
      'Let Agents Edit This Notebook',
      'Review Edits of Agents in This Notebook First',
      'Pause Agents in This Notebook',
      'Use the Default for Agents in This Notebook (Review First)',
      'Let Agents Edit All Notebooks by Default',
      'Review Edits of Agents in All Notebooks First by Default',
      'Pause Agents in All Notebooks by Default'
    ]);
    expect(describeChoice({ scope: 'notebook', mode: null }, null, trans)).toBe(
      'Use the Default for Agents in This Notebook'
    );
  });

  test('show what is set', () => {
    expect(listSelected(answer({ mode: 'review', server: 'review' }))).toEqual([
      'This Notebook: Default (Review First)',
      'Default for All Notebooks: Review First'
    ]);
    expect(listSelected(answer({ mode: 'plan', own: 'plan' }))).toEqual([
      'This Notebook: Paused',
      'Default for All Notebooks: Edits Allowed'
    ]);
    expect(listSelected(null)).toEqual([]);
  });

  test('are named by the arguments of a command, and by no others', () => {
    for (const choice of MODE_CHOICES) {
      expect(findChoice({ ...choice })).toBe(choice);
    }
    expect(findChoice({})).toBeNull();
    expect(findChoice({ scope: 'server', mode: null })).toBeNull();
    expect(findChoice({ scope: 'notebook', mode: 'all' })).toBeNull();
  });
});

describe('The status item', () => {
  const counts = (currentNotebook: number, otherNotebooks: number, unseen = 0) => ({
    currentNotebook,
    otherNotebooks,
    unseen
  });

  test('says what agents may do', () => {
    const describeMode = (more: Partial<ModeReply>) =>
      describeStatus(answer(more), counts(0, 0), trans);
    expect(describeMode({})).toEqual({
      mode: 'Agents: edits allowed',
      waiting: '',
      name: 'Agents: edits allowed.'
    });
    expect(describeMode({ mode: 'review' }).mode).toBe('Agents: review first');
    expect(describeMode({ mode: 'plan' }).mode).toBe('Agents: paused');
  });

  test('counts the changes that are proposed for the notebook in front', () => {
    expect(describeStatus(answer({ mode: 'review' }), counts(9, 3), trans)).toEqual({
      mode: 'Agents: review first',
      waiting: '9 proposed',
      name: 'Agents: review first. This notebook: 9 changes proposed. Other notebooks: 3 changes proposed.'
    });
  });

  test('names changes that are proposed for other notebooks as such', () => {
    expect(describeStatus(answer(), counts(0, 1), trans)).toEqual({
      mode: 'Agents: edits allowed',
      waiting: '1 proposed elsewhere',
      name: 'Agents: edits allowed. Other notebooks: 1 change proposed.'
    });
  });

  test('counts the changes for all notebooks where none is in front', () => {
    expect(describeStatus(answer({ path: null }), counts(0, 4), trans)).toEqual({
      mode: 'Agents: edits allowed',
      waiting: '4 proposed',
      name: 'Agents: edits allowed. 4 changes proposed.'
    });
  });

  test('counts the changes of the notebook in front that are not kept yet', () => {
    expect(describeStatus(answer(), counts(0, 0, 5), trans)).toEqual({
      mode: 'Agents: edits allowed',
      waiting: '5 unseen',
      name: 'Agents: edits allowed. This notebook: 5 changes unseen.'
    });
    expect(describeStatus(answer(), counts(2, 0, 1), trans)).toEqual({
      mode: 'Agents: edits allowed',
      waiting: '2 proposed · 1 unseen',
      name: 'Agents: edits allowed. This notebook: 2 changes proposed, 1 change unseen.'
    });
  });

  test('says that the user may only read, and in full what agents may do', () => {
    const reader = answer({ mode: 'review', writable: false });
    expect(describeStatus(reader, counts(2, 0), trans)).toEqual({
      mode: 'Read only',
      waiting: '2 proposed',
      name: 'You have no right to change notebooks on this server. Agents: review first. This notebook: 2 changes proposed.'
    });
    expect(
      describeStatus({ ...reader, unreadable: 'Damaged.' }, counts(0, 0), trans)
    ).toMatchObject({
      mode: 'Read only',
      name: expect.stringContaining('Agents: stopped.') as string
    });
  });

  test('says that edits are stopped, and why, while the modes cannot be read', () => {
    const stopped = answer({ unreadable: 'The database is damaged.' });
    const why =
      'Agent edits are stopped: the server cannot read which notebooks are paused or reviewed.';
    expect(isStopped(stopped)).toBe(true);
    expect(describeStatus(stopped, counts(0, 0), trans)).toEqual({
      mode: 'Agents: stopped',
      waiting: '',
      name: `Agents: stopped. ${why} The database is damaged.`
    });
    expect(listNotices(stopped, '', trans)).toEqual([why, 'The database is damaged.']);
    expect(listNotices(answer(), 'You have no right to change the mode', trans)).toEqual([
      'You have no right to change the mode'
    ]);
    expect(listNotices(answer(), '', trans)).toEqual([]);
  });

  test('says that nothing is stopped where the modes can be read', () => {
    expect(isStopped(answer())).toBe(false);
    expect(isStopped(null)).toBe(false);
  });
});
