import { Widget } from '@lumino/widgets';
import { suppressShortcuts } from '../blocks/cellBlock';
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
  constructor(actions: readonly LineAction[]) {
    super();
    this.addClass('jp-nbedit-line');
    this.node.setAttribute('role', 'group');
    this._buttons = actions.map(({ label, run }) => {
      const button = makeButton(label, run);
      suppressShortcuts(button);
      keepFocus(button);
      return button;
    });
    showAlert(this._notice, []);
    this.node.append(this._text, ...this._buttons, this._notice);
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
  private readonly _buttons: readonly HTMLButtonElement[];
}
