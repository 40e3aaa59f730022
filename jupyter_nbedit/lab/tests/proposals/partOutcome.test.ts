import { expect, test } from 'vitest';
import { computeOutcome, isEditable } from '../../src/proposals/partOutcome';
import type { TabCell } from '../../src/proposals/proposalPartPosition';
import {
  makeCellState,
  makeChangedPart,
  makeDeletePart,
  makeInsertPart,
  type ProposedPart
} from './parts';

const part = makeChangedPart('c', 0, {
  before: makeCellState('a\nb\nc'),
  after: makeCellState('a\nb\nC')
});

function makeCell(source: string, type = 'code'): TabCell {
  return { id: 'c', type, source };
}

function compute(changed: ProposedPart, cell: TabCell | undefined) {
  const { kind, diff } = computeOutcome(changed, 'changed', cell);
  return { kind, before: diff.before?.source ?? null, after: diff.after?.source ?? null };
}

test('a cell that nobody has changed becomes what is proposed', () => {
  expect(computeOutcome(part, 'as-proposed', makeCell('a\nb\nc'))).toEqual({
    kind: 'as-proposed',
    diff: part
  });
  const insert = makeInsertPart('n', 1);
  expect(computeOutcome(insert, 'as-proposed', makeCell('beside')).diff).toBe(insert);
});

test('a cell that has changed elsewhere gets both changes', () => {
  expect(compute(part, makeCell('A\nb\nc'))).toEqual({
    kind: 'merged',
    before: 'A\nb\nc',
    after: 'A\nb\nC'
  });
});

test('a cell that has changed at the same lines would get those of the proposal', () => {
  expect(compute(part, makeCell('first\na\nb\nmine'))).toEqual({
    kind: 'conflict',
    before: 'first\na\nb\nmine',
    after: 'first\na\nb\nC'
  });
});

test('a cell of which somebody has changed the type keeps it, and the user decides', () => {
  const outcome = computeOutcome(part, 'changed', makeCell('a\nb\nc', 'markdown'));
  expect(outcome.kind).toBe('conflict');
  expect(outcome.diff.after).toMatchObject({ cell_type: 'markdown', source: 'a\nb\nC' });
});

test('a cell that has changed is not deleted without asking', () => {
  const outcome = computeOutcome(makeDeletePart('c', 0), 'changed', makeCell('mine'));
  expect(outcome).toMatchObject({ kind: 'conflict', diff: { after: null } });
  expect(outcome.diff.before?.source).toBe('mine');
  expect(isEditable(outcome)).toBe(false);
});

test('the text for a cell that is gone is what was proposed', () => {
  const outcome = computeOutcome(part, 'gone', makeCell('another'));
  expect(outcome).toEqual({ kind: 'gone', diff: part });
  expect(isEditable(outcome)).toBe(false);
});

test('a changed or new cell can be edited before it is accepted, a moved one cannot', () => {
  expect(isEditable(computeOutcome(part, 'as-proposed', makeCell('a\nb\nc')))).toBe(true);
  const move = makeChangedPart('c', 0, { after: makeCellState('c'), index: 1, moved: true });
  expect(isEditable(computeOutcome(move, 'as-proposed', makeCell('c')))).toBe(false);
  const insert = makeInsertPart('n', 1);
  expect(isEditable(computeOutcome(insert, 'as-proposed', undefined))).toBe(true);
});
