import { Time } from '@jupyterlab/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';
import {
  addIcon,
  caretDownIcon,
  caretRightIcon,
  redoIcon,
  undoIcon,
  type LabIcon
} from '@jupyterlab/ui-components';
import type { Edit } from '../server/models';
import { iconButton, make, picture } from '../ui/elements';
import { actionOf } from './historyModel';
import { ago, identityOf, messageOf, pathOf, titleOf, whoOf } from './wording';

/** What a row does when it is used. */
export interface RowHost {
  readonly trans: TranslationBundle;
  /** Whether each row names its notebook. */
  readonly namesNotebooks: boolean;
  /** Return the time from which rows count how long ago an edit was, in milliseconds. */
  now(): number;
  /** Put what an edit did into an element; answers what takes it away again. */
  detail(edit: Edit, element: HTMLElement): () => void;
  /** Take back an edit, or what took it back. Settles with what stands in the way, line by line. */
  act(edit: Edit, action: 'undo' | 'redo'): Promise<readonly string[]>;
}

const ICONS: Readonly<Partial<Record<Edit['kind'], LabIcon>>> = {
  create: addIcon,
  undo: undoIcon,
  redo: redoIcon
};

let rows = 0;

/** One edit in the list. A click opens it: then it shows what the edit did. */
export class Row {
  readonly node = make('li', 'jp-nbedit-edit');

  constructor(
    private _edit: Edit,
    private readonly _host: RowHost
  ) {
    const id = `nbedit-edit-${++rows}`;
    this.toggle = make('button', 'jp-nbedit-edit-toggle');
    this.toggle.type = 'button';
    this.toggle.tabIndex = -1;
    this.toggle.addEventListener('click', () => this.setOpen(!this.isOpen));
    this._detail.id = id;
    this._detail.hidden = true;
    this.toggle.setAttribute('aria-controls', id);
    this._problem.setAttribute('role', 'alert');
    const { trans } = _host;
    this._undo = iconButton(undoIcon, trans.__('Undo'), () => void this.act());
    this._redo = iconButton(redoIcon, trans.__('Redo'), () => void this.act());
    const head = make('div', 'jp-nbedit-edit-head');
    head.append(this.toggle, this._undo, this._redo);
    this.node.append(head, this._problem, this._detail);
    this._show();
  }

  /** What opens and closes the row. */
  readonly toggle: HTMLButtonElement;

  get edit(): Edit {
    return this._edit;
  }

  set edit(edit: Edit) {
    // An answer to the same question makes new objects of the same edits.
    if (JSON.stringify(edit) !== JSON.stringify(this._edit)) {
      this._edit = edit;
      this._show();
    }
  }

  get isOpen(): boolean {
    return this._close !== null;
  }

  setOpen(isOpen: boolean): void {
    if (isOpen !== this.isOpen) {
      this._close?.();
      this._close = isOpen ? this._host.detail(this._edit, this._detail) : null;
      this._detail.hidden = !isOpen;
      this._show();
    }
  }

  /** Let the keyboard reach this row, and of all rows only this one. */
  setReachable(isReachable: boolean): void {
    for (const reached of [this.toggle, this._undo, this._redo]) {
      reached.tabIndex = isReachable ? 0 : -1;
    }
  }

  /** Take the edit back, or what took it back. */
  async act(): Promise<void> {
    const action = actionOf(this._edit);
    if (action === null || this._isBusy) {
      return;
    }
    this._isBusy = true;
    this._problem.replaceChildren();
    this.node.setAttribute('aria-busy', 'true');
    const problems = await this._host.act(this._edit, action);
    this.node.removeAttribute('aria-busy');
    this._isBusy = false;
    this._problem.append(...problems.map(text => make('p', '', text)));
  }

  /** Say anew how long ago the edit was. */
  tick(): void {
    this._time.textContent = ago(this._edit.time, this._host.now());
  }

  dispose(): void {
    this._close?.();
    this._close = null;
    this.node.remove();
  }

  private _show(): void {
    const { trans, namesNotebooks } = this._host;
    const edit = this._edit;
    const isUndone = edit.undone_by !== null;
    this.node.classList.toggle('jp-mod-undone', isUndone);
    this.node.classList.toggle('jp-mod-open', this.isOpen);
    this.node.dataset.edit = `${edit.edit_id}`;
    this.toggle.setAttribute('aria-expanded', `${this.isOpen}`);
    this._time.dateTime = edit.time;
    this._time.title = Time.format(new Date(edit.time));
    this.tick();

    const first = make('span', 'jp-nbedit-edit-line');
    const title = make('span', 'jp-nbedit-edit-title', titleOf(edit, trans));
    title.title = title.textContent;
    const icon = ICONS[edit.kind];
    first.append(...(icon === undefined ? [] : [picture(icon)]), title);
    const second = make('span', 'jp-nbedit-edit-line');
    const who = make('span', 'jp-nbedit-edit-who', whoOf(edit, trans));
    who.title = identityOf(edit, trans);
    second.append(who);
    if (isUndone) {
      second.append(make('span', 'jp-nbedit-edit-state', trans.__('undone')));
    }
    second.append(this._time);
    const message = messageOf(edit);
    const lines = make('span', 'jp-nbedit-edit-lines');
    lines.append(first, second);
    if (message !== '') {
      const said = make('span', 'jp-nbedit-edit-message', message);
      said.title = message;
      lines.append(said);
    }
    if (namesNotebooks) {
      const path = make('span', 'jp-nbedit-edit-path', pathOf(edit));
      path.title = path.textContent;
      lines.append(path);
    }
    const caret = picture(this.isOpen ? caretDownIcon : caretRightIcon);
    this.toggle.replaceChildren(caret, lines);
    const action = actionOf(edit);
    const hadFocus = [this._undo, this._redo].some(node => node === document.activeElement);
    this._undo.hidden = action !== 'undo';
    this._redo.hidden = action !== 'redo';
    if (hadFocus) {
      const next = { undo: this._undo, redo: this._redo, none: this.toggle };
      next[action ?? 'none'].focus();
    }
  }

  private readonly _time = make('time', 'jp-nbedit-edit-time');
  private readonly _problem = make('div', 'jp-nbedit-problem');
  private readonly _detail = make('div', 'jp-nbedit-detail');
  private readonly _undo: HTMLButtonElement;
  private readonly _redo: HTMLButtonElement;
  private _close: (() => void) | null = null;
  private _isBusy = false;
}
