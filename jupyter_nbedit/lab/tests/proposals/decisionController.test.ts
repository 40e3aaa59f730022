import { nullTranslator } from '@jupyterlab/translation';
import { beforeEach, expect, test } from 'vitest';
import { DecisionController, type Decision } from '../../src/proposals/decisionController';
import { computeOutcome } from '../../src/proposals/partOutcome';
import type { ShownPart } from '../../src/proposals/proposalPartView';
import { NbEditError } from '../../src/server/client';
import type { ChosenSource, EditReply, Proposal, ProposedPart } from '../../src/server/models';
import { makeCellState, makeChangedPart, makeDeletePart, makeProposal } from './parts';

const BASE = 'a\nb\nc';
const THEIRS = 'a\nb\nC';
const MERGES = 'A\nb\nc';
const CONFLICTS = 'a\nb\nmine';

/** The sources of the cells as they are stored, and in the tab; null if a cell is gone. */
let stored: (string | null)[];
let tab: (string | null)[];
/** What another client does to the stored cells right before the next request. */
let interfere: () => void;
let requests: string[];
let failure: NbEditError | null;
let notices: { text: string; acceptable: number[] }[];
let told: Decision[];
let inserted: number[];
let decisions: DecisionController;

/** The server's side of proposals, in memory. */
class Server {
  async read(proposal: Proposal): Promise<Proposal> {
    await Promise.resolve();
    interfere();
    return { ...proposal, parts: proposal.parts.map(describeState) };
  }

  getSourceHash(_: Proposal, { part }: ProposedPart): Promise<string> {
    return Promise.resolve(`hash of ${stored[part]}`);
  }

  async accept(
    proposal: Proposal,
    parts: readonly number[] = [],
    sources: readonly ChosenSource[] = []
  ): Promise<EditReply> {
    await Promise.resolve();
    requests.push(`accept ${proposal.proposal_id}: ${parts.join()}`);
    if (failure !== null) {
      throw failure;
    }
    const cells = parts.flatMap(part => {
      const chosen = sources.find(source => source.part === part);
      const isFit =
        chosen === undefined
          ? stored[part] === BASE
          : chosen.source_hash === `hash of ${stored[part]}`;
      return isFit ? [] : [{ cell_id: `c${part}`, index: part, why: 'changed' }];
    });
    if (cells.length > 0) {
      throw new NbEditError(409, 'cell_changed', 'The message.', { cells });
    }
    for (const part of parts) {
      const chosen = sources.find(source => source.part === part);
      stored[part] = chosen === undefined ? THEIRS : chosen.source;
    }
    return { edit_id: 10 + proposal.proposal_id } as EditReply;
  }

  async reject(proposal: Proposal, parts: readonly number[] = [], reason = ''): Promise<void> {
    await Promise.resolve();
    requests.push(`reject ${proposal.proposal_id}: ${parts.join()} ${reason}`.trim());
    if (failure !== null) {
      throw failure;
    }
  }
}

function describeState(part: ProposedPart): ProposedPart {
  const source = stored[part.part] ?? null;
  if (source === null) {
    return { ...part, state: 'gone' };
  }
  return source === part.before?.source
    ? { ...part, state: 'as_proposed' }
    : {
        ...part,
        state: 'changed',
        current: makeCellState(source),
        current_hash: `hash of ${source}`
      };
}

/** Return an item that must exist. */
function getItem<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) {
    throw new Error(`There is no item ${index}.`);
  }
  return item;
}

beforeEach(() => {
  [requests, notices, told, inserted, failure] = [[], [], [], [], null];
  interfere = () => undefined;
  decisions = new DecisionController(
    new Server(),
    {
      hasUnsavedChanges: () => tab.some((source, index) => source !== stored[index]),
      save: () => {
        requests.push('save');
        stored = [...tab];
        return Promise.resolve();
      },
      getSource: ({ part }) => tab[part.part] ?? null,
      insertCell: ({ part }) => inserted.push(part.part),
      showNotice: (text, acceptable) =>
        notices.push({ text, acceptable: acceptable.map(({ part }) => part.part) }),
      showDecision: decision => told.push(decision)
    },
    nullTranslator.load('jupyter_nbedit')
  );
});

