import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, test } from 'vitest';
import type { OutcomeKind } from '../../src/proposals/partOutcome';
import * as wording from '../../src/proposals/wording';
import {
  makeChangedPart,
  makeDeletePart,
  makeInsertPart,
  makePart,
  makeProposal,
  makeCellState
} from './parts';

const trans = nullTranslator.load('jupyter_nbedit');

describe('What a part would do is said', () => {
  test('for each kind of change', () => {
    expect(wording.describePart(makeInsertPart('n', 1), trans)).toBe(
      'proposes a new code cell here'
    );
    expect(wording.describePart(makeDeletePart('a', 1), trans)).toBe(
      'proposes to delete this cell'
    );
    expect(wording.describePart(makeChangedPart('a', 1), trans)).toBe(
      'proposes to change this cell'
    );
    const same = { before: makeCellState('a'), after: makeCellState('a') };
    expect(
      wording.describePart(makeChangedPart('a', 1, { ...same, index: 4, moved: true }), trans)
    ).toBe('proposes to move this cell to position 5');
    expect(
      wording.describePart(makeChangedPart('a', 1, { ...same, outputs_cleared: true }), trans)
    ).toBe('proposes to clear the outputs of this cell');
    expect(wording.describePart(makeChangedPart('a', 1, same), trans)).toBe(
      'proposes to change the outputs, the run number or the attachments of this cell'
    );
    const tagged = { ...same, after: makeCellState('a', { metadata: { tags: ['x'] } }) };
    expect(wording.describePart(makeChangedPart('a', 1, tagged), trans)).toBe(
      'proposes to change the metadata of this cell'
    );
    const notebook = { before: makeCellState(''), after: makeCellState('') };
    expect(wording.describePart(makePart(notebook), trans)).toBe(
      'proposes to change the metadata of the notebook'
    );
  });

  test('for several changes of one cell at once', () => {
    const all = makeChangedPart('a', 1, {
      after: makeCellState('b', { cell_type: 'markdown' }),
      index: 0,
      moved: true,
      outputs_cleared: true
    });
    expect(wording.describePart(all, trans)).toBe(
      'proposes to change this cell, make it a markdown cell, move it to position 1 and ' +
        'clear its outputs'
    );
  });
});

test('the bar counts the changes and names at most two who propose them', () => {
  expect(wording.describeProposals(['Claude'], 1, trans)).toBe('Claude proposes 1 change');
  expect(wording.describeProposals(['Claude', 'Claude'], 3, trans)).toBe(
    'Claude proposes 3 changes'
  );
  expect(wording.describeProposals(['Claude', 'Codex'], 3, trans)).toBe(
    'Claude and Codex propose 3 changes'
  );
  expect(wording.describeProposals(['a', 'b', 'c'], 5, trans)).toBe('3 agents propose 5 changes');
});

test('what a client calls itself is told apart from the user that the server knows', () => {
  expect(wording.getProposer(makeProposal([]), trans)).toBe('Claude');
  expect(wording.describeIdentity(makeProposal([]), trans)).toBe(
    'Signed in as alice, and calls itself Claude'
  );
  const nameless = makeProposal([], { client: '\u202E' });
  expect(wording.getProposer(nameless, trans)).toBe('alice');
  expect(wording.describeIdentity(nameless, trans)).toBe('Signed in as alice');
  expect(wording.getProposer(makeProposal([], { client: null, user: '' }), trans)).toBe('An agent');
});

test('a proposer whose user name Jupyter has invented is called an agent', () => {
  const user = '2f0976f161c0416f9056e4e7aa0c7065';
  const unnamed = makeProposal([], { client: null, user });
  expect(wording.getProposer(unnamed, trans)).toBe('An agent');
  expect(wording.describeIdentity(unnamed, trans)).toBe(
    'Signed in with the server’s token, without a user name'
  );
  expect(wording.describeIdentity(makeProposal([], { user }), trans)).toBe(
    'Signed in with the server’s token, without a user name, and calls itself Claude'
  );
});

test('a purpose is shown without control characters, and cut', () => {
  expect(wording.formatPurpose(makeProposal([], { message: 'why\u202E\n?' }))).toBe('why?');
  expect(wording.formatPurpose(makeProposal([], { message: 'x'.repeat(300) }))).toHaveLength(200);
  expect(wording.formatPurpose(makeProposal([]))).toBe('');
});

test('a cell in the way is that of the part with its id, or with its index where it has none', () => {
  const part = makeChangedPart('a', 3);
  expect(wording.isConflictOf({ cell_id: 'a', index: null, why: 'gone' }, part)).toBe(true);
  expect(wording.isConflictOf({ cell_id: 'b', index: 3, why: 'changed' }, part)).toBe(false);
  expect(wording.isConflictOf({ cell_id: null, index: 3, why: 'changed' }, part)).toBe(true);
});

test('what is unusual about accepting a part is said, and whether its text changes', () => {
  const part = makeChangedPart('a', 0, { before: makeCellState('a'), after: makeCellState('b') });
  const describe = (kind: OutcomeKind, diff = part, canDecide = true) =>
    wording.describeOutcome({ kind, diff }, false, canDecide, trans);
  expect(describe('as-proposed')).toBe('');
  expect(describe('merged')).toContain('Both changes fit together; this is the cell with both.');
  const move = { ...part, after: part.before, index: 1, moved: true };
  expect(describe('merged', move)).toContain('Its text stays as it is.');
  expect(describe('conflict')).toContain('Theirs overwrites these lines.');
  expect(describe('conflict', { ...part, after: null })).toContain('Theirs deletes it.');
  expect(describe('gone')).toBe('The cell is gone.');
  expect(describe('conflict', part, false)).toBe('The cell has changed since this was proposed.');
});
