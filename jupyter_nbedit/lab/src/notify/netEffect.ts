import type { UnseenCell, UnseenReply } from '../server/models';
import type { AttributedChange } from './attribution';

/** What several edits have changed in a notebook, all in all: nothing counts twice. */
export interface NetEffect {
  /** Number of cells whose content has changed. */
  readonly changed: number;
  readonly added: number;
  /** Number of cells that have only moved. */
  readonly moved: number;
  readonly deleted: number;
  readonly hasMetadataChange: boolean;
  /** Whether there may be more changes. */
  readonly isTruncated: boolean;
}

/** What happened to a cell, or to the notebook as a whole. */
export type Kind = 'changed' | 'added' | 'moved' | 'deleted' | 'metadata';

/** Return the newest edit of these changes; 0 if there is none. */
export function getNewestEdit(changes: readonly AttributedChange[]): number {
  return Math.max(0, ...changes.flatMap(({ edits }) => edits.map(({ id }) => id)));
}

/** Return whether the server's list of unseen changes considers all of these changes. */
function isKnown(unseen: UnseenReply | null, changes: readonly AttributedChange[]): boolean {
  return (
    unseen !== null &&
    changes.every(({ edits }) => edits.length > 0) &&
    getNewestEdit(changes) <= unseen.until
  );
}

/** Return the unseen cells to which these changes contributed; null if that is not known. */
function findUnseenCells(
  unseen: UnseenReply | null,
  changes: readonly AttributedChange[]
): UnseenCell[] | null {
  if (unseen === null || !isKnown(unseen, changes)) {
    return null;
  }
  const ids = new Set(changes.flatMap(({ edits }) => edits.map(({ id }) => id)));
  return unseen.cells.filter(cell => cell.edit_ids.some(id => ids.has(id)));
}

/** Return the edits that are kept or undone: they have no unseen change any more. */
export function listDecidedEdits(
  unseen: UnseenReply | null,
  changes: readonly AttributedChange[]
): number[] {
  if (unseen === null) {
    return [];
  }
  const unseenIds = new Set(unseen.cells.flatMap(cell => cell.edit_ids));
  return changes
    .flatMap(({ edits }) => edits.map(({ id }) => id))
    .filter(id => id <= unseen.until && !unseenIds.has(id));
}

/**
 * Return the net effect of changes: of the server's comparison, or else of the reported operations.
 *
 * @param unseen What was read last; null if it is not known.
 * @param keys The keys of the cells that the notebook has now.
 */
export function summarizeEffect(
  unseen: UnseenReply | null,
  changes: readonly AttributedChange[],
  keys: readonly string[]
): NetEffect {
  const unseenCells = findUnseenCells(unseen, changes);
  return unseenCells === null
    ? summarizeReports(changes, keys)
    : countKinds(unseenCells.map(getKind), false);
}

/**
 * Return the keys of the affected cells, in the order of the notebook: one for each change. A deleted
 * cell is represented by the cell that now follows the place where it was, the notebook by its first.
 */
export function listAffectedKeys(
  unseen: UnseenReply | null,
  changes: readonly AttributedChange[],
  keys: readonly string[]
): string[] {
  const unseenCells = findUnseenCells(unseen, changes);
  if (unseenCells === null) {
    const affected = new Set(changes.flatMap(({ cells }) => cells));
    return keys.filter(key => affected.has(key));
  }
  const counts = new Map<string, number>();
  for (const key of unseenCells.flatMap(cell => findKey(cell, keys) ?? [])) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return keys.flatMap(key => Array.from({ length: counts.get(key) ?? 0 }, () => key));
}

/**
 * Return the keys of the unseen changes that consist of these changes and of nothing else, so that
 * one request can undo them; null if there are no such changes or they include edits of others.
 */
export function findChangeKeys(
  unseen: UnseenReply | null,
  edits: readonly number[]
): string[] | null {
  const ids = new Set(edits);
  if (unseen === null || edits.some(id => id > unseen.until)) {
    return null;
  }
  const cells = unseen.cells.filter(({ edit_ids }) => edit_ids.some(id => ids.has(id)));
  const isShared = cells.some(({ edit_ids }) => !edit_ids.every(id => ids.has(id)));
  return cells.length === 0 || isShared ? null : cells.map(({ key }) => key);
}

