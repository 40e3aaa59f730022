/** Texts of the history panel. Texts from files and clients are cleaned. */
import { Time } from '@jupyterlab/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { describeError, formatCells } from '../notify/wording';
import { isUndoCancelled, NbEditError } from '../server/client';
import type {
  CellDiff,
  ConflictingCell,
  EditReply,
  HistoryEdit,
  OperationEntry
} from '../server/models';
import type { EditGroup } from './editGroups';
import { cleanName, cleanText, getDisplayName, isAnonymousUserName } from '../ui/displayText';

/** Maximum number of cells that are listed; the rest is counted. */
const MAX_LISTED_CELLS = 5;

/** Maximum length of a message or path. The server accepts messages of 200 characters. */
const MAX_TEXT_LENGTH = 200;

const NOTEBOOK = 'notebook';

/** Describes what was done to cells. */
type OperationPhrase = (cells: string, trans: TranslationBundle) => string;

/** What an operation does, by its name; all others change their cells. */
const OPERATION_PHRASES: Readonly<Record<string, OperationPhrase>> = {
  insert: (cells, trans) => trans.__('%1 added', cells),
  delete: (cells, trans) => trans.__('%1 deleted', cells),
  move: (cells, trans) => trans.__('%1 moved', cells),
  split: (cells, trans) => trans.__('%1 split', cells),
  merge: (cells, trans) => trans.__('%1 merged', cells),
  restore: (cells, trans) => trans.__('%1 restored', cells),
  undo: (cells, trans) => trans.__('changes of %1 undone', cells),
  clear_outputs: (cells, trans) => trans.__('outputs of %1 cleared', cells),
  set_metadata: (cells, trans) => trans.__('metadata of %1 changed', cells),
  [NOTEBOOK]: (_, trans) => trans.__('metadata of the notebook changed')
};

const changeCells: OperationPhrase = (cells, trans) => trans.__('%1 changed', cells);

/** Describe an edit in a few words. */
export function describeEdit(edit: HistoryEdit, trans: TranslationBundle): string {
  switch (edit.kind) {
    case 'create':
      return trans._n(
        'Created with %1 cell',
        'Created with %1 cells',
        edit.total_cells,
        edit.total_cells
      );
    case 'undo':
      return trans.__('Undo: %1', describeCells(edit, trans));
    case 'redo':
      return trans.__('Redo: %1', describeCells(edit, trans));
    case 'edit':
    case 'undo_cells':
    case 'restore':
      return describeOperations(edit, trans);
    case 'outside':
      return edit.operations.length > 0
        ? describeOperations(edit, trans)
        : describeChangeWithoutCells(edit, trans);
  }
}

function describeChangeWithoutCells(edit: HistoryEdit, trans: TranslationBundle): string {
  return edit.undoable || edit.undone_by !== null
    ? trans.__('no cell changed, only metadata or the format of the file')
    : trans.__('changed; the version before is not known');
}

/** Describe who made an edit. The name of a client is not verified; see `describeIdentity`. */
export function describeAuthor(edit: HistoryEdit, trans: TranslationBundle): string {
  if (edit.kind === 'outside') {
    return trans.__('Another program');
  }
  const client = cleanName(edit.client ?? '');
  const user = getDisplayName(edit.user, trans);
  if (client === '') {
    return user;
  }
  return isAnonymousUserName(edit.user) ? client : trans.__('%1, by %2', client, user);
}

/** Say what a notebook becomes if it is restored: after which edit it was so, when, and by whom. */
export function describeRestore(edit: HistoryEdit, trans: TranslationBundle): string {
  return trans.__(
    '%1 becomes what it was on %2, after this edit by %3: %4',
    cleanName(edit.path.split('/').pop() ?? edit.path),
    Time.format(new Date(edit.time)),
    describeAuthor(edit, trans),
    formatMessage(edit) || describeEdit(edit, trans)
  );
}

/** Describe what is known about the author of an edit. */
export function describeIdentity(
  { client, user, kind }: HistoryEdit,
  trans: TranslationBundle
): string {
  if (kind === 'outside') {
    return trans.__('The file was written by a program that did not use this server');
  }
  if (isAnonymousUserName(user)) {
    return client === null
      ? trans.__('Signed in with the server’s token, without a user name')
      : trans.__(
          'Signed in with the server’s token, without a user name. The client calls itself %1, which nobody has verified.',
          cleanName(client)
        );
  }
  return client === null
    ? trans.__('User %1', cleanName(user))
    : trans.__(
        'User %1. The client calls itself %2, which nobody has verified.',
        cleanName(user),
        cleanName(client)
      );
}

