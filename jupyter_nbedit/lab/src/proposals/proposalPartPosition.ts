import { getGapPosition, type BlockPosition } from '../blocks/blockPosition';
import { isAboutNotebook } from '../blocks/cellDiff';
import type { CellDiff, ProposedPart } from '../server/models';

/** A cell of the tab, as far as positions depend on it. */
export interface TabCell {
  readonly id: string;
  readonly type: string;
  readonly source: string;
}

/** Where a part of a proposal is shown. */
export interface PartPosition extends BlockPosition {
  /** The state of the cell in the tab: as the proposal expects it, changed, or removed. */
  readonly state: 'as-proposed' | 'changed' | 'gone';
}

/** The last position, by the id of the cell. */
export interface Anchor {
  readonly id: string;
  readonly side: PartPosition['side'];
}

/** Return whether a part inserts a cell. */
export function isInsert(part: CellDiff): boolean {
  return part.before === null && !isAboutNotebook(part);
}

/**
 * Compute the position of a part in a notebook that may have changed since the proposal.
 *
 * Indexes count in the notebook before the proposal, or with all of its parts; the accepted parts
 * map both to the cells of the tab.
 *
 * @param parts All parts of the proposal.
 * @param cells The cells of the tab; JupyterLab always shows at least one.
 * @param anchor The last position of a cell to insert: it stays there when other cells change.
 */
export function locatePart(
  part: ProposedPart,
  parts: readonly ProposedPart[],
  cells: readonly TabCell[],
  anchor: Anchor | null = null
): PartPosition {
  if (isAboutNotebook(part)) {
    return { cell: 0, side: 'above', state: 'as-proposed' };
  }
  const order = getOrder(parts);
  if (isInsert(part)) {
    const anchorIndex = anchor === null ? -1 : findIndex(anchor.id, cells);
    const isHeld = anchor !== null && isFound(anchorIndex);
    const position =
      locateBelowNewCell(part, order, cells) ??
      (isHeld ? { cell: anchorIndex, side: anchor.side } : locateNewPlace(part, order, cells));
    return { ...position, state: 'as-proposed' };
  }
  const expectedIndex = order.mapIndex(part.index_before ?? 0);
  const cellIndex = findCell(part, expectedIndex, cells);
  const cell = cells[cellIndex ?? -1];
  if (cellIndex === null || cell === undefined) {
    return { cell: clampIndex(expectedIndex - 1, cells), side: 'below', state: 'gone' };
  }
  const isSame = cell.source === part.before?.source && cell.type === part.before.cell_type;
  return { cell: cellIndex, side: 'below', state: isSame ? 'as-proposed' : 'changed' };
}

/** Return where a part moves its cell. */
export function locateMoveTarget(
  part: ProposedPart,
  parts: readonly ProposedPart[],
  cells: readonly TabCell[]
): BlockPosition {
  const order = getOrder(parts);
  return locateBelowNewCell(part, order, cells) ?? locateNewPlace(part, order, cells);
}

/** Return the position below the accepted cells that the proposal inserts right before a part. */
function locateBelowNewCell(
  part: ProposedPart,
  order: ProposalOrder,
  cells: readonly TabCell[]
): BlockPosition | null {
  const ids = order.listNewCellsBefore(part);
  const index = ids
    .map(id => findIndex(id, cells))
    .filter(isFound)
    .pop();
  return index === undefined ? null : { cell: index, side: 'below' };
}

/** Cells may have been added and deleted since; therefore the cells beside the place count first. */
function locateNewPlace(
  part: ProposedPart,
  order: ProposalOrder,
  cells: readonly TabCell[]
): BlockPosition {
  const gaps = [
    [part.cell_above, 1],
    [part.cell_below, 0]
  ] as const;
  for (const [id, offset] of gaps) {
    const index = id == null ? -1 : findIndex(id, cells);
    if (isFound(index)) {
      return getGapPosition(index + offset, cells.length);
    }
  }
  return getGapPosition(order.countCellsBefore(part), cells.length);
}

function findCell(part: CellDiff, expectedIndex: number, cells: readonly TabCell[]): number | null {
  const indexes = [...cells.keys()];
  const [only, another] = indexes.filter(index => cells[index]?.id === part.cell_id);
  if (part.cell_id !== null && another === undefined) {
    return only ?? null;
  }
  // Cells without a unique id are identified by their source.
  const hasSource = (index: number): boolean => cells[index]?.source === part.before?.source;
  if (hasSource(expectedIndex)) {
    return expectedIndex;
  }
  const [matchingIndex, anotherIndex] = indexes.filter(hasSource);
  return matchingIndex !== undefined && anotherIndex === undefined
    ? matchingIndex
    : clampIndex(expectedIndex, cells);
}

