import type { TabCell } from '../../src/proposals/proposalPartPosition';
import type { CellDiff, CellState, Proposal, ProposedPart } from '../../src/server/models';

export function makeCellState(source: string, more: Partial<CellState> = {}): CellState {
  return { cell_type: 'code', source, metadata: {}, ...more };
}

/** A part as the server tells of it; pending, and of nothing unless said otherwise. */
export function makePart(more: Partial<ProposedPart>): ProposedPart {
  return {
    part: 0,
    cell_id: null,
    index_before: null,
    index: null,
    moved: false,
    outputs_cleared: false,
    before: null,
    after: null,
    status: 'pending',
    reason: null,
    edit_id: null,
    cell_above: null,
    cell_below: null,
    ...more
  };
}

export function makeInsertPart(id: string, index: number, more: Partial<ProposedPart> = {}) {
  return makePart({ cell_id: id, index, after: makeCellState(`new ${id}`), ...more });
}

export function makeDeletePart(id: string, index: number, more: Partial<ProposedPart> = {}) {
  return makePart({ cell_id: id, index_before: index, before: makeCellState(id), ...more });
}

export function makeChangedPart(
  id: string | null,
  index: number,
  more: Partial<ProposedPart> = {}
) {
  const before = makeCellState(id ?? 'text');
  const places = { cell_id: id, index_before: index, index };
  return makePart({ ...places, before, after: makeCellState('other'), ...more });
}

export function makeProposal(
  parts: readonly ProposedPart[],
  more: Partial<Proposal> = {}
): Proposal {
  return {
    proposal_id: 1,
    path: 'a.ipynb',
    kind: 'edit',
    status: 'pending',
    created: '2026-11-21T09:00:00Z',
    expires: '2026-11-22T09:00:00Z',
    user: 'alice',
    client: 'Claude',
    message: null,
    hash_before: null,
    language: null,
    operations: [],
    truncated: false,
    diff: '',
    parts,
    edit_ids: [],
    decided_by: null,
    reason: null,
    ...more
  };
}

/** Code cells whose ids are their sources. */
export function makeCells(...ids: string[]): TabCell[] {
  return ids.map(id => ({ id, type: 'code', source: id }));
}

export type { CellDiff, Proposal, ProposedPart };
