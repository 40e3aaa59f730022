import { expect, test } from 'vitest';
import { CellHistory } from '../../src/history/cellHistory';
import type { CellDiff, DetailedEdit, HistoryEdit } from '../../src/server/models';
import { makeEdit } from './edits';

const makePart = (id: string | null, before: string | null, after: string | null): CellDiff => ({
  part: 0,
  cell_id: id,
  index_before: 0,
  index: 0,
  moved: false,
  outputs_cleared: false,
  before: before === null ? null : { cell_type: 'code', source: before, metadata: {} },
  after: after === null ? null : { cell_type: 'code', source: after, metadata: {} }
});

const change = (cell_id: string | null) => [{ op: 'replace', cell_id, index: 0 }];

/** Return the ids of the edits that are found, and of those that were read in detail. */
async function trace(
  cell: { id: string | null; source: string },
  edits: readonly HistoryEdit[],
  parts: Readonly<Record<number, CellDiff[]>> = {}
): Promise<{ found: number[]; read: number[] }> {
  const read: number[] = [];
  const fetchEdit = (edit: HistoryEdit): Promise<DetailedEdit> => {
    read.push(edit.edit_id);
    return Promise.resolve({ ...edit, parts: parts[edit.edit_id] ?? [] });
  };
  const cellTrace = new CellHistory(cell, fetchEdit);
  await cellTrace.select(edits);
  const found = await cellTrace.select(edits);
  return { found: found.map(({ edit_id: id }) => id), read };
}

test('the edits of a cell with an id are found without reading them', async () => {
  const edits = [
    makeEdit(3, { operations: change('other') }),
    makeEdit(2, { operations: change('mine') }),
    makeEdit(1, { operations: change('mine') })
  ];
  expect(await trace({ id: 'mine', source: 'x' }, edits)).toEqual({ found: [2, 1], read: [] });
});

test('an edit of more cells than its entry lists is read, once', async () => {
  const edits = [
    makeEdit(2, { operations: change('other'), truncated: true }),
    makeEdit(1, { operations: change('other'), truncated: true })
  ];
  const parts = { 2: [makePart('mine', 'a', 'b')], 1: [makePart('third', 'a', 'b')] };
  expect(await trace({ id: 'mine', source: 'b' }, edits, parts)).toEqual({
    found: [2],
    read: [2, 1]
  });
});

test('a cell without an id is followed back by its text, up to the edit that added it', async () => {
  const edits = [5, 4, 3, 2, 1].map(id => makeEdit(id, { operations: change(null) }));
  const parts = {
    5: [makePart(null, 'b', 'c')],
    4: [makePart(null, 'c', 'other')],
    3: [makePart(null, 'a', 'b')],
    2: [makePart(null, null, 'a')],
    1: [makePart(null, null, 'a')]
  };
  expect(await trace({ id: null, source: 'c' }, edits, parts)).toEqual({
    found: [5, 3, 2],
    read: [5, 4, 3, 2]
  });
});
