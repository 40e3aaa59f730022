import type { HistoryEdit } from '../server/models';
import { makeElement } from '../ui/elements';
import { EditRow, type EditRowHost } from './editRow';

/** Interval at which rows update the age of their edits, in milliseconds. */
const UPDATE_INTERVAL = 30_000;

/** The keys that move between rows; the functions map an index to the index of the target. */
const KEY_TARGETS: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowUp: index => index - 1,
  ArrowDown: index => index + 1,
  Home: () => 0,
  End: (_, count) => count - 1
};

/**
 * A list of edits with one row in the tab order: arrow keys, Home and End move to other rows, left
 * and right close and open a row.
 */
export class EditList {
  readonly node = makeElement('ul', 'jp-nbedit-edits');

  constructor(
    label: string,
    private readonly _makeHost: () => Omit<EditRowHost, 'getTime'>
  ) {
    this.node.setAttribute('role', 'list');
    this.node.setAttribute('aria-label', label);
    this.node.addEventListener('keydown', event => this._onKeyDown(event));
    this.node.addEventListener('focusin', ({ target }) => {
      const row = this._rows.find(({ node }) => node.contains(target as Node));
      if (row !== undefined) {
        this._setReachableRow(row);
      }
    });
    window.setInterval(() => this._updateTimes(), UPDATE_INTERVAL);
  }

  /** Show exactly these edits. Rows of edits that stay keep their state and position. */
  show(edits: readonly HistoryEdit[]): void {
    this._now = Date.now();
    const knownRows = new Map(this._rows.map(row => [row.edit.edit_id, row]));
    const host: EditRowHost = { ...this._makeHost(), getTime: () => this._now };
    const rows = edits.map(edit => {
      const row = knownRows.get(edit.edit_id) ?? new EditRow(edit, host);
      row.edit = edit;
      row.updateTime();
      return row;
    });
    const shownRows = new Set(rows);
    this._rows.filter(row => !shownRows.has(row)).forEach(row => row.dispose());
    let nextNode: Element | null = this.node.firstElementChild;
    for (const { node } of rows) {
      if (node === nextNode) {
        nextNode = nextNode.nextElementSibling;
      } else {
        this.node.insertBefore(node, nextNode);
      }
    }
    this._rows = rows;
    if (this._reachableRow === null || !shownRows.has(this._reachableRow)) {
      this._setReachableRow(rows[0] ?? null);
    }
  }

  /** Remove all rows. */
  clear(): void {
    this.show([]);
  }

  /** Close and open the open rows. */
  redrawOpenRows(): void {
    for (const row of this._rows.filter(({ isOpen }) => isOpen)) {
      row.setOpen(false);
      row.setOpen(true);
    }
  }

  /** Focus the row in the tab order; return whether there is one. */
  focus(): boolean {
    this._reachableRow?.toggle.focus();
    return this._reachableRow !== null;
  }

  private _setReachableRow(row: EditRow | null): void {
    if (row !== this._reachableRow) {
      this._reachableRow?.setReachable(false);
      row?.setReachable(true);
      this._reachableRow = row;
    }
  }

  private _onKeyDown(event: KeyboardEvent): void {
    const index = this._rows.findIndex(({ toggle }) => toggle === event.target);
    const row = this._rows[index];
    if (row === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    const getTarget = KEY_TARGETS[event.key];
    if (getTarget !== undefined) {
      this._rows[getTarget(index, this._rows.length)]?.toggle.focus();
    } else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      row.setOpen(event.key === 'ArrowRight');
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private _updateTimes(): void {
    if (this.node.isConnected && document.visibilityState === 'visible') {
      this._now = Date.now();
      this._rows.forEach(row => row.updateTime());
    }
  }

  /** The time that all rows use to show the age of their edits, so that they agree. */
  private _now = Date.now();
  private _rows: EditRow[] = [];
  private _reachableRow: EditRow | null = null;
}
