import { expect, test } from 'vitest';
import { NbEditError } from '../../src/server/client';
import { undoEdits } from '../../src/server/undoEdits';

function makeError(reason: string, details: object = {}): Error {
  return Object.assign(new Error(`It says ${reason}.`), { reason, details });
}

const explain = (error: unknown): string => (error as Error).message;

/** A server that refuses what is in `refusals`, and the edits it was asked to undo. */
function server(refusals: Record<number, Error> = {}): {
  asked: number[];
  undo: (edit: number) => Promise<void>;
} {
  const asked: number[] = [];
  const undo = async (edit: number): Promise<void> => {
    asked.push(edit);
    await Promise.resolve();
    if (refusals[edit] !== undefined) {
      throw refusals[edit];
    }
  };
  return { asked, undo };
}

test('edits are undone one after the other, newest first', async () => {
  const { asked, undo } = server();
  expect(await undoEdits([3, 5, 9], undo, explain)).toEqual({
    requestedCount: 3,
    undoneCount: 3,
    conflictingCells: [],
    hasMetadataConflict: false,
    failure: null,
    isCancelled: false
  });
  expect(asked).toEqual([9, 5, 3]);
});

test('one whose cells were changed since stays, and those before it are tried', async () => {
  const cell = { cell_id: 'a', index: 1, why: 'changed' };
  const { asked, undo } = server({
    9: makeError('undo_conflict', { edit_id: 9, cells: [cell], metadata: [] }),
    5: makeError('undo_conflict', { edit_id: 5, cells: [], metadata: ['title'] })
  });
  expect(await undoEdits([3, 5, 9], undo, explain)).toEqual({
    requestedCount: 3,
    undoneCount: 1,
    conflictingCells: [cell],
    hasMetadataConflict: true,
    failure: null,
    isCancelled: false
  });
  expect(asked).toEqual([9, 5, 3]);
});

test('one that somebody else has undone counts as undone', async () => {
  const { undo } = server({ 9: makeError('nothing_to_undo') });
  expect(await undoEdits([9], undo, explain)).toMatchObject({
    requestedCount: 1,
    undoneCount: 1,
    failure: null,
    isCancelled: false
  });
});

test('any other refusal ends it, and is told', async () => {
  const { asked, undo } = server({ 5: makeError('plan_mode') });
  expect(await undoEdits([3, 5, 9], undo, explain)).toMatchObject({
    undoneCount: 1,
    failure: 'It says plan_mode.'
  });
  expect(asked).toEqual([9, 5]);
});

test('a conflict that does not say with what is told as any other refusal', async () => {
  const { undo } = server({ 5: makeError('undo_conflict') });
  expect(await undoEdits([5], undo, explain)).toMatchObject({ failure: 'It says undo_conflict.' });
});

test('it ends where its user cancels, and that is no failure', async () => {
  const { asked, undo } = server({ 5: new NbEditError(0, 'undo_cancelled', 'It says so.') });
  expect(await undoEdits([3, 5, 9], undo, explain)).toMatchObject({
    undoneCount: 1,
    failure: null,
    isCancelled: true
  });
  expect(asked).toEqual([9, 5]);
});
