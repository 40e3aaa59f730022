/** One cell that an edit touched, or the notebook's metadata, as the edit's event has it. */
export interface Done {
  /** The operation's name. */
  readonly op: string;
  /** The cell's id, or null if it has none. */
  readonly cell: string | null;
  /** Where the cell stands after the edit; null for the notebook as a whole. */
  readonly index: number | null;
}

/** What is told of an edit. */
export interface Told {
  /** Names of the cells that changed. */
  readonly cells: readonly string[];
  /** How many cells were removed. */
  readonly removed: number;
  /** Whether the notebook's metadata changed. */
  readonly isOfNotebook: boolean;
}

/** Operations after which a cell may be gone. */
const MAY_REMOVE = new Set(['delete', 'merge']);

/** Whether a notebook with these cells has what the edit did, as far as names can show it. */
export function isThere(edit: readonly Done[], cells: readonly string[]): boolean {
  const present = new Set(cells);
  return [...lastDone(edit)].every(([cell, op]) =>
    op === 'delete' ? !present.has(cell) : op === 'merge' || present.has(cell)
  );
}

/**
 * What to tell of an edit.
 *
 * @param cells Names of the cells the notebook has now.
 */
export function told(edit: readonly Done[], cells: readonly string[]): Told {
  const present = new Set(cells);
  const last = lastDone(edit);
  const gone = [...last].filter(([cell, op]) => MAY_REMOVE.has(op) && !present.has(cell));
  const nameless = edit.filter(({ cell, index }) => cell === null && index !== null);
  const atIndex = nameless
    .filter(({ op }) => !MAY_REMOVE.has(op))
    .flatMap(({ index }) => cells[index ?? -1] ?? []);
  return {
    cells: [...new Set([...[...last.keys()].filter(cell => present.has(cell)), ...atIndex])],
    removed: gone.length + nameless.filter(({ op }) => op === 'delete').length,
    isOfNotebook: edit.some(({ cell, index }) => cell === null && index === null)
  };
}

/** What was done last to each cell that has a name. */
function lastDone(edit: readonly Done[]): Map<string, string> {
  return new Map(edit.flatMap(({ cell, op }) => (cell === null ? [] : [[cell, op] as const])));
}
