import type { Edit } from '../server/models';
import { make } from '../ui/elements';
import { Row, type RowHost } from './editRow';

/** How often the rows say anew how long ago they were, in milliseconds. */
const TICK = 30_000;

/** The keys that go from row to row, and where they go from the row at an index of `count`. */
const MOVES: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowUp: index => index - 1,
  ArrowDown: index => index + 1,
  Home: () => 0,
  End: (_, count) => count - 1
};

/**
 * Edits as a list of rows, of which the keyboard reaches one: arrow keys, Home and End go to the
 * others, left and right close and open.
 */
export class EditList {
  readonly node = make('ul', 'jp-nbedit-edits');

  constructor(
    label: string,
    private readonly _makeHost: () => Omit<RowHost, 'now'>
  ) {
    this.node.setAttribute('role', 'list');
    this.node.setAttribute('aria-label', label);
    this.node.addEventListener('keydown', event => this._press(event));
    this.node.addEventListener('focusin', ({ target }) => {
      const row = this._rows.find(({ node }) => node.contains(target as Node));
      if (row !== undefined) {
        this._reach(row);
      }
    });
    window.setInterval(() => this._tick(), TICK);
  }

  /** Show exactly these edits. Rows that stay keep what they show and where they are. */
  show(edits: readonly Edit[]): void {
    this._now = Date.now();
    const known = new Map(this._rows.map(row => [row.edit.edit_id, row]));
    const host: RowHost = { ...this._makeHost(), now: () => this._now };
    const rows = edits.map(edit => {
      const row = known.get(edit.edit_id) ?? new Row(edit, host);
      row.edit = edit;
      row.tick();
      return row;
    });
    const kept = new Set(rows);
    this._rows.filter(row => !kept.has(row)).forEach(row => row.dispose());
    let at: Element | null = this.node.firstElementChild;
    for (const { node } of rows) {
      if (node === at) {
        at = at.nextElementSibling;
      } else {
        this.node.insertBefore(node, at);
      }
    }
    this._rows = rows;
    if (this._reached === null || !kept.has(this._reached)) {
      this._reach(rows[0] ?? null);
    }
  }

  /** Forget all rows: the next ones have nothing to do with them. */
  clear(): void {
    this.show([]);
  }

  /** Show the open rows anew. */
  reopen(): void {
    for (const row of this._rows.filter(({ isOpen }) => isOpen)) {
      row.setOpen(false);
      row.setOpen(true);
    }
  }

  /** Give the focus to the row that the keyboard reaches; answers whether there is one. */
  focus(): boolean {
    this._reached?.toggle.focus();
    return this._reached !== null;
  }

  private _reach(row: Row | null): void {
    if (row !== this._reached) {
      this._reached?.setReachable(false);
      row?.setReachable(true);
      this._reached = row;
    }
  }

  private _press(event: KeyboardEvent): void {
    const index = this._rows.findIndex(({ toggle }) => toggle === event.target);
    const row = this._rows[index];
    if (row === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    const move = MOVES[event.key];
    if (move !== undefined) {
      this._rows[move(index, this._rows.length)]?.toggle.focus();
    } else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      row.setOpen(event.key === 'ArrowRight');
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private _tick(): void {
    if (this.node.isConnected && document.visibilityState === 'visible') {
      this._now = Date.now();
      this._rows.forEach(row => row.tick());
    }
  }

  /** The time that all rows count from, so that they agree whenever each is drawn. */
  private _now = Date.now();
  private _rows: Row[] = [];
  private _reached: Row | null = null;
}
