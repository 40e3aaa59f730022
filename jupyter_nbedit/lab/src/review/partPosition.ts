import type { Part, ProposalPart } from '../server/models';

/** What the places of a proposal go by of a cell in the tab. */
export interface ShownCell {
  readonly id: string;
  readonly type: string;
  readonly source: string;
}

/** Where a part of a proposal is shown. */
export interface Place {
  /** The index of the cell it is shown at. */
  readonly cell: number;
  readonly side: 'above' | 'below';
  /** What the tab has of the cell: as the proposal is about it, something else, or nothing. */
  readonly state: 'as-proposed' | 'changed' | 'gone';
}

/** Where something was shown, by the id of the cell. */
export interface Anchor {
  readonly id: string;
  readonly side: Place['side'];
}

/** Whether a part is about the notebook's metadata and about no cell. */
export function isAboutNotebook(part: Part): boolean {
  return part.cell_id === null && part.index_before === null && part.index === null;
}

/** Whether a part brings a cell. */
export function isInsert(part: Part): boolean {
  return part.before === null && !isAboutNotebook(part);
}

/**
 * Find the place of a part in a notebook that may have changed since it was proposed.
 *
 * Indexes count in the notebook as it was, or as it would be with all parts; both are brought to
 * what the tab shows by the parts that were accepted.
 *
 * @param parts All parts of the proposal.
 * @param cells The cells of the tab, of which JupyterLab always shows one at least.
 * @param anchor Where a cell that is to be inserted was shown before: it stays there when other
 *   cells come and go.
 */
export function placeOf(
  part: ProposalPart,
  parts: readonly ProposalPart[],
  cells: readonly ShownCell[],
  anchor: Anchor | null = null
): Place {
  if (isAboutNotebook(part)) {
    return { cell: 0, side: 'above', state: 'as-proposed' };
  }
  const order = new Order(parts);
  if (isInsert(part)) {
    const at = (id: string | null): number => cells.findIndex(cell => cell.id === id);
    const neighbour = order.newCellsBefore(part).map(at).filter(isFound).pop();
    if (neighbour !== undefined) {
      return { cell: neighbour, side: 'below', state: 'as-proposed' };
    }
    if (anchor !== null && isFound(at(anchor.id))) {
      return { cell: at(anchor.id), side: anchor.side, state: 'as-proposed' };
    }
    const before = order.cellsBefore(part);
    return before === 0
      ? { cell: 0, side: 'above', state: 'as-proposed' }
      : { cell: inRange(before - 1, cells), side: 'below', state: 'as-proposed' };
  }
  const expected = order.current(part.index_before ?? 0);
  const found = find(part, expected, cells);
  const cell = cells[found ?? -1];
  if (found === null || cell === undefined) {
    return { cell: inRange(expected - 1, cells), side: 'below', state: 'gone' };
  }
  const isSame = cell.source === part.before?.source && cell.type === part.before.cell_type;
  return { cell: found, side: 'below', state: isSame ? 'as-proposed' : 'changed' };
}

function find(part: Part, expected: number, cells: readonly ShownCell[]): number | null {
  const indexes = [...cells.keys()];
  const [only, another] = indexes.filter(index => cells[index]?.id === part.cell_id);
  if (part.cell_id !== null && another === undefined) {
    return only ?? null;
  }
  // Cells without ids, or with one that others have too, are known by where they stand.
  const isIt = (index: number): boolean => cells[index]?.source === part.before?.source;
  if (isIt(expected)) {
    return expected;
  }
  const [same, ambiguous] = indexes.filter(isIt);
  return same !== undefined && ambiguous === undefined ? same : inRange(expected, cells);
}

function isFound(index: number): boolean {
  return index >= 0;
}

function inRange(index: number, cells: readonly ShownCell[]): number {
  return Math.max(0, Math.min(index, cells.length - 1));
}

/** The order of the cells before a proposal, with all of it, and with what was accepted of it. */
class Order {
  constructor(parts: readonly ProposalPart[]) {
    this._inserts = parts.filter(isInsert);
    this._deletes = parts.filter(({ after }) => after === null);
    this._moves = parts.filter(({ moved, before, after }) => moved && before && after);
  }

  /** Where a cell of the former notebook stands now, if it is still there. */
  current(index: number): number {
    const stays = this._staysBefore(index);
    const gone = this._deletes.filter(part => isAccepted(part) && (part.index_before ?? 0) < index);
    const come = this._inserts.filter(part => isAccepted(part) && this._staysAbove(part) <= stays);
    return index - gone.length + come.length;
  }

  /** How many cells of the present notebook are to stand before one that is to be inserted. */
  cellsBefore(part: ProposalPart): number {
    const above = this._staysAbove(part);
    const come = this._cameBefore(part).length;
    return (above === 0 ? 0 : this._afterStay(above)) + come;
  }

  /** The ids of the cells that were accepted and stand right before one that is to be inserted. */
  newCellsBefore(part: ProposalPart): (string | null)[] {
    return this._cameBefore(part).map(({ cell_id: id }) => id);
  }

  /** What was accepted of the same gap between two cells that stay. */
  private _cameBefore(part: ProposalPart): ProposalPart[] {
    const above = this._staysAbove(part);
    return this._inserts
      .filter(other => isAccepted(other) && this._staysAbove(other) === above)
      .filter(other => (other.index ?? 0) < (part.index ?? 0))
      .sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  }

  /** Just after the cell before which so many others stay. */
  private _afterStay(count: number): number {
    let index = -1;
    for (let left = count; left > 0;) {
      index++;
      left -= this._stays(index) ? 1 : 0;
    }
    return this.current(index) + 1;
  }

  /** Whether a cell of the former notebook is neither deleted nor moved by the proposal. */
  private _stays(index: number): boolean {
    return ![...this._deletes, ...this._moves].some(part => part.index_before === index);
  }

  private _staysBefore(index: number): number {
    const leaves = [...this._deletes, ...this._moves];
    return index - leaves.filter(part => (part.index_before ?? 0) < index).length;
  }

  /** How many cells that stay are above one that is to be inserted. */
  private _staysAbove({ index }: ProposalPart): number {
    const others = [...this._inserts, ...this._moves];
    return (index ?? 0) - others.filter(other => (other.index ?? 0) < (index ?? 0)).length;
  }

  private readonly _inserts: readonly ProposalPart[];
  private readonly _deletes: readonly ProposalPart[];
  private readonly _moves: readonly ProposalPart[];
}

function isAccepted({ status }: ProposalPart): boolean {
  return status === 'accepted';
}
