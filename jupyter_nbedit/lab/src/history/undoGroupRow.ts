import { redoIcon, undoIcon } from '@jupyterlab/ui-components';
import type { HistoryEdit } from '../server/models';
import { makeElement, makeIcon, makeIconButton } from '../ui/elements';
import { EditRow } from './editRow';
import { ListRow, type RowHost } from './listRow';
import type { RowEdits } from './editGroups';
import { describeUndoGroup } from './wording';

/** Several undos that were made in one go. A click opens a list with a row for each undo. */
export class UndoGroupRow extends ListRow {
  /** @param _findEdit Returns an edit if it is loaded. */
  constructor(
    edits: RowEdits,
    host: RowHost,
    private readonly _findEdit: (id: number) => HistoryEdit | undefined
  ) {
    super(edits, host);
    this._list.setAttribute('role', 'list');
    this.setReachable(false);
    this.build(this._list);
  }

  /** The row of each undo, if they are shown. */
  get rows(): readonly EditRow[] {
    return this._rows;
  }

  override get isOpen(): boolean {
    return this._isOpen;
  }

  override setOpen(isOpen: boolean): void {
    this._isOpen = isOpen;
    this.render();
  }

  override dispose(): void {
    this._rows.forEach(row => row.dispose());
    this._rows = [];
    this.node.remove();
  }

  protected override render(): void {
    const { trans } = this.host;
    const undoneEdits = this.edits.map(({ undoes }) =>
      undoes === null ? undefined : this._findEdit(undoes)
    );
    const title = describeUndoGroup(undoneEdits, trans);
    const line = makeElement('span', 'jp-nbedit-edit-line');
    line.append(
      makeIcon(undoIcon),
      makeElement('span', 'jp-nbedit-edit-title', title),
      this.makeAge()
    );
    this.renderToggle(line);
    const hadFocus = this._redo === document.activeElement;
    this._redo.hidden = this._listRedoable().length === 0;
    if (hadFocus && this._redo.hidden) {
      this.toggle.focus();
    }
    const knownRows = new Map(this._rows.map(row => [row.edits[0].edit_id, row]));
    const rows = this._isOpen
      ? this.edits.map(edit => {
          const row = knownRows.get(edit.edit_id) ?? new EditRow(edit, this.host);
          row.edits = [edit];
          return row;
        })
      : [];
    this._rows.filter(row => !rows.includes(row)).forEach(row => row.dispose());
    this._rows = rows;
    this._list.replaceChildren(...rows.map(({ node }) => node));
    this._list.hidden = !this._isOpen;
  }

  /** Return the undos that can be redone. The newest undo took back the oldest edit, and is first. */
  private _listRedoable(): HistoryEdit[] {
    return this.edits.filter(edit => this.host.findAction(edit) === 'redo');
  }

  private readonly _list = makeElement('ul', 'jp-nbedit-undos');
  private readonly _redo = makeIconButton(
    redoIcon,
    this.host.trans.__('Redo all'),
    () => void this.undoOrRedo(this._listRedoable(), 'redo')
  );
  protected override readonly actions = [this._redo];
  private _rows: readonly EditRow[] = [];
  private _isOpen = false;
}
