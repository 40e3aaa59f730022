import { told } from './done';
import type { FileChange } from './events';

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

/** A part of what came, with who is said to have made it. */
export interface Share extends Arrived {
  readonly clients: readonly string[];
  /** The edits of the server's history that it is made of, oldest first. */
  readonly edits: readonly number[];
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
  const clients = [...new Set(edits.map(({ client }) => client))];
  if (clients.length < 2) {
    return [{ ...arrived, ...sayings(edits) }].filter(isSomething);
  }
  const left = new Set(arrived.cells);
  const shared = clients.map(client => {
    const own = edits.filter(change => change.client === client);
    const { cells, removed, isOfNotebook } = toldOf(own, keys);
    const changed = cells.filter(cell => arrived.cells.includes(cell));
    changed.forEach(cell => left.delete(cell));
    const isCut = own.some(change => change.isCut);
    return { cells: changed, removed, isOfNotebook, isCut, ...sayings(own) };
  });
  const rest = { cells: [...left], removed: 0, isOfNotebook: false, isCut: false };
  return [...shared, { ...rest, ...sayings(edits), edits: [], isWhole: false }].filter(isSomething);
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

function sayings(edits: readonly FileChange[]): Pick<Share, 'clients' | 'edits' | 'isWhole'> {
  return {
    clients: [...new Set(edits.flatMap(({ client }) => client ?? []))],
    edits: edits.flatMap(({ edit }) => edit ?? []),
    isWhole: edits.length > 0 && edits.every(({ edit }) => edit !== null)
  };
}

function isSomething({ cells, removed, isOfNotebook }: Arrived): boolean {
  return cells.length > 0 || removed > 0 || isOfNotebook;
}
