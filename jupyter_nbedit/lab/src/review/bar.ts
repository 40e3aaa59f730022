import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { make } from '../elements';
import { button, enable, tell } from './elements';

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
      button(trans.__('Reject all'), trans.__('Reject all proposed changes'), 'reject', rejectAll),
      button(trans.__('Accept all'), trans.__('Accept all proposed changes'), 'accept', acceptAll)
    ];
    const actions = make('div', 'jp-nbedit-actions');
    actions.append(
      button(trans.__('Next'), trans.__('Go to the next proposed change'), 'reject', next)
    );
    actions.append(...this._decisions);
    this._summary.setAttribute('role', 'status');
    this._notice.setAttribute('role', 'alert');
    tell(this._notice, '');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Proposed changes'));
    this.node.append(this._summary, this._purpose, this._notice, actions);
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

  private readonly _decisions: HTMLButtonElement[];
  private readonly _summary = make('div', 'jp-nbedit-summary');
  private readonly _purpose = make('div', 'jp-nbedit-purpose');
  private readonly _notice = make('div', 'jp-nbedit-notice');
}
