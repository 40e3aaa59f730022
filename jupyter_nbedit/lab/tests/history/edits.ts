import type { HistoryEdit } from '../../src/server/models';
import { makeEdit as makeServerEdit } from '../server/unseenServer';

/** An edit of the history that changed the third cell, but for what is given. */
export function makeEdit(id: number, given: Partial<HistoryEdit> = {}): HistoryEdit {
  return makeServerEdit(id, {
    time: '2026-11-21T09:30:00Z',
    user: 'anna',
    client: null,
    operations: [{ op: 'replace', cell_id: 'c', index: 2 }],
    hash_before: '0',
    hash: '1',
    total_cells: 5,
    lines_added: 1,
    lines_removed: 1,
    snippet: 'x = 1',
    ...given
  });
}