/** Describe the edits of a group: "12 edits, 10:02–10:31". */
export function describeEditGroup(
  { count, newest, oldest }: EditGroup,
  hasMore: boolean,
  trans: TranslationBundle
): string {
  const number = hasMore
    ? trans.__('%1 or more edits', count)
    : trans._n('%1 edit', '%1 edits', count, count);
  const times = formatPeriod(new Date(oldest.time), new Date(newest.time), new Date());
  return `${number} · ${times}`;
}

/** Return a period: the days only if it was not today. */
export function formatPeriod(start: Date, end: Date, now: Date): string {
  const isToday = start.toDateString() === now.toDateString();
  const time = new Intl.DateTimeFormat(document.documentElement.lang || undefined, {
    ...(isToday ? {} : { month: 'short', day: 'numeric' }),
    hour: 'numeric',
    minute: '2-digit'
  });
  return time.formatRange(start, end);
}

/**
 * Describe several undos that were made in one go.
 *
 * @param edits The edits that were undone; undefined for edits that are not loaded.
 */
export function describeUndoGroup(
  edits: readonly (HistoryEdit | undefined)[],
  trans: TranslationBundle
): string {
  const authors = new Set(edits.map(edit => (edit ? describeAuthor(edit, trans) : '')));
  const [author = ''] = authors;
  const count = edits.length;
  return authors.size === 1 && author !== ''
    ? trans._n('Undid %1 edit of %2', 'Undid %1 edits of %2', count, author)
    : trans._n('Undid %1 edit', 'Undid %1 edits', count, count);
}

/** Return the first changed line of an edit for display; '' if there is none. */
export function formatSnippet({ snippet }: HistoryEdit): string {
  return cleanText(snippet ?? '', MAX_TEXT_LENGTH);
}

/** Return the numbers of changed lines with their signs, or null if no line has changed. */
export function formatLineCounts({
  lines_added: added,
  lines_removed: removed
}: HistoryEdit): { readonly added: string; readonly removed: string } | null {
  if (added === null || removed === null || added + removed === 0) {
    return null;
  }
  return { added: `+${added}`, removed: `−${removed}` };
}

/** Describe for a screen reader how many lines an edit has changed. */
export function describeLines(
  { lines_added: added, lines_removed: removed }: HistoryEdit,
  trans: TranslationBundle
): string {
  const addedText = trans._n('%1 line added', '%1 lines added', added ?? 0, added ?? 0);
  const removedText = trans._n('%1 line removed', '%1 lines removed', removed ?? 0, removed ?? 0);
  return `${addedText}, ${removedText}`;
}

/** Return the message of an edit for display; '' if there is none. */
export function formatMessage({ message }: HistoryEdit): string {
  return cleanText(message ?? '', MAX_TEXT_LENGTH);
}

/** Return a path for display. */
export function formatPath({ path }: HistoryEdit): string {
  return cleanText(path, MAX_TEXT_LENGTH);
}

/** Return the cells of an edit: "cells 3, 5 and 7". */
export function describeCells(
  edit: { readonly operations: readonly OperationEntry[]; readonly cells_changed?: number },
  trans: TranslationBundle
): string {
  const positions = listPositions(edit.operations);
  const unlistedCount = Math.max((edit.cells_changed ?? 0) - positions.length, 0);
  if (positions.length + unlistedCount === 0) {
    return trans.__('the notebook’s metadata');
  }
  return formatCells(positions, unlistedCount, MAX_LISTED_CELLS, trans);
}

/** Return the position of a cell diff: "Cell 3". */
export function describePosition(
  { index, index_before: before }: CellDiff,
  trans: TranslationBundle
): string {
  if (index !== null) {
    return trans.__('Cell %1', index + 1);
  }
  return before === null ? trans.__('Notebook metadata') : trans.__('Former cell %1', before + 1);
}

/** Describe what was done to a cell besides changing its text. */
export function describeChanges(part: CellDiff, trans: TranslationBundle): string[] {
  const { before, after } = part;
  const changes: string[] = [];
  if (part.cell_id === null && part.index === null && part.index_before === null) {
    return changes;
  }
  if (before === null) {
    changes.push(trans.__('added'));
  } else if (after === null) {
    changes.push(trans.__('deleted'));
  } else if (before.cell_type !== after.cell_type) {
    changes.push(
      trans.__('%1 to %2', cleanName(`${before.cell_type}`), cleanName(`${after.cell_type}`))
    );
  }
  if (part.moved) {
    changes.push(
      part.index_before === null
        ? trans.__('moved')
        : trans.__('moved from %1', part.index_before + 1)
    );
  }
  if (part.outputs_cleared) {
    changes.push(trans.__('outputs cleared'));
  }
  return changes;
}

