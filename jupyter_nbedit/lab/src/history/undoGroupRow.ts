import { Time } from '@jupyterlab/coreutils';
import { caretDownIcon, caretRightIcon, redoIcon, undoIcon } from '@jupyterlab/ui-components';
import type { HistoryEdit } from '../server/models';
import { describeAge } from '../ui/age';
import { makeElement, makeIcon, makeIconButton, showAlert } from '../ui/elements';
import { EditRow, type EditRowHost } from './editRow';
import type { ListItem } from './listItem';
import type { RowEdits } from './editGroups';
import { describeUndoGroup } from './wording';

/** Several undos that were made in one go. A click shows them one by one. */
export class UndoGroupRow implements ListItem {
  readonly node = makeElement('li', 'jp-nbedit-edit');
  readonly toggle = makeElement('button', 'jp-nbedit-edit-toggle');

  /** @param _findEdit Returns an edit if it is loaded. */
  constructor(
    private _edits: RowEdits,
    private readonly _host: EditRowHost,
    private readonly _findEdit: (id: number) => HistoryEdit | undefined
  ) {
    this.toggle.type = 'button';
    this.toggle.addEventListener('click', () => this.setOpen(!this._isOpen));
    this._list.setAttribute('role', 'list');
    const label = _host.trans.__('Redo all');
    this._redo = makeIconButton(redoIcon, label, () => void this._redoAll());
    const head = makeElement('div', 'jp-nbedit-edit-head');
    head.append(this.toggle, this._redo);
    this.node.append(head, this._problem, this._list);
    this.setReachable(false);
    this._render();
  }

  /** The row of each undo, if they are shown. */
  get rows(): readonly EditRow[] {
    return this._rows;
  }

  get edits(): RowEdits {
    return this._edits;
  }

  set edits(edits: RowEdits) {
    if (JSON.stringify(edits) !== JSON.stringify(this._edits)) {
      this._edits = edits;
      this._render();
    }
  }

  get isOpen(): boolean {
    return this._isOpen;
  }

  setOpen(isOpen: boolean): void {
    this._isOpen = isOpen;
    this._render();
  }

  setReachable(isReachable: boolean): void {
    for (const control of [this.toggle, this._redo]) {
      control.tabIndex = isReachable ? 0 : -1;
    }
  }

  updateTime(): void {
    this._time.textContent = describeAge(this._edits[0].time, this._host.getTime());
    this._rows.forEach(row => row.updateTime());
  }

  dispose(): void {
    this._rows.forEach(row => row.dispose());
    this._rows = [];
    this.node.remove();
  }

  private _render(): void {
    const { trans } = this._host;
    const [newest] = this._edits;
    this.node.classList.toggle('jp-mod-open', this._isOpen);
    this.toggle.setAttribute('aria-expanded', `${this._isOpen}`);
    this._time.dateTime = newest.time;
    this._time.title = Time.format(new Date(newest.time));
    const undoneEdits = this._edits.map(({ undoes }) =>
      undoes === null ? undefined : this._findEdit(undoes)
    );
    const title = describeUndoGroup(undoneEdits, trans);
    const first = makeElement('span', 'jp-nbedit-edit-line');
    first.append(
      makeIcon(undoIcon),
      makeElement('span', 'jp-nbedit-edit-title', title),
      this._time
    );
    const lines = makeElement('span', 'jp-nbedit-edit-lines');
    lines.append(first);
    this.toggle.replaceChildren(makeIcon(this._isOpen ? caretDownIcon : caretRightIcon), lines);
    const hadFocus = this._redo === document.activeElement;
    this._redo.hidden = this._edits.every(edit => this._host.findAction(edit) !== 'redo');
    if (hadFocus && this._redo.hidden) {
      this.toggle.focus();
    }
    const knownRows = new Map(this._rows.map(row => [row.edit.edit_id, row]));
    const rows = this._isOpen
      ? this._edits.map(edit => {
          const row = knownRows.get(edit.edit_id) ?? new EditRow(edit, this._host);
          row.edit = edit;
          return row;
        })
      : [];
    this._rows.filter(row => !rows.includes(row)).forEach(row => row.dispose());
    this._rows = rows;
    this._list.replaceChildren(...rows.map(({ node }) => node));
    this._list.hidden = !this._isOpen;
    this.updateTime();
  }

  /** Redo the edits in the order in which they were made; end at the first that fails. */
  private async _redoAll(): Promise<void> {
    if (this._isBusy) {
      return;
    }
    this._isBusy = true;
    showAlert(this._problem, []);
    this.node.setAttribute('aria-busy', 'true');
    for (const edit of this._edits.filter(each => this._host.findAction(each) === 'redo')) {
      const problems = await this._host.undoOrRedo(edit, 'redo');
      if (problems !== null) {
        showAlert(this._problem, problems);
        break;
      }
    }
    this.node.removeAttribute('aria-busy');
    this._isBusy = false;
  }

  private readonly _list = makeElement('ul', 'jp-nbedit-undos');
  private readonly _time = makeElement('time', 'jp-nbedit-edit-time');
  private readonly _problem = makeElement('div', 'jp-nbedit-error');
  private readonly _redo: HTMLButtonElement;
  private _rows: readonly EditRow[] = [];
  private _isOpen = false;
  private _isBusy = false;
}
