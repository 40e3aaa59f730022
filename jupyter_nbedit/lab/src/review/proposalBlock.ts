import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { Proposal, ProposalPart } from '../server/models';
import type { Comparison } from '../ui/diffView';
import { decisionButton, enable, make, tell } from '../ui/elements';
import { identity, intention, proposer, purpose } from './wording';

/** What a block does when one of its buttons is pressed. */
export type Decide = (isAccepted: boolean) => void;

/** One part of a proposal, shown at its cell with its two buttons. */
export class Block extends Widget {
  /**
   * @param comparison The difference, drawn already, or null if there is none to see.
   * @param leave Gives the focus back to the notebook.
   */
  constructor(
    proposal: Proposal,
    part: ProposalPart,
    private readonly _comparison: Comparison | null,
    decide: Decide,
    leave: () => void,
    trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-nbedit-proposal');
    const { node } = this;
    const title = make('div', 'jp-nbedit-proposal-title');
    title.append(make('strong', '', proposer(proposal, trans)), ` ${intention(part, trans)}`);
    title.title = identity(proposal, trans);
    const name = title.textContent;
    this._buttons = [
      decisionButton(trans.__('Reject'), trans.__('Reject: %1', name), 'reject', () =>
        decide(false)
      ),
      decisionButton(trans.__('Accept'), trans.__('Accept: %1', name), 'accept', () => decide(true))
    ];
    const actions = make('div', 'jp-nbedit-actions');
    actions.append(...this._buttons);
    const head = make('div', 'jp-nbedit-proposal-head');
    const why = make('div', 'jp-nbedit-purpose', purpose(proposal));
    head.append(title, why, actions);
    this._notice.setAttribute('role', 'alert');
    tell(this._notice, '');
    node.append(head, this._notice, ...(_comparison === null ? [] : [_comparison.node]));
    node.tabIndex = -1;
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', name);
    // Keys that are pressed here are not meant for the cell, which one of them would delete.
    node.dataset.lmSuppressShortcuts = 'true';
    node.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        leave();
      }
    });
  }

  override dispose(): void {
    this._comparison?.dispose();
    super.dispose();
  }

  /** Whether its buttons can be pressed. */
  set isEnabled(isEnabled: boolean) {
    enable(this._buttons, isEnabled);
  }

  /** What stands in the way of accepting it, or nothing. */
  set notice(text: string) {
    tell(this._notice, text);
  }

  private readonly _buttons: HTMLButtonElement[];
  private readonly _notice = make('div', 'jp-nbedit-notice');
}
