import type { ShownCell } from '../../src/review/partPosition';
import type { Part, Proposal, ProposalPart, Version } from '../../src/server/models';

export function version(source: string, more: Partial<Version> = {}): Version {
  return { cell_type: 'code', source, metadata: {}, ...more };
}

/** A part as the server tells of it; pending, and of nothing unless said otherwise. */
export function part(more: Partial<ProposalPart>): ProposalPart {
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
    ...more
  };
}

export function inserted(id: string, index: number, more: Partial<ProposalPart> = {}) {
  return part({ cell_id: id, index, after: version(`new ${id}`), ...more });
}

export function deleted(id: string, index: number, more: Partial<ProposalPart> = {}) {
  return part({ cell_id: id, index_before: index, before: version(id), ...more });
}

export function changed(id: string | null, index: number, more: Partial<ProposalPart> = {}) {
  const before = version(id ?? 'text');
  const places = { cell_id: id, index_before: index, index };
  return part({ ...places, before, after: version('other'), ...more });
}

export function proposal(parts: readonly ProposalPart[], more: Partial<Proposal> = {}): Proposal {
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
    ...more
  };
}

/** Code cells whose ids are their sources. */
export function cells(...ids: string[]): ShownCell[] {
  return ids.map(id => ({ id, type: 'code', source: id }));
}

export type { Part, Proposal, ProposalPart };
