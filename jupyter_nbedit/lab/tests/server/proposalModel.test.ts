import type { Event } from '@jupyterlab/services';
import { beforeEach, expect, test, vi } from 'vitest';
import { ProposalModel, type ProposalClient } from '../../src/server/proposalModel';
import type { EditReply, Proposal } from '../../src/server/models';
import { makeChangedPart, makeProposal } from '../proposals/parts';

const SCHEMA = 'urn:jupyter-nbedit:proposal:v1';

/** A server's memory of proposals; answers when it is let go. */
class TestServer implements ProposalClient {
  pending: Proposal[] = [];
  asked: string[] = [];
  fails = false;
  release: Promise<void> = Promise.resolve();

  async listProposals(): Promise<readonly Proposal[]> {
    this.asked.push('list');
    const answer = [...this.pending];
    await this.release;
    if (this.fails) {
      throw new Error('down');
    }
    return answer;
  }

  async acceptProposal(id: number, parts?: readonly number[]): Promise<EditReply> {
    this.asked.push(`accept ${id} ${parts?.join()}`);
    this.pending = this.pending.filter(({ proposal_id: other }) => other !== id);
    await this.release;
    return {} as EditReply;
  }

  async rejectProposal(id: number, parts?: readonly number[], reason?: string): Promise<Proposal> {
    this.asked.push(`reject ${id} ${parts?.join()} ${reason}`);
    await this.release;
    throw new Error('closed');
  }

  async reopenProposal(id: number, parts?: readonly number[]): Promise<Proposal> {
    await Promise.resolve();
    this.asked.push(`reopen ${id} ${parts?.join()}`);
    this.pending = [older, newer];
    return older;
  }

  getProposal(id: number): Promise<Proposal> {
    return Promise.resolve({ ...older, proposal_id: id });
  }

  getSourceHash(path: string, cell: string | number): Promise<string> {
    return Promise.resolve(`${path} ${cell}`);
  }

  async undo(path: string, id: number): Promise<EditReply> {
    await Promise.resolve();
    this.asked.push(`undo ${path} ${id}`);
    return {} as EditReply;
  }
}

const older = makeProposal([makeChangedPart('a', 0)], { proposal_id: 1 });
const newer = makeProposal([makeChangedPart('b', 1)], { proposal_id: 2, path: 'b.ipynb' });

let server: TestServer;
let emit: (emission: object) => void;
let proposals: ProposalModel;
let changes: number;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T10:00:00Z') });
  server = new TestServer();
  server.pending = [newer, older];
  const stream = {
    connect: (slot: (sender: unknown, emission: object) => void) => {
      emit = emission => slot(null, emission);
    }
  };
  proposals = new ProposalModel(server, { stream } as unknown as Event.IManager);
  changes = 0;
  proposals.changed.connect(() => changes++);
});

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

test('what is pending is read from the server when an event speaks of a proposal', async () => {
  emit({ schema_id: 'another', path: 'a.ipynb' });
  await settle();
  expect(server.asked).toEqual([]);
  emit({ schema_id: SCHEMA, path: 'a.ipynb', proposal_id: 3, status: 'pending' });
  await settle();
  expect(proposals.pending).toEqual([older, newer]);
  expect(proposals.listForNotebook('b.ipynb')).toEqual([newer]);
  expect(changes).toBe(1);
});

test('nobody is told where nothing has changed', async () => {
  proposals.refresh();
  await settle();
  proposals.refresh();
  await settle();
  expect(changes).toBe(1);
});

test('what changes while it is being read is read again', async () => {
  let release = (): void => undefined;
  server.release = new Promise(resolve => (release = resolve));
  proposals.refresh();
  await settle();
  server.pending = [newer];
  proposals.refresh();
  proposals.refresh();
  release();
  await settle();
  expect(proposals.pending).toEqual([newer]);
  expect(server.asked).toEqual(['list', 'list']);
});

test('a proposal is looked for again when its time is up', async () => {
  proposals.refresh();
  await settle();
  server.pending = [];
  await vi.advanceTimersByTimeAsync(Date.parse(older.expires) - Date.now() + 1000);
  expect(proposals.pending).toEqual([]);
});

test('a server that still has a proposal whose time is up is not asked all the time', async () => {
  vi.setSystemTime('2026-11-30T00:00:00Z');
  proposals.refresh();
  await settle();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.asked.length).toBeLessThan(15);
});

test('a decision has settled when what is left of the proposals is known', async () => {
  proposals.refresh();
  await settle();
  await proposals.accept(older, [0]);
  expect(server.asked).toContain('accept 1 0');
  expect(proposals.pending).toEqual([newer]);
});

test('a decision that is refused is told, and what is left is known', async () => {
  proposals.refresh();
  await settle();
  server.pending = [];
  await expect(proposals.reject(newer)).rejects.toThrow('closed');
  expect(proposals.pending).toEqual([]);
});

test('what was rejected is pending again when it is reopened', async () => {
  server.pending = [];
  await proposals.reopen(older.proposal_id, [0]);
  expect(server.asked).toContain('reopen 1 0');
  expect(proposals.pending).toEqual([newer, older]);
});

test('the edits that accepted proposals are undone newest first', async () => {
  await proposals.undoEdits('a.ipynb', [4, 7]);
  expect(server.asked.slice(0, 2)).toEqual(['undo a.ipynb 7', 'undo a.ipynb 4']);
});

test('a blank reason is no reason', async () => {
  await expect(proposals.reject(older, [0], ' too long ')).rejects.toThrow('closed');
  await expect(proposals.reject(older, [0], '  ')).rejects.toThrow('closed');
  expect(server.asked).toContain('reject 1 0 too long');
  expect(server.asked).toContain('reject 1 0 undefined');
});

test('what was known stays while the server does not answer, which is said once', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  proposals.refresh();
  await settle();
  server.fails = true;
  proposals.refresh();
  await settle();
  proposals.refresh();
  await settle();
  expect(proposals.pending).toEqual([older, newer]);
  expect(warn).toHaveBeenCalledTimes(1);
});

test('the changes of a notebook are counted apart from those of the others', async () => {
  const decided = makeChangedPart('d', 2, { part: 1, status: 'accepted' });
  server.pending = [newer, makeProposal([makeChangedPart('a', 0), decided], { proposal_id: 1 })];
  proposals.refresh();
  await settle();
  expect(proposals.count('b.ipynb')).toEqual({ currentNotebook: 1, otherNotebooks: 1 });
  expect(proposals.count('c.ipynb')).toEqual({ currentNotebook: 0, otherNotebooks: 2 });
  expect(proposals.count(null)).toEqual({ currentNotebook: 0, otherNotebooks: 2 });
});

test('the proposals are ready when they were read once, also if there are none', async () => {
  server.pending = [];
  server.fails = true;
  let isReady = false;
  void proposals.ready.then(() => (isReady = true));
  proposals.refresh();
  await vi.advanceTimersByTimeAsync(0);
  expect(server.asked).toEqual(['list']);
  expect(isReady).toBe(false);
  server.fails = false;
  proposals.refresh();
  await proposals.ready;
  expect(changes).toBe(0);
});
