import type { TranslationBundle } from '@jupyterlab/translation';
import { caretDownIcon, caretRightIcon } from '@jupyterlab/ui-components';
import type { HistoryEdit } from '../server/models';
import { makeAge } from '../ui/age';
import { makeElement, makeIcon, showAlert } from '../ui/elements';
import type { RowEdits } from './editGroups';
import type { EditAction } from './historyModel';

/** What arrow keys reach in the list of edits: a heading, or a row. */
export interface ListItem {
  readonly node: HTMLElement;
  /** Opens and closes the item. */
  readonly toggle: HTMLButtonElement;
  readonly isOpen: boolean;
  setOpen(isOpen: boolean): void;
  /** Put the item into the tab order, or remove it. */
  setReachable(isReachable: boolean): void;
}

/** What a row needs from its list. */
export interface RowHost {
  readonly trans: TranslationBundle;
  /** Whether each row shows the path of its notebook. */
  readonly showsPath: boolean;
  /**
   * Show the cell diffs of an edit in an element; return a function that removes them.
   *
   * @param onShown Called when they are shown.
   */
  showDetail(edit: HistoryEdit, element: HTMLElement, onShown: () => void): () => void;
  /** Return what the user can do to an edit, or null. */
  findAction(edit: HistoryEdit): EditAction;
  /**
   * Undo or redo an edit. Return null if that succeeded, or else the reasons, one in each line; no
   * reason if the user has cancelled it.
   */
  undoOrRedo(edit: HistoryEdit, action: 'undo' | 'redo'): Promise<readonly string[] | null>;
}

/** A row that a click opens, with buttons for what can be done to its edits. */
export abstract class ListRow implements ListItem {
  readonly node = makeElement('li', 'jp-nbedit-edit');
  readonly toggle = makeElement('button', 'jp-nbedit-edit-toggle');

  constructor(
    private _edits: RowEdits,
    protected readonly host: RowHost
  ) {
    this.toggle.type = 'button';
    this.toggle.tabIndex = -1;
    this.toggle.addEventListener('click', () => this.setOpen(!this.isOpen));
  }

  get edits(): RowEdits {
    return this._edits;
  }

  set edits(edits: RowEdits) {
    // Each reply makes new objects for the same edits.
    if (JSON.stringify(edits) !== JSON.stringify(this._edits)) {
      this._edits = edits;
      this.render();
    }
  }

  abstract get isOpen(): boolean;

  abstract setOpen(isOpen: boolean): void;

  setReachable(isReachable: boolean): void {
    for (const control of [this.toggle, ...this.actions]) {
      control.tabIndex = isReachable ? 0 : -1;
    }
  }

  abstract dispose(): void;

  /** The buttons of the row. */
  protected abstract readonly actions: readonly HTMLButtonElement[];

  protected abstract render(): void;

  /** Put the row together; `content` is what it shows when it is open. */
  protected build(content: HTMLElement): void {
    const head = makeElement('div', 'jp-nbedit-edit-head');
    head.append(this.toggle, ...this.actions);
    this.node.append(head, this._problem, content);
    this.render();
  }

  /** Show the state of the row, and its lines in the button that opens it. */
  protected renderToggle(...lines: readonly HTMLElement[]): void {
    this.node.classList.toggle('jp-mod-open', this.isOpen);
    this.toggle.setAttribute('aria-expanded', `${this.isOpen}`);
    const box = makeElement('span', 'jp-nbedit-edit-lines');
    box.append(...lines);
    this.toggle.replaceChildren(makeIcon(this.isOpen ? caretDownIcon : caretRightIcon), box);
  }

  protected makeAge(): HTMLTimeElement {
    return makeAge('jp-nbedit-edit-time', this._edits[0].time);
  }

  /** Undo or redo edits unless the row is busy with that; end at the first that fails. */
  protected async undoOrRedo(
    edits: readonly HistoryEdit[],
    action: 'undo' | 'redo'
  ): Promise<void> {
    if (this._isBusy) {
      return;
    }
    this._isBusy = true;
    showAlert(this._problem, []);
    this.node.setAttribute('aria-busy', 'true');
    for (const edit of edits) {
      const problems = await this.host.undoOrRedo(edit, action);
      if (problems !== null) {
        showAlert(this._problem, problems);
        break;
      }
    }
    this.node.removeAttribute('aria-busy');
    this._isBusy = false;
  }

  private readonly _problem = makeElement('div', 'jp-nbedit-error');
  private _isBusy = false;
}
