import type { TranslationBundle } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { makeDecisionButton, makeElement, setEnabled, showText } from '../ui/elements';

/** The actions of the buttons. */
export interface BarActions {
  readonly acceptAll: () => void;
  readonly rejectAll: () => void;
  readonly goToNext: () => void;
}

/** The bar above a notebook with proposals. */
export class ReviewBar extends Widget {
  constructor({ acceptAll, rejectAll, goToNext }: BarActions, trans: TranslationBundle) {
    super();
    this.addClass('jp-nbedit-review-bar');
    this._decisions = [
      makeDecisionButton(
        trans.__('Reject all'),
        trans.__('Reject all proposed changes'),
        'reject',
        rejectAll
      ),
      makeDecisionButton(
        trans.__('Accept all'),
        trans.__('Accept all proposed changes'),
        'accept',
        acceptAll
      )
    ];
    const actions = makeElement('div', 'jp-nbedit-actions');
    actions.append(
      makeDecisionButton(
        trans.__('Next'),
        trans.__('Go to the next proposed change'),
        'reject',
        goToNext
      )
    );
    actions.append(...this._decisions);
    this._summary.setAttribute('role', 'status');
    this._notice.setAttribute('role', 'alert');
    showText(this._notice, '');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Proposed changes'));
    this._content.append(this._summary, this._purpose, this._notice, actions);
    this.node.append(this._content);
    this._observer.observe(this._content);
  }

  override dispose(): void {
    this._observer.disconnect();
    super.dispose();
  }

  /** Show or hide the bar; the layout is updated when this returns. */
  setShown(isShown: boolean): void {
    this.setHidden(!isShown);
    this._updateHeight();
  }

  /** Show what is proposed, and why. */
  describe(summary: string, purpose: string): void {
    showText(this._summary, summary);
    showText(this._purpose, purpose);
  }

  set isEnabled(isEnabled: boolean) {
    setEnabled(this._decisions, isEnabled);
  }

  /** What went wrong, or ''. */
  set notice(text: string) {
    showText(this._notice, text);
  }

  /**
   * Set the height that the content needs at this width, because the layout does not measure it.
   */
  private _updateHeight(): void {
    const { node, parent } = this;
    if (this.isHidden || parent === null) {
      return;
    }
    const border = node.offsetHeight - node.clientHeight;
    const height = `${this._content.offsetHeight + border}px`;
    if (node.style.minHeight !== height) {
      node.style.minHeight = height;
      MessageLoop.sendMessage(parent, Widget.Msg.FitRequest);
    }
  }

  private readonly _observer = new ResizeObserver(() => this._updateHeight());
  private readonly _decisions: HTMLButtonElement[];
  private readonly _content = makeElement('div', 'jp-nbedit-review-content');
  private readonly _summary = makeElement('div', 'jp-nbedit-review-summary');
  private readonly _purpose = makeElement('div', 'jp-nbedit-proposal-purpose');
  private readonly _notice = makeElement('div', 'jp-nbedit-notice');
}
