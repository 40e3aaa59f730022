import { Widget } from '@lumino/widgets';
import { suppressShortcuts } from './cellBlock';
import {
  keepFocus,
  makeButton,
  makeElement,
  setEnabled,
  showAlert,
  showText
} from '../ui/elements';

/** A button of a line. */
export interface LineAction {
  readonly label: string;
  readonly run: () => void;
}

/** A thin line between cells: what was changed there has no cell. */
export class ChangeLine extends Widget {
  constructor() {
    super();
    this.addClass('jp-nbedit-line');
    this.node.setAttribute('role', 'group');
    showAlert(this._notice, []);
    this.node.append(this._text, this._notice);
  }

  /** Show these actions, before the text is set; buttons that were shown before stay. */
  set actions(actions: readonly LineAction[]) {
    const isSame = listLabels(actions) === listLabels(this._actions);
    this._actions = actions;
    if (isSame) {
      return;
    }
    const hadFocus = this._buttons.some(button => button === document.activeElement);
    this._buttons.forEach(button => button.remove());
    this._buttons = actions.map(({ label }, index) => {
      const button = makeButton(label, () => this._actions[index]?.run());
      suppressShortcuts(button);
      keepFocus(button);
      return button;
    });
    this._notice.before(...this._buttons);
    if (hadFocus) {
      this._buttons[0]?.focus({ preventScroll: true });
    }
  }

  /** What was done. */
  set text(text: string) {
    showText(this._text, text);
    this.node.setAttribute('aria-label', text);
    this._buttons.forEach(button =>
      button.setAttribute('aria-label', `${button.textContent}: ${text}`)
    );
  }

  /** Whether the block that the first button shows is open. */
  set isOpen(isOpen: boolean) {
    this._buttons[0]?.setAttribute('aria-expanded', `${isOpen}`);
  }

  /** Why something was not done, or ''. */
  set notice(text: string) {
    showAlert(this._notice, [text]);
  }

  /** Whether its buttons are enabled. */
  set isEnabled(isEnabled: boolean) {
    setEnabled(this._buttons, isEnabled);
  }

  private readonly _text = makeElement('span', 'jp-nbedit-line-text');
  private readonly _notice = makeElement('span', 'jp-nbedit-notice');
  private _actions: readonly LineAction[] = [];
  private _buttons: readonly HTMLButtonElement[] = [];
}

function listLabels(actions: readonly LineAction[]): string {
  return JSON.stringify(actions.map(({ label }) => label));
}
