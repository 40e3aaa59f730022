import type { HistoryEdit } from '../../src/server/models';

/** An edit of the history that changed the third cell, but for what is given. */
export function makeEdit(id: number, given: Partial<HistoryEdit> = {}): HistoryEdit {
  return {
    edit_id: id,
    time: '2026-11-21T09:30:00Z',
    path: 'a.ipynb',
    kind: 'edit',
    user: 'anna',
    client: null,
    message: null,
    accepted_by: null,
    is_from_page: false,
    operations: [{ op: 'replace', cell_id: 'c', index: 2 }],
    truncated: false,
    cells_changed: 1,
    hash_before: '0',
    hash: '1',
    applied_via: 'file',
    total_cells: 5,
    cells_delta: 0,
    undoes: null,
    undone_by: null,
    undoable: true,
    lines_added: 1,
    lines_removed: 1,
    snippet: 'x = 1',
    ...given
  };
}
