import type { HistoryEdit } from '../server/models';
import { makeElement } from '../ui/elements';
import type { ListItem, RowHost } from './listRow';
import { groupEdits } from './editGroups';
import { placeChildren, EditGroupView } from './editGroupView';

/**
 * A list of edits below headings, with one of both in the tab order: arrow keys move between them,
 * Home and End to the first and last row, left and right close and open.
 */
export class EditList {
  readonly node = makeElement('div', 'jp-nbedit-edits');

  constructor(
    label: string,
    private readonly _makeHost: () => RowHost
  ) {
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', label);
    this.node.addEventListener('keydown', event => this._onKeyDown(event));
    this.node.addEventListener('focusin', ({ target }) => {
      const items = this._items.filter(({ node }) => node.contains(target as Node));
      // Rows are within the node of their group.
      const item = items.find(({ toggle }) => toggle === target) ?? items.at(-1);
      if (item !== undefined) {
        this._setReachableItem(item);
      }
    });
  }

  /**
   * Show exactly these edits. Rows of edits that stay keep their state and position.
   *
   * @param hasMore Whether there are older edits that are not loaded.
   */
  show(edits: readonly HistoryEdit[], hasMore: boolean): void {
    this._editsById = new Map(edits.map(edit => [edit.edit_id, edit]));
    const host = this._makeHost();
    const knownViews = this._viewsById;
    const groups = groupEdits(edits);
    const shownViews = new Set<EditGroupView>();
    this._viewsById = new Map();
    const views = groups.map((group, index) => {
      const ids = group.rows.flat().map(({ edit_id: id }) => id);
      // A group keeps its view when edits are added to it at either end.
      const known = ids.map(id => knownViews.get(id)).find(view => view && !shownViews.has(view));
      const view = known ?? new EditGroupView(host, id => this._editsById.get(id));
      shownViews.add(view);
      view.show(group, hasMore && index === groups.length - 1);
      ids.forEach(id => this._viewsById.set(id, view));
      return view;
    });
    this._views.filter(view => !shownViews.has(view)).forEach(view => view.dispose());
    placeChildren(
      this.node,
      views.map(({ node }) => node)
    );
    this._views = views;
    if (this._reachableItem === null || !this._items.includes(this._reachableItem)) {
      this._setReachableItem(this._rows[0] ?? this._items[0] ?? null);
    }
  }

  /** Remove all rows. */
  clear(): void {
    this.show([], false);
  }

  /** Close and open the open rows. */
  redrawOpenRows(): void {
    for (const row of this._views.flatMap(({ openRows }) => openRows)) {
      row.setOpen(false);
      row.setOpen(true);
    }
  }

  /** Focus the item in the tab order; return whether there is one. */
  focus(): boolean {
    this._reachableItem?.toggle.focus();
    return this._reachableItem !== null;
  }

  private get _items(): readonly ListItem[] {
    return this._views.flatMap(({ items }) => items);
  }

  private get _rows(): readonly ListItem[] {
    return this._items.filter(item => !(item instanceof EditGroupView));
  }

  private _setReachableItem(item: ListItem | null): void {
    if (item !== this._reachableItem) {
      this._reachableItem?.setReachable(false);
      item?.setReachable(true);
      this._reachableItem = item;
    }
  }

  private _onKeyDown(event: KeyboardEvent): void {
    const items = this._items;
    const index = items.findIndex(({ toggle }) => toggle === event.target);
    const item = items[index];
    if (item === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    switch (event.key) {
      case 'ArrowUp':
        items[index - 1]?.toggle.focus();
        break;
      case 'ArrowDown':
        items[index + 1]?.toggle.focus();
        break;
      case 'Home':
        this._rows[0]?.toggle.focus();
        break;
      case 'End':
        this._rows.at(-1)?.toggle.focus();
        break;
      case 'ArrowRight':
      case 'ArrowLeft':
        item.setOpen(event.key === 'ArrowRight');
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private _views: readonly EditGroupView[] = [];
  /** The view of each edit. */
  private _viewsById = new Map<number, EditGroupView>();
  private _editsById: ReadonlyMap<number, HistoryEdit> = new Map();
  private _reachableItem: ListItem | null = null;
}
