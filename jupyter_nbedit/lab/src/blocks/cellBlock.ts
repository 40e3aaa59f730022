import { Widget } from '@lumino/widgets';
import type { DiffView } from '../ui/diffView';
import {
  appendSentence,
  makeDecisionButton,
  makeElement,
  setEnabled,
  showAlert,
  showText
} from '../ui/elements';

/** A button of a block or bar. */
export interface BlockAction {
  readonly label: string;
  /** The accessible name, which does not depend on the surroundings. */
  readonly name: string;
  /** The keys for keep and accept run `accept`, the keys for undo and reject run `reject`. */
  readonly kind: 'accept' | 'reject' | 'other';
  readonly run: () => void;
}

/** What a block shows. */
export interface BlockContent {
  /** Who has changed the cell, or wants to. */
  readonly actor: string;
  /** What the actor does or did, as a sentence with the actor and without a point. */
  readonly title: string;
  /** What else is known of the actor. */
  readonly identity: string;
  /** Why, or ''. */
  readonly purpose: string;
  /** Null if there is no text to compare. */
  readonly diff: DiffView | null;
  readonly actions: readonly BlockAction[];
}

/** The class of all blocks; shortcuts name it as their selector. */
export const BLOCK_CLASS = 'jp-nbedit-block';

/** A change shown at its cell, with buttons that decide on it. */
export class CellBlock extends Widget {
  constructor(content: BlockContent) {
    super();
    this.addClass(BLOCK_CLASS);
    const { node } = this;
    appendSentence(this._title, content.title, content.actor);
    this._title.title = content.identity;
    this.name = content.title;
    const head = makeElement('div', 'jp-nbedit-block-head');
    this.purpose = content.purpose;
    head.append(this._title, this._purpose, this._actionBox);
    showAlert(this._notice, []);
    node.append(head, this._notice, this.details);
    node.tabIndex = -1;
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', this.name);
    suppressShortcuts(node);
    node.addEventListener('focusin', ({ target }) => suppressShortcuts(target as HTMLElement));
    this.diff = content.diff;
    this.actions = content.actions;
  }

  /** The title as a text. */
  readonly name: string;

  /** An element below the notice for other content. */
  readonly details = makeElement('div', 'jp-nbedit-block-details');

  override dispose(): void {
    this._diff?.dispose();
    super.dispose();
  }

  /** Why the cell was changed, or ''; '' if the bar says it for all. */
  set purpose(text: string) {
    showText(this._purpose, text);
  }

  get diff(): DiffView | null {
    return this._diff;
  }

  /** Show another diff; the previous one is disposed. */
  set diff(diff: DiffView | null) {
    this._diff?.dispose();
    this._diff = diff;
    if (diff !== null) {
      this.node.append(diff.node);
    }
  }

  /** Move the focus to it, or to where the user types in it. */
  takeFocus(): void {
    this.node.focus({ preventScroll: true });
  }

  /** Whether the focus is in the text of the diff. */
  get hasFocusInDiff(): boolean {
    return this._diff?.node.contains(document.activeElement) ?? false;
  }

  /** Show these actions; buttons of actions that were shown before stay. */
  set actions(actions: readonly BlockAction[]) {
    const isSame = listNames(actions) === listNames(this._actions);
    this._actions = actions;
    if (isSame) {
      return;
    }
    const hadFocus = this._actionBox.contains(document.activeElement);
    this._buttons = actions.map((action, index) =>
      makeActionButton({ ...action, run: () => this._actions[index]?.run() })
    );
    this._actionBox.replaceChildren(...this._buttons);
    if (hadFocus) {
      this.node.focus({ preventScroll: true });
    }
  }

  /** Return whether there is an action of a kind. */
  hasAction(kind: BlockAction['kind']): boolean {
    return this._actions.some(action => action.kind === kind);
  }

  /** Run the action of a kind, if there is an enabled action of it. */
  runAction(kind: BlockAction['kind']): void {
    this._buttons[this._actions.findIndex(action => action.kind === kind)]?.click();
  }

  /** Whether its buttons are enabled. */
  set isEnabled(isEnabled: boolean) {
    setEnabled(this._buttons, isEnabled);
  }

  /** Why something cannot be done, or ''. */
  set notice(text: string) {
    showAlert(this._notice, [text]);
  }

  /** Whether the user is at this block. */
  set isCurrent(isCurrent: boolean) {
    this.toggleClass('jp-mod-current', isCurrent);
    if (isCurrent) {
      this.node.setAttribute('aria-current', 'true');
    } else {
      this.node.removeAttribute('aria-current');
    }
  }

  private _actions: readonly BlockAction[] = [];
  private _buttons: readonly HTMLButtonElement[] = [];
  private _diff: DiffView | null = null;
  private readonly _title = makeElement('div', 'jp-nbedit-block-title');
  private readonly _purpose = makeElement('div', 'jp-nbedit-purpose');
  private readonly _actionBox = makeElement('div', 'jp-nbedit-actions');
  private readonly _notice = makeElement('div', 'jp-nbedit-notice');
}

/**
 * Let keys that are pressed in an element not reach the cell: one of them would delete it.
 *
 * JupyterLab looks for shortcuts at the element with the focus before it looks at its parents.
 */
export function suppressShortcuts({ dataset }: HTMLElement): void {
  dataset.lmSuppressShortcuts = 'true';
}

/** Return a text that differs if actions need other buttons. */
export function listNames(actions: readonly BlockAction[]): string {
  return JSON.stringify(actions.map(({ label, name }) => [label, name]));
}

/** Make the button of an action. */
export function makeActionButton({ label, name, kind, run }: BlockAction): HTMLButtonElement {
  return makeDecisionButton(label, name, kind === 'accept' ? 'accept' : 'reject', run);
}
