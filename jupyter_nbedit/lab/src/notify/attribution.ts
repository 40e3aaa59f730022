import type { FileChange } from '../server/fileChanges';
import { isInvented, UNNAMED } from '../ui/displayText';

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

/** What came into a notebook from outside. */
export interface Arrived {
  /** Keys of the cells that changed. */
  readonly cells: readonly string[];
  /** How many cells were removed. */
  readonly removed: number;
  /** Whether the notebook's metadata changed. */
  readonly isOfNotebook: boolean;
  /** Whether there may be more of all this. */
  readonly isCut: boolean;
}

/** An edit of the server's history, and what its event says of it. */
export interface NumberedEdit extends Told {
  readonly id: number;
}

/** A part of what came, with who is said to have made it. */
export interface Share extends Arrived {
  readonly clients: readonly string[];
  /** The edits of the server's history that it is made of, oldest first. */
  readonly edits: readonly NumberedEdit[];
  /** Whether it is known to be made of these edits and of nothing else. */
  readonly isWhole: boolean;
}

/**
 * Say who made what, as far as that is said.
 *
 * What one client has made is its own, whatever its events name. What several have made is shared
 * out by what their events name, and what is left is of all of them.
 *
 * @param changes What was said, oldest first.
 * @param keys The keys of all cells of the notebook.
 */
export function shares(
  arrived: Arrived,
  changes: readonly FileChange[],
  keys: readonly string[]
): Share[] {
  const edits = changes.filter(isEdit);
  const clients = [...new Set(edits.map(clientOf))];
  if (clients.length < 2) {
    return [{ ...arrived, ...sayings(edits, keys) }].filter(isSomething);
  }
  const all = new Set(arrived.cells);
  const left = new Set(all);
  const shared = clients.map(client => {
    const own = edits.filter(change => clientOf(change) === client);
    const { cells, removed, isOfNotebook } = toldOf(own, keys);
    const changed = cells.filter(cell => all.has(cell));
    changed.forEach(cell => left.delete(cell));
    const isCut = own.some(change => change.isCut);
    return { cells: changed, removed, isOfNotebook, isCut, ...sayings(own, keys) };
  });
  const rest = { cells: [...left], removed: 0, isOfNotebook: false, isCut: false };
  return [...shared, { ...rest, ...sayings(edits, keys), edits: [], isWhole: false }].filter(
    isSomething
  );
}

/** What the events of these edits name in a notebook with these cells. */
export function toldOf(
  edits: readonly FileChange[],
  keys: readonly string[]
): ReturnType<typeof told> {
  return told(
    edits.flatMap(({ done }) => done),
    keys
  );
}

/** Whether a change is an edit made by our server: of others nobody tells the hash. */
export function isEdit({ hash }: FileChange): boolean {
  return hash !== null;
}

/**
 * Return who made a change, as far as it is said.
 *
 * Jupyter Server invents another user name for each request that brings its token: edits under such
 * names count as made by one client.
 */
export function clientOf({ client }: FileChange): string | null {
  return client !== null && isInvented(client) ? UNNAMED : client;
}

/**
 * Return what is left of a share without an edit that is not in effect any more, or null if that is
 * nothing.
 */
export function withoutEdit(share: Share, id: number): Share | null {
  const undone = share.edits.find(edit => edit.id === id);
  if (undone === undefined) {
    return share;
  }
  const edits = share.edits.filter(edit => edit !== undone);
  const stillTold = new Set(edits.flatMap(({ cells }) => cells));
  const gone = new Set(undone.cells.filter(cell => !stillTold.has(cell)));
  const cells = share.cells.filter(cell => !gone.has(cell));
  const isOfNotebook =
    share.isOfNotebook && (!undone.isOfNotebook || edits.some(edit => edit.isOfNotebook));
  const removed = Math.max(share.removed - undone.removed, 0);
  const rest = { ...share, edits, cells, removed, isOfNotebook };
  return edits.length > 0 && isSomething(rest) ? rest : null;
}

function sayings(
  edits: readonly FileChange[],
  keys: readonly string[]
): Pick<Share, 'clients' | 'edits' | 'isWhole'> {
  return {
    clients: [...new Set(edits.flatMap(change => clientOf(change) ?? []))],
    edits: edits.flatMap(change =>
      change.edit === null ? [] : [{ id: change.edit, ...toldOf([change], keys) }]
    ),
    isWhole: edits.length > 0 && edits.every(({ edit }) => edit !== null)
  };
}

function isSomething({ cells, removed, isOfNotebook }: Arrived): boolean {
  return cells.length > 0 || removed > 0 || isOfNotebook;
}
