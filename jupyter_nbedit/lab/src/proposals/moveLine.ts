import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { BlockPosition } from '../blocks/blockPosition';
import type { Proposal, ProposedPart } from '../server/models';
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
