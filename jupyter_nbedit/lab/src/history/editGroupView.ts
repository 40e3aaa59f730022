import { caretDownIcon, caretRightIcon } from '@jupyterlab/ui-components';
import type { HistoryEdit } from '../server/models';
import { makeElement, makeIcon } from '../ui/elements';
import { EditRow } from './editRow';
import type { ListItem, RowHost } from './listRow';
import type { RowEdits, EditGroup } from './editGroups';
import { UndoGroupRow } from './undoGroupRow';
import { describeAuthor, describeIdentity, describeEditGroup } from './wording';

type Row = EditRow | UndoGroupRow;

/** The rows of a group below a heading that folds them. */
export class EditGroupView implements ListItem {
  readonly node = makeElement('section', 'jp-nbedit-edit-group');
  readonly toggle = makeElement('button', 'jp-nbedit-edit-group-toggle');

  /** @param _findEdit Returns an edit if it is loaded. */
  constructor(
    private readonly _host: RowHost,
    private readonly _findEdit: (id: number) => HistoryEdit | undefined
  ) {
    this.toggle.type = 'button';
    this.toggle.tabIndex = -1;
    this.toggle.addEventListener('click', () => this.setOpen(!this._isOpen));
    this._list.setAttribute('role', 'list');
    const heading = makeElement('h3', 'jp-nbedit-edit-group-heading');
    heading.append(this.toggle);
    this.node.append(heading, this._list);
  }

  /** The rows that are not folded, and the undos that they show one by one. */
  get items(): readonly ListItem[] {
    const rows = this._isOpen ? this._rows : [];
    return [this, ...rows.flatMap(row => (row instanceof EditRow ? row : [row, ...row.rows]))];
  }

  get isOpen(): boolean {
    return this._isOpen;
  }

  setOpen(isOpen: boolean): void {
    this._isOpen = isOpen;
    this._list.hidden = !isOpen;
    this._renderHeading();
  }

  setReachable(isReachable: boolean): void {
    this.toggle.tabIndex = isReachable ? 0 : -1;
  }

  /**
   * Show exactly these rows. Rows of edits that stay keep their state and position.
   *
   * @param hasMore Whether the group may have older edits that are not loaded.
   */
  show(group: EditGroup, hasMore: boolean): void {
    this._group = group;
    this._hasMore = hasMore;
    this._renderHeading();
    const knownRows = new Map(this._rows.map(row => [makeKey(row.edits), row]));
    const rows = group.rows.map(edits => this._updateRow(edits, knownRows));
    const shownRows = new Set(rows);
    this._rows.filter(row => !shownRows.has(row)).forEach(row => row.dispose());
    this._rows = rows;
    placeChildren(
      this._list,
      rows.map(({ node }) => node)
    );
  }

  /** The rows of edits that are open. */
  get openRows(): readonly EditRow[] {
    return this._rows
      .flatMap(row => (row instanceof EditRow ? row : row.rows))
      .filter(({ isOpen }) => isOpen);
  }

  dispose(): void {
    this._rows.forEach(row => row.dispose());
    this._rows = [];
    this.node.remove();
  }

  private _updateRow(edits: RowEdits, knownRows: ReadonlyMap<string, Row>): Row {
    const row = knownRows.get(makeKey(edits));
    if (row !== undefined) {
      row.edits = edits;
      return row;
    }
    return edits.length === 1
      ? new EditRow(edits[0], this._host)
      : new UndoGroupRow(edits, this._host, this._findEdit);
  }

  private _renderHeading(): void {
    if (this._group === null) {
      return;
    }
    const { trans } = this._host;
    const { newest } = this._group;
    this.toggle.setAttribute('aria-expanded', `${this._isOpen}`);
    const author = makeElement('span', 'jp-nbedit-edit-author', describeAuthor(newest, trans));
    author.title = describeIdentity(newest, trans);
    const text = describeEditGroup(this._group, this._hasMore, trans);
    this.toggle.replaceChildren(
      makeIcon(this._isOpen ? caretDownIcon : caretRightIcon),
      author,
      makeElement('span', 'jp-nbedit-edit-group-text', text)
    );
  }

  private readonly _list = makeElement('ul', 'jp-nbedit-edit-group-edits');
  private _group: EditGroup | null = null;
  private _hasMore = false;
  private _rows: readonly Row[] = [];
  private _isOpen = true;
}

/** A row stays the same while the oldest of its edits does. */
function makeKey(edits: readonly HistoryEdit[]): string {
  return `${edits.length > 1 ? 'undos' : 'edit'} ${edits.at(-1)?.edit_id ?? ''}`;
}

/** Make nodes the children of an element, and move only nodes that are not in their place. */
export function placeChildren(parent: HTMLElement, nodes: readonly HTMLElement[]): void {
  let nextNode: Element | null = parent.firstElementChild;
  for (const node of nodes) {
    if (node === nextNode) {
      nextNode = nextNode.nextElementSibling;
    } else {
      parent.insertBefore(node, nextNode);
    }
  }
}
