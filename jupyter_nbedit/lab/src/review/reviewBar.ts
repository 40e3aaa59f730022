import type { TranslationBundle } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { decisionButton, enable, make, tell } from '../ui/elements';

/** What the bar does when one of its buttons is pressed. */
export interface BarActions {
  readonly acceptAll: () => void;
  readonly rejectAll: () => void;
  readonly next: () => void;
}

/** The bar above a notebook for which something is proposed. */
export class ReviewBar extends Widget {
  constructor({ acceptAll, rejectAll, next }: BarActions, trans: TranslationBundle) {
    super();
    this.addClass('jp-nbedit-review-bar');
    this._decisions = [
      decisionButton(
        trans.__('Reject all'),
        trans.__('Reject all proposed changes'),
        'reject',
        rejectAll
      ),
      decisionButton(
        trans.__('Accept all'),
        trans.__('Accept all proposed changes'),
        'accept',
        acceptAll
      )
    ];
    const actions = make('div', 'jp-nbedit-actions');
    actions.append(
      decisionButton(trans.__('Next'), trans.__('Go to the next proposed change'), 'reject', next)
    );
    actions.append(...this._decisions);
    this._summary.setAttribute('role', 'status');
    this._notice.setAttribute('role', 'alert');
    tell(this._notice, '');
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

  /** Show or hide the bar; what is around it has its place when this returns. */
  setShown(isShown: boolean): void {
    this.setHidden(!isShown);
    this._fit();
  }

  /** Say what is proposed, and why. */
  describe(summary: string, purpose: string): void {
    tell(this._summary, summary);
    tell(this._purpose, purpose);
  }

  set isEnabled(isEnabled: boolean) {
    enable(this._decisions, isEnabled);
  }

  /** What went wrong, or nothing. */
  set notice(text: string) {
    tell(this._notice, text);
  }

  /** Take the height that the lines need in this width: the layout around it asks for no other. */
  private _fit(): void {
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

  private readonly _observer = new ResizeObserver(() => this._fit());
  private readonly _decisions: HTMLButtonElement[];
  private readonly _content = make('div', 'jp-nbedit-review-content');
  private readonly _summary = make('div', 'jp-nbedit-summary');
  private readonly _purpose = make('div', 'jp-nbedit-purpose');
  private readonly _notice = make('div', 'jp-nbedit-notice');
}
