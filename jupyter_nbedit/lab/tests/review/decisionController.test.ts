import { nullTranslator } from '@jupyterlab/translation';
import { beforeEach, expect, test } from 'vitest';
import { DecisionController } from '../../src/review/decisionController';
import type { PartPosition } from '../../src/review/proposalPartPosition';
import type { ShownPart } from '../../src/review/proposalPartView';
import { NbEditError } from '../../src/server/client';
import type { Proposal } from '../../src/server/models';
import { makeChangedPart, makeProposal } from './parts';

let asked: string[];
let answer: Promise<void>;
let isUnsaved: boolean;
let notices: string[];
let decisions: DecisionController;

beforeEach(() => {
  asked = [];
  answer = Promise.resolve();
  isUnsaved = false;
  notices = [];
  const record =
    (what: string) =>
    (_: Proposal, parts?: readonly number[]): Promise<void> => {
      asked.push(`${what} ${parts?.join()}`);
      return answer;
    };
  decisions = new DecisionController(
    { accept: record('accept'), reject: record('reject') },
    {
      hasUnsavedChanges: () => isUnsaved,
      getSource: () => 'now',
      showNotice: notice => notices.push(notice)
    },
    nullTranslator.load('jupyter_nbedit')
  );
});

function shownParts(...states: PartPosition['state'][]): ShownPart[] {
  const parts = states.map((_, index) => makeChangedPart(`c${index}`, index, { part: index }));
  return parts.map((part, index) => ({
    proposal: makeProposal(parts),
    part,
    position: { cell: index, side: 'below', state: states[index] ?? 'gone' },
    language: 'text/x-python',
    block: null,
    whenDrawn: Promise.resolve(),
    problem: null,
    isBusy: false
  }));
}

function makeFailure(reason: string, details = {}): Promise<never> {
  const refusal = Promise.reject(new NbEditError(409, reason, 'The message.', details));
  refusal.catch(() => undefined);
  return refusal;
}

test('the parts are decided together, and can be pressed again afterwards', async () => {
  const all = shownParts('as-proposed', 'changed');
  const done = decisions.decide(all, true);
  expect(all.every(({ isBusy }) => isBusy)).toBe(true);
  await decisions.decide(all, true);
  await done;
  expect(asked).toEqual(['accept 0,1']);
  expect(all.some(({ isBusy }) => isBusy)).toBe(false);
});

test('a cell that the user has changed and not saved is not overwritten', async () => {
  isUnsaved = true;
  const all = shownParts('as-proposed', 'changed', 'gone');
  await decisions.decide(all, true);
  expect(asked).toEqual([]);
  expect(all.map(({ problem }) => problem?.text)).toEqual([
    undefined,
    'Not accepted: the cell has changed since this was proposed. Look again.',
    'Not accepted: the cell is gone. Look again.'
  ]);
  expect(notices.pop()).toBe('Nothing was accepted: 2 changes cannot be made any more.');
});

test('unsaved changes of other cells are in nobody’s way', async () => {
  isUnsaved = true;
  await decisions.decide(shownParts('as-proposed'), true);
  expect(asked).toEqual(['accept 0']);
});

test('what has changed can be rejected', async () => {
  isUnsaved = true;
  await decisions.decide(shownParts('changed'), false);
  expect(asked).toEqual(['reject 0']);
});

test('the server’s conflict is told at the cells it is about', async () => {
  answer = makeFailure('cell_changed', { cells: [{ cell_id: 'c1', index: 1, why: 'no_place' }] });
  const all = shownParts('as-proposed', 'as-proposed');
  await decisions.decide(all, true);
  expect(all.map(({ problem }) => problem)).toEqual([
    null,
    { text: 'Not accepted: the place for this cell is gone. Look again.', source: 'now' }
  ]);
  expect(notices.pop()).toBe('Nothing was accepted: 1 change cannot be made any more.');
});

test('another refusal is told at the block, or in the bar if it is about several', async () => {
  answer = makeFailure('plan_mode');
  const one = shownParts('as-proposed');
  await decisions.decide(one, true);
  expect(one[0]?.problem?.text).toBe('The message.');
  expect(notices.pop()).toBe('');
  await decisions.decide(shownParts('as-proposed', 'as-proposed'), true);
  expect(notices.pop()).toBe('The message.');
});

test('nothing is said of a proposal that somebody else has decided: its blocks go', async () => {
  answer = makeFailure('proposal_closed');
  const one = shownParts('as-proposed');
  await decisions.decide(one, true);
  expect(one[0]?.problem).toBeNull();
  expect(notices.pop()).toBe('');
});
