import { getGapPosition, type BlockPosition } from '../blocks/blockPosition';
import { isAboutNotebook } from '../blocks/cellDiff';
import type { UnseenCell } from '../server/models';

/** A cell of the tab, as far as positions depend on it. */
export interface TabCell {
  readonly id: string;
  /** Return the source; it is slow. */
  readonly getSource: () => string;
}

/** Where a change is shown. */
export interface UnseenPosition extends BlockPosition {
  /** Whether it is the cell that was changed; otherwise it is near its place. */
  readonly isOwnCell: boolean;
}

/** The cell of the tab at which a change was found last. */
interface Anchor {
  readonly id: string;
  readonly side: BlockPosition['side'];
  /** For a deleted cell, the number of cells before its place. */
  readonly gap: number | null;
}

/**
 * Finds the places of changes in a tab.
 *
 * A cell is found by its id. A cell without a unique id is found by its index and source, and then
 * followed by the id that the tab has given it, because users may add and delete cells.
 */
export class UnseenLocator {
  /**
   * Locate changes, and forget all others.
   *
   * @param isSameVersion Whether the tab shows the version with these changes. Otherwise the
   *   numbers of cells are from another version: a place that they name is not remembered.
   * @returns For each change its position; null if the tab does not have its cell.
   */
  locate(
    changes: readonly UnseenCell[],
    cells: readonly TabCell[],
    isSameVersion: boolean
  ): ReadonlyMap<UnseenCell, UnseenPosition | null> {
    const keys = new Set(changes.map(({ key }) => key));
    for (const key of [...this._anchors.keys()]) {
      if (!keys.has(key)) {
        this._anchors.delete(key);
      }
    }
    const indexes = new Map<string, number | null>();
    // Null for an id that several cells have.
    cells.forEach(({ id }, index) => indexes.set(id, indexes.has(id) ? null : index));
    return new Map(
      changes.map(change => {
        if (isAboutNotebook(change)) {
          return [change, { cell: 0, side: 'above', isOwnCell: false }];
        }
        return change.after === null
          ? [change, this._locateGap(change, cells, indexes, isSameVersion)]
          : [change, this._locateCell(change, cells, indexes)];
      })
    );
  }

  private _locateCell(
    { key, cell_id: id, index, after }: UnseenCell,
    cells: readonly TabCell[],
    indexes: ReadonlyMap<string, number | null>
  ): UnseenPosition | null {
    const indexById = id === null ? null : indexes.get(id);
    if (indexById === undefined) {
      return null;
    }
    const known = indexById ?? this._findAnchor(key, indexes);
    if (known !== null) {
      return { cell: known, side: 'below', isOwnCell: true };
    }
    const expected = index ?? 0;
    const hasSource = (other: number): boolean => cells[other]?.getSource() === after?.source;
    const [found, another] = hasSource(expected) ? [expected] : [...cells.keys()].filter(hasSource);
    const cell = cells[found ?? -1];
    if (found === undefined || another !== undefined || cell === undefined) {
      // Both sides have changed the cell: its index is the best that is known.
      return { cell: Math.min(expected, cells.length - 1), side: 'below', isOwnCell: false };
    }
    this._anchors.set(key, { id: cell.id, side: 'below', gap: null });
    return { cell: found, side: 'below', isOwnCell: true };
  }

  private _locateGap(
    { key, gap, index_before: index }: UnseenCell,
    cells: readonly TabCell[],
    indexes: ReadonlyMap<string, number | null>,
    isSameVersion: boolean
  ): UnseenPosition {
    const count = gap ?? index ?? 0;
    const anchor = this._anchors.get(key);
    const isKnown = anchor?.gap === count || !isSameVersion;
    const anchored = isKnown ? this._findAnchor(key, indexes) : null;
    if (anchored !== null && anchor !== undefined) {
      return { cell: anchored, side: anchor.side, isOwnCell: false };
    }
    const position = getGapPosition(count, cells.length);
    const cell = cells[position.cell];
    if (cell !== undefined && isSameVersion) {
      this._anchors.set(key, { id: cell.id, side: position.side, gap: count });
    }
    return { ...position, isOwnCell: false };
  }

  private _findAnchor(key: string, indexes: ReadonlyMap<string, number | null>): number | null {
    const anchor = this._anchors.get(key);
    return anchor === undefined ? null : (indexes.get(anchor.id) ?? null);
  }

  private readonly _anchors = new Map<string, Anchor>();
}