/** Show parts that change cells with these sources in the tab. */
function show(sources: readonly (string | null)[], inFile = sources): ShownPart[] {
  tab = [...sources];
  stored = [...inFile];
  const parts = sources.map((_, index) =>
    makeChangedPart(`c${index}`, index, {
      part: index,
      before: makeCellState(BASE),
      after: makeCellState(THEIRS)
    })
  );
  return parts.map(part => makeShownPart(makeProposal(parts), part));
}

function makeShownPart(proposal: Proposal, part: ProposedPart): ShownPart {
  const source = tab[part.part] ?? null;
  const state = source === null ? 'gone' : source === BASE ? 'as-proposed' : 'changed';
  const cell = { id: `c${part.part}`, type: 'code', source: source ?? '' };
  return {
    proposal,
    part,
    position: { cell: part.part, side: 'below', state },
    outcome: computeOutcome(part, state, cell),
    standsForCell: true,
    isCellShown: false,
    editedSource: null,
    hasEditor: false,
    reason: null,
    caret: null,
    drawnKey: '',
    block: null,
    moveLine: null,
    whenDrawn: Promise.resolve(),
    problem: null,
    isBusy: false
  };
}

function showOne(source: string | null, inFile = source): ShownPart {
  return getItem(show([source], [inFile]), 0);
}

test('the parts are accepted together, and can be pressed again afterwards', async () => {
  const all = show([BASE, BASE]);
  const done = decisions.acceptAll(all);
  expect(all.every(({ isBusy }) => isBusy)).toBe(true);
  await decisions.acceptAll(all);
  await done;
  expect(requests).toEqual(['accept 1: 0,1']);
  expect(stored).toEqual([THEIRS, THEIRS]);
  expect(all.some(({ isBusy }) => isBusy)).toBe(false);
});

test('what was accepted is told once, with its edits', async () => {
  const first = show([BASE, BASE]);
  const others = show([BASE, BASE]);
  others.forEach(shownPart => {
    shownPart.proposal = { ...shownPart.proposal, proposal_id: 2 };
  });
  stored = [BASE, BASE];
  await decisions.acceptAll([getItem(first, 0), getItem(others, 1)]);
  expect(told).toEqual([
    {
      verdict: 'accepted',
      count: 2,
      proposals: [
        { id: 1, parts: [0] },
        { id: 2, parts: [1] }
      ],
      edits: [11, 12]
    }
  ]);
});

test('a cell that was changed in the file gets both changes', async () => {
  await decisions.accept(showOne(MERGES));
  expect(stored).toEqual(['A\nb\nC']);
  expect(requests).toEqual(['accept 1: 0']);
});

test('a change of the tab that fits to the proposal is left to the tab', async () => {
  await decisions.accept(showOne(MERGES, BASE));
  expect(stored).toEqual([THEIRS]);
  expect(requests).toEqual(['accept 1: 0']);
});

test('what is not saved is saved before the file gets text for the same lines', async () => {
  const shownPart = showOne(CONFLICTS, BASE);
  await decisions.accept(shownPart);
  expect(requests).toEqual(['save', 'accept 1: 0']);
  expect(stored).toEqual([THEIRS]);
  expect(shownPart.problem).toBeNull();
});

test('what is not saved is saved if the file has changed, too', async () => {
  await decisions.accept(showOne('A\nmore\nb\nc', MERGES));
  expect(requests).toEqual(['save', 'accept 1: 0']);
  expect(stored).toEqual(['A\nmore\nb\nC']);
});

