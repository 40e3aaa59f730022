import type { BlockPosition } from './blockPosition';

/** What the navigator knows of an entry. */
export interface NavigatorEntry {
  readonly key: string;
  readonly position: BlockPosition;
}

/** The order of all entries of a notebook, and the one at which the user is. */
export class BlockNavigator<Entry extends NavigatorEntry> {
  /** The entries in the order in which they are shown. */
  get entries(): readonly Entry[] {
    return this._entries;
  }

  /** Set the entries; if the current entry is not among them, its place is remembered. */
  set entries(entries: readonly Entry[]) {
    this._entries = entries;
    const index = entries.findIndex(({ key }) => key === this._currentKey);
    if (index >= 0) {
      this._index = index;
    } else {
      this._currentKey = null;
    }
  }

  /** The entry at which the user is, or null. */
  get current(): Entry | null {
    return this._currentKey === null ? null : (this._entries[this._index] ?? null);
  }

  /** Remember that the user is at this entry. */
  visit(entry: Entry): void {
    this._currentKey = entry.key;
    this._index = this._entries.findIndex(({ key }) => key === this._currentKey);
  }

  /** Forget where the user was. */
  reset(): void {
    this._currentKey = null;
    this._index = -1;
  }

  /** The index of the current entry, or null. */
  get currentIndex(): number | null {
    return this._currentKey === null ? null : this._index;
  }

  /**
   * Return the next or the previous entry; after the last entry comes the first.
   *
   * @param activeCell The index of the cell from which a user starts who was at no entry.
   */
  find(direction: 'next' | 'previous', activeCell: number): Entry | null {
    const { length } = this._entries;
    const start = this._index < 0 ? this._findStart(activeCell) : this._index;
    // If the current entry is gone, the next entry has taken its place.
    const isAtEntry = this._currentKey !== null;
    const index = direction === 'previous' ? start - 1 : isAtEntry ? start + 1 : start;
    return length === 0 ? null : (this._entries[(index + length) % length] ?? null);
  }

  private _findStart(activeCell: number): number {
    const start = this._entries.findIndex(({ position }) => position.cell >= activeCell);
    return start < 0 ? this._entries.length : start;
  }

  private _entries: readonly Entry[] = [];
  private _currentKey: string | null = null;
  /** The index of the current entry, or where it was; -1 if the user was at none. */
  private _index = -1;
}
