import type { Proposal, ProposalPart } from '../answers';
import type { Block } from './block';
import { isInsert, type Place } from './places';

/** A part of a proposal, as it is shown in one view of the notebook. */
export interface Entry {
  proposal: Proposal;
  part: ProposalPart;
  place: Place;
  /** The MIME type of the notebook's code when its difference was drawn. */
  readonly language: string;
  /** Null while its difference is being drawn. */
  block: Block | null;
  /** Comes when that is drawn. */
  made: Promise<void>;
  /** Why it was not accepted, and what the tab had of the cell then. */
  refused: { readonly text: string; readonly source: string | null } | null;
  isBusy: boolean;
}

/** What a part is known by. */
export function keyOf({ proposal, part }: Pick<Entry, 'proposal' | 'part'>): string {
  return `${proposal.proposal_id}/${part.part}`;
}

/** The entries in the order in which they are shown. */
export function inOrder(
  entries: ReadonlyMap<string, Entry>
): { readonly key: string; readonly entry: Entry }[] {
  const height = ({ cell, side }: Place): number => 2 * cell + (side === 'above' ? 0 : 1);
  return [...entries]
    .map(([key, entry]) => ({ key, entry }))
    .sort(
      ({ entry: a }, { entry: b }) =>
        height(a.place) - height(b.place) ||
        Number(isInsert(a.part)) - Number(isInsert(b.part)) ||
        a.proposal.proposal_id - b.proposal.proposal_id ||
        (a.part.index ?? 0) - (b.part.index ?? 0)
    );
}
