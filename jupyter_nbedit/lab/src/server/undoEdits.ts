import { isUndoCancelled, type NbEditError } from './client';
import type { ConflictingCell } from './models';

/** Details of an `undo_conflict` error. */
interface UndoConflictDetails {
  readonly cells?: readonly ConflictingCell[];
  readonly metadata?: readonly string[];
}

/** Return whether an edit cannot be undone because somebody has undone it already. */
export function isUndoneAlready(error: unknown): boolean {
  const { reason, details } = error as Partial<NbEditError>;
  return reason === 'nothing_to_undo' && details?.undone_by !== undefined;
}

/** The result of undoing several edits. */
export interface UndoResult {
  /** Number of edits to undo. */
  readonly requestedCount: number;
  /** Number of edits that are undone now. */
  readonly undoneCount: number;
  /** The cells that have changed since, and prevent the undo of the other edits. */
  readonly conflictingCells: readonly ConflictingCell[];
  /** Whether the notebook's metadata have also changed since. */
  readonly hasMetadataConflict: boolean;
  /** Why another error ended the undo, in words; the remaining edits were not tried. */
  readonly failure: string | null;
  /** Whether the user has cancelled the undo of the remaining edits, and needs no message. */
  readonly isCancelled: boolean;
}

/** Return the result of an undo of all edits. */
export function makeUndoResult(count: number): UndoResult {
  return {
    requestedCount: count,
    undoneCount: count,
    conflictingCells: [],
    hasMetadataConflict: false,
    failure: null,
    isCancelled: false
  };
}

/**
 * Undo edits of one notebook, newest first, so that each finds the cells as it left them.
 *
 * An edit that cannot be undone stays; the edits before it are tried all the same.
 *
 * @param editIds The edits, oldest first.
 * @param undo Undoes one edit, or throws the server's error.
 * @param describeError Returns the error in words.
 */
export async function undoEdits(
  editIds: readonly number[],
  undo: (editId: number) => Promise<unknown>,
  describeError: (error: unknown) => string
): Promise<UndoResult> {
  const conflictingCells: ConflictingCell[] = [];
  let hasMetadataConflict = false;
  let undoneCount = 0;
  let failure: string | null = null;
  let isCancelled = false;
  for (const editId of [...editIds].reverse()) {
    try {
      await undo(editId);
      undoneCount++;
    } catch (error) {
      const { reason, details } = error as Partial<NbEditError>;
      const { cells = [], metadata = [] } = (details ?? {}) as UndoConflictDetails;
      if (reason === 'nothing_to_undo') {
        // Another client has undone it already.
        undoneCount++;
      } else if (reason === 'undo_conflict' && cells.length + metadata.length > 0) {
        conflictingCells.push(...cells);
        hasMetadataConflict ||= metadata.length > 0;
      } else {
        isCancelled = isUndoCancelled(error);
        failure = isCancelled ? null : describeError(error);
        break;
      }
    }
  }
  return {
    requestedCount: editIds.length,
    undoneCount,
    conflictingCells,
    hasMetadataConflict,
    failure,
    isCancelled
  };
}
