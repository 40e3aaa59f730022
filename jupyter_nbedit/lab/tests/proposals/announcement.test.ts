import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import { describeAnnouncement } from '../../src/proposals/wording';
import { isAboutOneNotebook } from '../../src/server/proposalModel';
import type { Proposal } from '../../src/server/models';
import { makeChangedPart, makeInsertPart, makeProposal } from './parts';

const trans = nullTranslator.load('jupyter_nbedit');

const PARTS = [makeChangedPart('a', 0), makeChangedPart('b', 1), makeInsertPart('c', 2)];

function announce(...proposals: readonly Proposal[]): string {
  return describeAnnouncement(proposals, trans);
}

test('an announcement says who proposes how much for which notebook, and why', () => {
  const message = 'Drop the test account';
  expect(announce(makeProposal(PARTS, { path: 'work/a.ipynb', message }))).toBe(
    'Claude proposes 3 changes to a.ipynb: Drop the test account'
  );
  expect(announce(makeProposal(PARTS.slice(0, 1)))).toBe('Claude proposes 1 change to a.ipynb');
});

test('changes that are decided already are not announced', () => {
  const parts = [makeChangedPart('a', 0, { status: 'rejected' }), ...PARTS.slice(1)];
  expect(announce(makeProposal(parts))).toBe('Claude proposes 2 changes to a.ipynb');
});

test('several proposals for a notebook are one announcement with the newest reason', () => {
  expect(
    announce(makeProposal(PARTS, { message: 'First' }), makeProposal(PARTS, { message: 'Second' }))
  ).toBe('Claude proposes 6 changes to a.ipynb: Second, and 1 more');
  expect(announce(makeProposal(PARTS), makeProposal(PARTS, { client: 'Codex' }))).toBe(
    'Claude and Codex propose 6 changes to a.ipynb'
  );
});

test('proposals for several notebooks are counted', () => {
  expect(announce(makeProposal(PARTS), makeProposal(PARTS, { path: 'b.ipynb' }))).toBe(
    'Claude proposes 6 changes in 2 notebooks'
  );
});

test('a new notebook is announced as one', () => {
  const proposal = makeProposal(PARTS, { kind: 'create', path: 'x/new.ipynb', message: 'Start' });
  expect(announce(proposal)).toBe('Claude proposes a new notebook, new.ipynb: Start');
  expect(isAboutOneNotebook([proposal])).toBe(false);
});

test('only proposals for one notebook that exists lead to that notebook', () => {
  const [first, second] = [makeProposal(PARTS), makeProposal(PARTS, { path: 'b.ipynb' })];
  expect(isAboutOneNotebook([first, first])).toBe(true);
  expect(isAboutOneNotebook([first, second])).toBe(false);
  expect(isAboutOneNotebook([])).toBe(false);
});

test('a long reason is cut to the length of a toast', () => {
  const message = 'A sentence that says why. '.repeat(9);
  const text = announce(makeProposal(PARTS, { path: `${'x'.repeat(90)}.ipynb`, message }));
  expect(text).toHaveLength(140);
  expect(text).toMatch(/^Claude proposes 3 changes to x+…: A sentence.*…$/);
});
