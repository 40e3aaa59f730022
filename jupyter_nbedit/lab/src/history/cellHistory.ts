import type { CellDiff, DetailedEdit, HistoryEdit } from '../server/models';

/** A cell whose edits are listed. */
export interface CellIdentity {
  /** Its id in the file, or null if the file has no ids. */
  readonly id: string | null;
  readonly source: string;
}

/** Number of edits that are read to find a cell by its content. */
const MAX_READ_EDITS = 200;

/**
 * Finds the edits that changed one cell: by its id or, without ids, by its text: the edit that made
 * the present text, then the edit that made the text before that edit, and so on.
 */
export class CellHistory {
  /** @param _fetchEdit Requests an edit with its cell diffs. */
  constructor(
    private readonly _cell: CellIdentity,
    private readonly _fetchEdit: (edit: HistoryEdit) => Promise<DetailedEdit>
  ) {}

  /**
   * Return the edits that changed the cell.
   *
   * @param edits Edits of the cell's notebook, newest first.
   */
  async select(edits: readonly HistoryEdit[]): Promise<HistoryEdit[]> {
    const { id } = this._cell;
    return id === null ? this._selectByContent(edits) : this._selectById(edits, id);
  }

  private async _selectById(edits: readonly HistoryEdit[], id: string): Promise<HistoryEdit[]> {
    const found: HistoryEdit[] = [];
    for (const edit of edits) {
      const isListed = edit.operations.some(({ cell_id: each }) => each === id);
      if (isListed || (edit.truncated && (await this._hasPart(edit, id)))) {
        found.push(edit);
      }
    }
    return found;
  }

  private async _hasPart(edit: HistoryEdit, id: string): Promise<boolean> {
    return (await this._readParts(edit)).some(({ cell_id: each }) => each === id);
  }

  private async _selectByContent(edits: readonly HistoryEdit[]): Promise<HistoryEdit[]> {
    let { source }: { source: string | null } = this._cell;
    const found: HistoryEdit[] = [];
    for (const edit of edits.slice(0, MAX_READ_EDITS)) {
      const part = (await this._readParts(edit)).find(({ after }) => after?.source === source);
      if (part !== undefined) {
        found.push(edit);
        source = part.before?.source ?? null;
      }
      if (source === null) {
        // The edit has added the cell.
        break;
      }
    }
    return found;
  }

  private async _readParts(edit: HistoryEdit): Promise<readonly CellDiff[]> {
    let parts = this._parts.get(edit.edit_id);
    if (parts === undefined) {
      ({ parts } = await this._fetchEdit(edit));
      this._parts.set(edit.edit_id, parts);
    }
    return parts;
  }

  /** The cell diffs that were read, by the number of the edit; they never change. */
  private readonly _parts = new Map<number, readonly CellDiff[]>();
}
