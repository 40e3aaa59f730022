import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { comparePositions, type BlockPosition } from '../blocks/blockPosition';
import type { Proposal, ProposedPart } from '../server/models';
import type { PartOutcome } from './partOutcome';
import type { ProposalBlock } from './proposalBlock';
import { isInsert, type PartPosition } from './proposalPartPosition';
import { getProposer } from './wording';

/** A line where a cell is to be moved. */
export class MoveLine extends Widget {
  position: BlockPosition = { cell: 0, side: 'above' };

  constructor(proposal: Proposal, { index_before: index }: ProposedPart, trans: TranslationBundle) {
    super();
    this.addClass('jp-nbedit-move-line');
    this.node.setAttribute('role', 'note');
    this.node.textContent = trans.__(
      '%1 proposes to move cell %2 here',
      getProposer(proposal, trans),
      (index ?? 0) + 1
    );
  }
}

/** A part of a proposal as shown in one view of the notebook. */
export class ShownPart {
  /**
   * @param outcome What accepting it makes of its cell.
   * @param standsForCell Whether the block replaces the cell on the page and also shows its text.
   * @param editedSource The source as the user has edited it, or null.
   */
  constructor(
    public proposal: Proposal,
    public part: ProposedPart,
    public position: PartPosition,
    public outcome: PartOutcome,
    public standsForCell: boolean,
    public editedSource: string | null
  ) {}

  /** Whether the editor for it has got the focus. */
  hasEditor = false;
  /** The reason that the user was typing when the block was removed, or null. */
  reason: string | null = null;
  /** Where the caret was in the text of the block that was removed, or null. */
  caret: number | null = null;
  /** Whether the user wants to see a cell that a block stands for. */
  isCellShown = false;
  /** What the diff looks like that is drawn, or being drawn. */
  drawnKey = '';
  /** Null while the diff is being drawn. */
  block: ProposalBlock | null = null;
  /** The line at the target of a move. */
  moveLine: MoveLine | null = null;
  /** Resolves when the diff is drawn. */
  whenDrawn = Promise.resolve();
  /** Why it was not accepted, and the source of the cell at that time. */
  problem: { readonly text: string; readonly source: string | null } | null = null;
  isBusy = false;
}

/** Return the key of a part. */
export function getPartKey({ proposal, part }: Pick<ShownPart, 'proposal' | 'part'>): string {
  return makePartKey(proposal.proposal_id, part.part);
}

/** Return the key of a part, by the number of its proposal and its own number. */
export function makePartKey(proposalId: number, part: number): string {
  return `proposal/${proposalId}/${part}`;
}

/** Return the parts in the order in which they are shown. */
export function sortParts(
  shownParts: ReadonlyMap<string, ShownPart>
): { readonly key: string; readonly shownPart: ShownPart }[] {
  return [...shownParts]
    .map(([key, shownPart]) => ({ key, shownPart }))
    .sort(
      ({ shownPart: a }, { shownPart: b }) =>
        comparePositions(a.position, b.position) ||
        rankInsert(a) - rankInsert(b) ||
        a.proposal.proposal_id - b.proposal.proposal_id ||
        (a.part.index ?? 0) - (b.part.index ?? 0)
    );
}

/** A new cell is shown on the outer side of the block of the cell beside it. */
function rankInsert({ part, position }: ShownPart): number {
  return isInsert(part) ? (position.side === 'above' ? -1 : 1) : 0;
}
