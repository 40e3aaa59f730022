/** Groups the edits of a history: by author and time, and undos that were made in one go. */
import type { HistoryEdit } from '../server/models';
import { isAnonymousUserName } from '../ui/displayText';

/** The longest pause within a group, in milliseconds. */
const MAX_PAUSE = 30 * 60_000;

/** The longest pause between two undos that are shown as one, in milliseconds. */
const MAX_UNDO_PAUSE = 60_000;

/** What one row shows, newest first: one edit, or several undos that were made in one go. */
export type RowEdits = readonly [HistoryEdit, ...HistoryEdit[]];

/** Consecutive edits of one author without a long pause, newest first. */
export interface EditGroup {
  readonly rows: readonly RowEdits[];
  /** Number of edits. */
  readonly count: number;
  readonly newest: HistoryEdit;
  readonly oldest: HistoryEdit;
}

/** Return a key that is equal for edits of the same author, as far as authors can be told apart. */
export function getAuthorKey({ kind, client, user }: HistoryEdit): string {
  if (kind === 'outside') {
    return 'outside';
  }
  return JSON.stringify([client, isAnonymousUserName(user) ? '' : user]);
}

/** @param edits The edits, newest first. */
export function groupEdits(edits: readonly HistoryEdit[]): EditGroup[] {
  return splitRuns(edits, isSameGroup).map(run => {
    const rows = splitRuns(run, isSameUndo);
    return { rows, count: run.length, newest: run[0], oldest: run.at(-1) ?? run[0] };
  });
}

/** Split a list into runs of neighbours that belong together. */
function splitRuns(
  edits: readonly HistoryEdit[],
  belongTogether: (newer: HistoryEdit, older: HistoryEdit) => boolean
): RowEdits[] {
  const runs: [HistoryEdit, ...HistoryEdit[]][] = [];
  for (const edit of edits) {
    const run = runs.at(-1);
    const newer = run?.at(-1);
    if (run !== undefined && newer !== undefined && belongTogether(newer, edit)) {
      run.push(edit);
    } else {
      runs.push([edit]);
    }
  }
  return runs;
}

function isSameGroup(newer: HistoryEdit, older: HistoryEdit): boolean {
  return getAuthorKey(newer) === getAuthorKey(older) && measurePause(newer, older) <= MAX_PAUSE;
}

function isSameUndo(newer: HistoryEdit, older: HistoryEdit): boolean {
  return (
    newer.kind === 'undo' &&
    older.kind === 'undo' &&
    newer.path === older.path &&
    measurePause(newer, older) <= MAX_UNDO_PAUSE
  );
}

function measurePause(newer: HistoryEdit, older: HistoryEdit): number {
  return new Date(newer.time).getTime() - new Date(older.time).getTime();
}
