import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { Proposal, ProposedPart } from '../server/models';
import type { DiffView } from '../ui/diffView';
import { makeDecisionButton, makeElement, setEnabled, showText } from '../ui/elements';
import { describeIdentity, describePart, formatPurpose, getProposer } from './wording';

/** Handles a click on one of the buttons. */
export type OnDecision = (isAccepted: boolean) => void;

/** One part of a proposal, shown at its cell with two buttons. */
export class ProposalBlock extends Widget {
  /**
   * @param _diffView The diff, or null if there is no text to compare.
   * @param returnFocus Moves the focus back to the notebook.
   */
  constructor(
    proposal: Proposal,
    part: ProposedPart,
    private readonly _diffView: DiffView | null,
    decide: OnDecision,
    returnFocus: () => void,
    trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-nbedit-proposal');
    const { node } = this;
    const title = makeElement('div', 'jp-nbedit-proposal-title');
    title.append(
      makeElement('strong', '', getProposer(proposal, trans)),
      ` ${describePart(part, trans)}`
    );
    title.title = describeIdentity(proposal, trans);
    const name = title.textContent;
    this._buttons = [
      makeDecisionButton(trans.__('Reject'), trans.__('Reject: %1', name), 'reject', () =>
        decide(false)
      ),
      makeDecisionButton(trans.__('Accept'), trans.__('Accept: %1', name), 'accept', () =>
        decide(true)
      )
    ];
    const actions = makeElement('div', 'jp-nbedit-actions');
    actions.append(...this._buttons);
    const head = makeElement('div', 'jp-nbedit-proposal-head');
    const purposeText = makeElement('div', 'jp-nbedit-proposal-purpose', formatPurpose(proposal));
    head.append(title, purposeText, actions);
    this._notice.setAttribute('role', 'alert');
    showText(this._notice, '');
    node.append(head, this._notice, ...(_diffView === null ? [] : [_diffView.node]));
    node.tabIndex = -1;
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', name);
    // Keys pressed here must not reach the cell: one of them would delete it.
    node.dataset.lmSuppressShortcuts = 'true';
    node.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        returnFocus();
      }
    });
  }

  override dispose(): void {
    this._diffView?.dispose();
    super.dispose();
  }

  /** Whether its buttons are enabled. */
  set isEnabled(isEnabled: boolean) {
    setEnabled(this._buttons, isEnabled);
  }

  /** Why it cannot be accepted, or ''. */
  set notice(text: string) {
    showText(this._notice, text);
  }

  private readonly _buttons: HTMLButtonElement[];
  private readonly _notice = makeElement('div', 'jp-nbedit-notice');
}
