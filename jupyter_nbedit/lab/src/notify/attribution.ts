import type { BypassedMode, FileChange } from '../server/fileChanges';
import type { OperationEntry } from '../server/models';
import { ANONYMOUS_USER, isAnonymousUserName } from '../ui/displayText';

/** The cells that an edit has affected, for notifications. */
export interface AffectedCells {
  /** Keys of the changed cells. */
  readonly cells: readonly string[];
  /** Number of removed cells. */
  readonly removedCount: number;
  /** Whether the notebook's metadata changed. */
  readonly hasMetadataChange: boolean;
}

/** Operations that may remove a cell. */
const REMOVING_OPERATIONS = new Set(['delete', 'merge']);

/** Return whether a notebook with these cells contains an edit, as far as ids can show it. */
export function isApplied(
  operations: readonly OperationEntry[],
  cells: readonly string[]
): boolean {
  const presentCells = new Set(cells);
  return [...getLastOperations(operations)].every(([id, op]) =>
    op === 'delete' ? !presentCells.has(id) : op === 'merge' || presentCells.has(id)
  );
}

/**
 * Summarize the operations of an edit.
 *
 * @param cells Keys of the cells that the notebook has now.
 */
export function summarizeOperations(
  operations: readonly OperationEntry[],
  cells: readonly string[]
): AffectedCells {
  const presentCells = new Set(cells);
  const lastOperations = getLastOperations(operations);
  const missing = [...lastOperations].filter(
    ([id, op]) => REMOVING_OPERATIONS.has(op) && !presentCells.has(id)
  );
  const withoutId = operations.filter(({ cell_id: id, index }) => id === null && index !== null);
  const cellsByIndex = withoutId
    .filter(({ op }) => !REMOVING_OPERATIONS.has(op))
    .flatMap(({ index }) => cells[index ?? -1] ?? []);
  return {
    cells: [
      ...new Set([
        ...[...lastOperations.keys()].filter(cell => presentCells.has(cell)),
        ...cellsByIndex
      ])
    ],
    removedCount: missing.length + withoutId.filter(({ op }) => op === 'delete').length,
    hasMetadataChange: operations.some(({ cell_id: id, index }) => id === null && index === null)
  };
}

/** Return the last operation on each cell that has an id. */
function getLastOperations(operations: readonly OperationEntry[]): Map<string, string> {
  return new Map(
    operations.flatMap(({ cell_id: id, op }) => (id === null ? [] : [[id, op] as const]))
  );
}

/** A change of a notebook that came from outside. */
export interface IncomingChange extends AffectedCells {
  /** Whether there may be more changes. */
  readonly isTruncated: boolean;
  /** The mode that another program has bypassed; null if there is none. */
  readonly bypassedMode: BypassedMode | null;
}

/** An edit of the history, with the cells that its event names. */
export interface AttributedEdit extends AffectedCells {
  readonly id: number;
  /** The operations that its event names. */
  readonly operations: readonly OperationEntry[];
}

/** A part of an incoming change, with the clients that made it. */
export interface AttributedChange extends IncomingChange {
  readonly clients: readonly string[];
  /** The edits of the history that it consists of, oldest first. */
  readonly edits: readonly AttributedEdit[];
  /** Whether it consists of these edits and of nothing else, and they can be undone. */
  readonly isComplete: boolean;
}

/**
 * Attribute an incoming change to the clients that made it.
 *
 * A change by one client is attributed to that client, regardless of what its events name. A change
 * by several clients is divided by what their events name, and the rest is attributed to all of
 * them.
 *
 * @param changes The reported changes, oldest first.
 * @param keys The keys of all cells of the notebook.
 */