test('a text that the user has edited is what the cell gets', async () => {
  for (const source of [BASE, MERGES, CONFLICTS]) {
    const shownPart = showOne(source);
    shownPart.editedSource = 'edited';
    await decisions.accept(shownPart);
    expect(stored).toEqual(['edited']);
  }
});

test('a text that was changed right now is not overwritten', async () => {
  const shownPart = showOne(CONFLICTS);
  interfere = () => (stored = ['newer']);
  await decisions.accept(shownPart);
  expect(stored).toEqual(['newer']);
  expect(requests).not.toContain('accept 1: 0');
  expect(shownPart.problem).toEqual({
    text: 'Not accepted: the cell has changed since this was proposed. Look again.',
    source: CONFLICTS
  });
});

test('a cell that has changed is deleted if the user says so', async () => {
  tab = [CONFLICTS];
  stored = [CONFLICTS];
  const part = makeDeletePart('c0', 0, { before: makeCellState(BASE) });
  await decisions.accept(makeShownPart(makeProposal([part]), part));
  expect(stored).toEqual([null]);
});

test('nothing is accepted while one change needs a decision of its own, but the others can be', async () => {
  const all = show([BASE, CONFLICTS, MERGES, null]);
  await decisions.acceptAll(all);
  expect(requests).toEqual([]);
  expect(notices.pop()).toEqual({
    text: 'Nothing was accepted: 2 changes need decisions of their own.',
    acceptable: [0, 2]
  });
  await decisions.acceptAll([getItem(all, 0), getItem(all, 2)]);
  expect(stored).toEqual([THEIRS, CONFLICTS, 'A\nb\nC', null]);
  expect(notices.pop()).toEqual({ text: '', acceptable: [] });
});

test('a conflict that the user has edited needs no other decision', async () => {
  const all = show([BASE, CONFLICTS]);
  getItem(all, 1).editedSource = 'both';
  await decisions.acceptAll(all);
  expect(stored).toEqual([THEIRS, 'both']);
});

test('the text for a cell that is gone is inserted, and the agent knows', async () => {
  await decisions.accept(showOne(null));
  expect(inserted).toEqual([0]);
  expect(requests).toEqual([
    'reject 1: 0 The cell was gone. The user has inserted the text as a new cell.'
  ]);
});

test('what has changed can be rejected, with a reason', async () => {
  await decisions.reject(show([CONFLICTS]), 'Too long');
  expect(requests).toEqual(['reject 1: 0 Too long']);
  expect(told).toMatchObject([{ verdict: 'rejected', count: 1 }]);
});

test('the server’s conflict is told at the cells it is about, and the others can be accepted', async () => {
  failure = new NbEditError(409, 'cell_changed', 'The message.', {
    cells: [{ cell_id: 'c1', index: 1, why: 'no_place' }]
  });
  const all = show([BASE, BASE]);
  await decisions.acceptAll(all);
  expect(all.map(({ problem }) => problem?.text)).toEqual([
    undefined,
    'Not accepted: the place for this cell is gone. Look again.'
  ]);
  expect(notices.pop()).toEqual({
    text: 'Nothing was accepted: 1 change needs a decision of its own.',
    acceptable: [0]
  });
  expect(told).toEqual([]);
});

test('another refusal is told at the block, or in the bar if it is about several', async () => {
  failure = new NbEditError(409, 'plan_mode', 'The message.');
  const one = showOne(BASE);
  await decisions.accept(one);
  expect(one.problem?.text).toBe('Edits are paused. Nothing was changed.');
  expect(notices.pop()?.text).toBe('');
  await decisions.acceptAll(show([BASE, BASE]));
  expect(notices.pop()?.text).toBe('Edits are paused. Nothing was changed.');
});

test('nothing is said of a proposal that somebody else has decided: its blocks go', async () => {
  failure = new NbEditError(409, 'proposal_closed', 'The message.');
  const one = showOne(BASE);
  await decisions.accept(one);
  expect(one.problem).toBeNull();
  expect(notices.pop()?.text).toBe('');
});