function findIndex(id: string | null, cells: readonly TabCell[]): number {
  return cells.findIndex(cell => cell.id === id);
}

function isFound(index: number): boolean {
  return index >= 0;
}

function clampIndex(index: number, cells: readonly TabCell[]): number {
  return Math.max(0, Math.min(index, cells.length - 1));
}

/** The orders of proposals; all positions of a proposal are computed again at each change of a cell. */
const orders = new WeakMap<readonly ProposedPart[], ProposalOrder>();

function getOrder(parts: readonly ProposedPart[]): ProposalOrder {
  const order = orders.get(parts) ?? new ProposalOrder(parts);
  orders.set(parts, order);
  return order;
}

/** The order of cells before a proposal, with all of it, and with its accepted parts. */
class ProposalOrder {
  constructor(parts: readonly ProposedPart[]) {
    const inserts = parts.filter(isInsert);
    const deletes = parts.filter(({ after }) => after === null);
    const moves = parts.filter(({ moved, before, after }) => moved && before && after);
    this._leavingIndexes = sortNumbers([...deletes, ...moves].map(part => part.index_before ?? 0));
    this._leavingIndexSet = new Set(this._leavingIndexes);
    this._shiftedIndexes = sortNumbers([...inserts, ...moves].map(part => part.index ?? 0));
    this._acceptedDeletes = sortNumbers(
      deletes.filter(isAccepted).map(part => part.index_before ?? 0)
    );
    this._acceptedInserts = inserts
      .filter(isAccepted)
      .sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
    this._acceptedInsertHeights = sortNumbers(
      this._acceptedInserts.map(part => this._countStayingAbove(part))
    );
  }

  /** Map the index of a cell before the proposal to its current index. */
  mapIndex(index: number): number {
    const stayingCount = this._countStayingBefore(index);
    const deletedCount = countBelow(this._acceptedDeletes, index);
    return index - deletedCount + countBelow(this._acceptedInsertHeights, stayingCount + 1);
  }

  /** Count the current cells that are before a cell to insert or to move. */
  countCellsBefore(part: ProposedPart): number {
    const above = this._countStayingAbove(part);
    const insertedCount = this._listAcceptedInsertsBefore(part).length;
    return (above === 0 ? 0 : this._getIndexAfterStaying(above)) + insertedCount;
  }

  /** Return the ids of accepted cells right before a cell to insert or to move. */
  listNewCellsBefore(part: ProposedPart): (string | null)[] {
    return this._listAcceptedInsertsBefore(part).map(({ cell_id: id }) => id);
  }

  /** Return accepted inserts in the same gap between two cells that stay. */
  private _listAcceptedInsertsBefore(part: ProposedPart): ProposedPart[] {
    const above = this._countStayingAbove(part);
    return this._acceptedInserts.filter(
      other => (other.index ?? 0) < (part.index ?? 0) && this._countStayingAbove(other) === above
    );
  }

  /** Return the index after the given number of cells that stay. */
  private _getIndexAfterStaying(count: number): number {
    let index = -1;
    for (let remaining = count; remaining > 0;) {
      index++;
      remaining -= this._isStaying(index) ? 1 : 0;
    }
    return this.mapIndex(index) + 1;
  }

  /** Return whether the proposal neither deletes nor moves a cell. */
  private _isStaying(index: number): boolean {
    return !this._leavingIndexSet.has(index);
  }

  private _countStayingBefore(index: number): number {
    return index - countBelow(this._leavingIndexes, index);
  }

  /** Count the cells that stay above a cell to insert. */
  private _countStayingAbove({ index }: ProposedPart): number {
    return (index ?? 0) - countBelow(this._shiftedIndexes, index ?? 0);
  }

  /** The indexes before the proposal of cells that it deletes or moves. */
  private readonly _leavingIndexes: readonly number[];
  private readonly _leavingIndexSet: ReadonlySet<number>;
  /** The indexes with all of the proposal of cells that it inserts or moves. */
  private readonly _shiftedIndexes: readonly number[];
  private readonly _acceptedDeletes: readonly number[];
  private readonly _acceptedInserts: readonly ProposedPart[];
  /** How many staying cells are above each of the accepted inserts. */
  private readonly _acceptedInsertHeights: readonly number[];
}

function sortNumbers(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** Return how many of ascending numbers are less than a limit. */
function countBelow(numbers: readonly number[], limit: number): number {
  let [start, stop] = [0, numbers.length];
  while (start < stop) {
    const middle = (start + stop) >> 1;
    if ((numbers[middle] ?? limit) < limit) {
      start = middle + 1;
    } else {
      stop = middle;
    }
  }
  return start;
}

function isAccepted({ status }: ProposedPart): boolean {
  return status === 'accepted';
}