export function attributeChange(
  change: IncomingChange,
  changes: readonly FileChange[],
  keys: readonly string[]
): AttributedChange[] {
  const edits = changes.filter(isServerEdit);
  const clients = [...new Set(edits.map(getClient))];
  if (clients.length < 2) {
    return [{ ...change, ...collectAttribution(edits, keys) }].filter(hasContent);
  }
  const changedCells = new Set(change.cells);
  const unattributedCells = new Set(changedCells);
  const attributed = clients.map(client => {
    const ownChanges = edits.filter(change => getClient(change) === client);
    const { cells, removedCount, hasMetadataChange } = summarizeChanges(ownChanges, keys);
    const changed = cells.filter(cell => changedCells.has(cell));
    changed.forEach(cell => unattributedCells.delete(cell));
    const isTruncated = ownChanges.some(change => change.isTruncated);
    const bypassedMode = findBypassedMode(ownChanges);
    return {
      cells: changed,
      removedCount,
      hasMetadataChange,
      isTruncated,
      bypassedMode,
      ...collectAttribution(ownChanges, keys)
    };
  });
  const rest = {
    cells: [...unattributedCells],
    removedCount: 0,
    hasMetadataChange: false,
    isTruncated: false,
    bypassedMode: null
  };
  return [
    ...attributed,
    { ...rest, ...collectAttribution(edits, keys), edits: [], isComplete: false }
  ].filter(hasContent);
}

/** Summarize the operations that the events of these edits name. */
export function summarizeChanges(
  edits: readonly FileChange[],
  keys: readonly string[]
): ReturnType<typeof summarizeOperations> {
  return summarizeOperations(
    edits.flatMap(({ operations }) => operations),
    keys
  );
}

/** Return the mode that a change has bypassed; null if there is none. */
export function findBypassedMode(
  changes: readonly { readonly bypassedMode: BypassedMode | null }[]
): BypassedMode | null {
  return changes.find(({ bypassedMode }) => bypassedMode !== null)?.bypassedMode ?? null;
}

/** Return whether a change was made through the server: only these have a hash. */
export function isServerEdit({ hash }: FileChange): boolean {
  return hash !== null;
}

/**
 * Return the client that made a change, if it is reported.
 *
 * Jupyter Server generates another user name for each request that is authenticated by its token:
 * edits under such names count as made by one client.
 */
export function getClient({ client }: FileChange): string | null {
  return client !== null && isAnonymousUserName(client) ? ANONYMOUS_USER : client;
}

/** Return the clients of the changes of a cell; of all changes if no change names the cell. */
export function listClientsOfCell(key: string, changes: readonly FileChange[]): string[] {
  const ofCell = changes.filter(({ operations }) =>
    operations.some(({ cell_id: id }) => id === key)
  );
  const clients = (ofCell.length > 0 ? ofCell : changes).flatMap(each => getClient(each) ?? []);
  return [...new Set(clients)];
}

/** Remove an edit that is no longer in effect from a change; return null if nothing is left. */
export function removeEdit(attributed: AttributedChange, id: number): AttributedChange | null {
  const undoneEdit = attributed.edits.find(edit => edit.id === id);
  if (undoneEdit === undefined) {
    return attributed;
  }
  const edits = attributed.edits.filter(edit => edit !== undoneEdit);
  const remainingCells = new Set(edits.flatMap(({ cells }) => cells));
  const withdrawnCells = new Set(undoneEdit.cells.filter(cell => !remainingCells.has(cell)));
  const cells = attributed.cells.filter(cell => !withdrawnCells.has(cell));
  const hasMetadataChange =
    attributed.hasMetadataChange &&
    (!undoneEdit.hasMetadataChange || edits.some(edit => edit.hasMetadataChange));
  const removedCount = Math.max(attributed.removedCount - undoneEdit.removedCount, 0);
  const rest = { ...attributed, edits, cells, removedCount, hasMetadataChange };
  return edits.length > 0 && hasContent(rest) ? rest : null;
}

function collectAttribution(
  edits: readonly FileChange[],
  keys: readonly string[]
): Pick<AttributedChange, 'clients' | 'edits' | 'isComplete'> {
  return {
    clients: [...new Set(edits.flatMap(change => getClient(change) ?? []))],
    edits: edits.flatMap(change =>
      change.editId === null
        ? []
        : [
            {
              id: change.editId,
              operations: change.operations,
              ...summarizeChanges([change], keys)
            }
          ]
    ),
    isComplete: edits.length > 0 && edits.every(({ isUndoable }) => isUndoable)
  };
}

function hasContent({ cells, removedCount, hasMetadataChange }: IncomingChange): boolean {
  return cells.length > 0 || removedCount > 0 || hasMetadataChange;
}