/** Return the messages of the edits of these changes, oldest first, each once. */
export function listMessages(
  unseen: UnseenReply | null,
  changes: readonly AttributedChange[]
): string[] {
  const ids = new Set(changes.flatMap(({ edits }) => edits.map(({ id }) => id)));
  const messages = (unseen?.edits ?? []).flatMap(({ edit_id, message }) =>
    ids.has(edit_id) && message !== null ? [message] : []
  );
  return [...new Set(messages)];
}

/** Return the key of the cell at which a change is shown. */
function findKey(cell: UnseenCell, keys: readonly string[]): string | undefined {
  const kind = getKind(cell);
  if (kind === 'metadata') {
    return keys[0];
  }
  if (kind === 'deleted') {
    return keys[Math.min(cell.gap ?? cell.index_before ?? 0, keys.length - 1)];
  }
  return cell.cell_id !== null && keys.includes(cell.cell_id)
    ? cell.cell_id
    : keys[cell.index ?? -1];
}

export function getKind(cell: UnseenCell): Kind {
  const { before, after } = cell;
  if (cell.cell_id === null && cell.index === null && cell.index_before === null) {
    return 'metadata';
  }
  if (before === null) {
    return 'added';
  }
  if (after === null) {
    return 'deleted';
  }
  const isSame =
    before.cell_type === after.cell_type &&
    before.source === after.source &&
    JSON.stringify(before.metadata) === JSON.stringify(after.metadata) &&
    !cell.outputs_cleared;
  return isSame && cell.moved ? 'moved' : 'changed';
}

/** Return the net effect of the operations that events report. */
function summarizeReports(
  changes: readonly AttributedChange[],
  keys: readonly string[]
): NetEffect {
  const presentKeys = new Set(keys);
  const edits = new Map(changes.flatMap(({ edits }) => edits).map(edit => [edit.id, edit]));
  const operations = [...edits.values()]
    .sort((a, b) => a.id - b.id)
    .flatMap(({ operations }) => operations);
  const operationsByCell = new Map<string, string[]>();
  for (const { op, cell_id: id } of operations) {
    if (id !== null) {
      operationsByCell.set(id, [...(operationsByCell.get(id) ?? []), op]);
    }
  }
  const kinds = [...operationsByCell].flatMap(([id, ops]): Kind[] => {
    // A cell whose first operation inserts it was not there before.
    const isNew = ops[0] === 'insert';
    if (!presentKeys.has(id)) {
      return isNew ? [] : ['deleted'];
    }
    return [isNew ? 'added' : ops.every(op => op === 'move') ? 'moved' : 'changed'];
  });
  // Cells without an id, and cells for which no operation is reported.
  const unnamedCells = new Set(
    changes.flatMap(({ cells }) => cells).filter(key => !operationsByCell.has(key))
  );
  const removedCount = changes.reduce((sum, change) => sum + change.removedCount, 0);
  const reportedRemovals = [...operationsByCell].reduce((sum, [id, ops]) => {
    const deletions = ops.filter(op => op === 'delete').length;
    return sum + Math.max(deletions, presentKeys.has(id) ? 0 : 1);
  }, 0);
  const { changed, deleted, ...rest } = countKinds(
    kinds,
    changes.some(({ isTruncated }) => isTruncated)
  );
  return {
    ...rest,
    changed: changed + unnamedCells.size,
    deleted: deleted + Math.max(removedCount - reportedRemovals, 0),
    hasMetadataChange: changes.some(({ hasMetadataChange }) => hasMetadataChange)
  };
}

/** Count the cells of each kind. */
export function countKinds(kinds: readonly Kind[], isTruncated: boolean): NetEffect {
  const count = (kind: Kind): number => kinds.filter(each => each === kind).length;
  return {
    changed: count('changed'),
    added: count('added'),
    moved: count('moved'),
    deleted: count('deleted'),
    hasMetadataChange: kinds.includes('metadata'),
    isTruncated
  };
}