/** Describe the conflicts that prevent an undo, cell by cell. */
export function describeConflicts(
  cells: readonly ConflictingCell[],
  metadata: readonly string[],
  trans: TranslationBundle
): string[] {
  const lines = cells.map(({ cell_id: id, index, why }) => {
    const cell =
      index === null
        ? trans.__('A cell (%1)', cleanName(id ?? trans.__('no id')))
        : trans.__('Cell %1', index + 1);
    switch (why) {
      case 'changed':
        return trans.__('%1 was changed since.', cell);
      case 'gone':
        return trans.__('%1 is gone.', cell);
      case 'ambiguous':
        return trans.__('%1 is not the only one like it.', cell);
      case 'no_place':
        return trans.__('%1 has no place left: the cells around it are gone.', cell);
    }
  });
  return metadata.length === 0
    ? lines
    : [
        ...lines,
        trans.__(
          'The notebook’s metadata was changed since: %1.',
          metadata.map(name => cleanName(name)).join(', ')
        )
      ];
}

function describeOperations(
  { operations, truncated }: HistoryEdit,
  trans: TranslationBundle
): string {
  const groups = new Map<OperationPhrase, OperationEntry[]>();
  for (const entry of operations) {
    const kind = isNotebookMetadata(entry) ? NOTEBOOK : entry.op;
    const formatPhrase = OPERATION_PHRASES[kind] ?? changeCells;
    groups.set(formatPhrase, [...(groups.get(formatPhrase) ?? []), entry]);
  }
  const phrases = [...groups].map(([formatPhrase, entries]) => {
    const unplacedCount = entries.filter(({ index }) => index === null).length;
    return formatPhrase(
      formatCells(listPositions(entries), unplacedCount, MAX_LISTED_CELLS, trans),
      trans
    );
  });
  return [...phrases, ...(truncated ? [trans.__('and others')] : [])].join(', ');
}

function isNotebookMetadata({ op, cell_id: id, index }: OperationEntry): boolean {
  return op === 'set_metadata' && id === null && index === null;
}

/** Return the indexes of the cells, unique and in ascending order. */
function listPositions(operations: readonly OperationEntry[]): number[] {
  const positions = operations.flatMap(({ index, cells = [] }) => [
    ...(index === null ? [] : [index]),
    ...cells.map(cell => cell.index)
  ]);
  return [...new Set(positions)].sort((a, b) => a - b);
}

/** Say what an undo or a redo has done: the undo of what a person has undone brings it back. */
export function describeUndoReply(
  reply: EditReply,
  command: 'undo' | 'redo',
  trans: TranslationBundle
): string {
  const isUndone = reply.undone?.[0]?.kind === 'undo_cells';
  const cells = describeCells(reply, trans);
  return (command === 'undo') === isUndone
    ? trans.__('Redone: %1', cells)
    : trans.__('Undone: %1', cells);
}

/** Describe why an undo or a redo failed, line by line; nothing if its user has cancelled it. */
export function describeUndoError(
  error: unknown,
  command: 'undo' | 'redo',
  trans: TranslationBundle
): string[] {
  if (isUndoCancelled(error)) {
    return [];
  }
  if (error instanceof NbEditError && error.reason === 'undo_conflict') {
    const { cells, metadata } = error.details as {
      readonly cells?: readonly ConflictingCell[];
      readonly metadata?: readonly string[];
    };
    return [
      command === 'undo' ? trans.__('Nothing was undone.') : trans.__('Nothing was redone.'),
      ...describeConflicts(cells ?? [], metadata ?? [], trans)
    ];
  }
  if (error instanceof NbEditError && error.reason === 'nothing_to_undo') {
    // The message of the server tells programs which request to send.
    const { edit_id: id, undone_by: undoneBy } = error.details;
    if (undoneBy !== undefined) {
      return [
        command === 'undo'
          ? trans.__('This edit is undone already.')
          : trans.__('This edit is redone already.')
      ];
    }
    if (id !== undefined) {
      return [
        command === 'undo'
          ? trans.__('This edit has created the notebook. Delete the file if you do not want it.')
          : trans.__('This edit was not undone, or was redone since.')
      ];
    }
    return [
      command === 'undo'
        ? trans.__('None of the newest edits of this notebook can be undone.')
        : trans.__('None of the newest edits of this notebook can be redone.')
    ];
  }
  return [describeError(error, trans)];
}
