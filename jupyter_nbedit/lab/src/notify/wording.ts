/** Texts of notifications. JupyterLab cuts them at 140 characters. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ConflictKind } from '../merge/cellMerge';
import { NbEditError } from '../server/client';
import type { FileProblem } from '../server/fileChanges';
import type { UndoResult } from '../server/undoEdits';
import { cleanName, cleanText, getDisplayName, isGeneratedUserName } from '../ui/displayText';
import type { AttributedChange } from './attribution';

/** The side of a conflict that is kept. */
export type ConflictChoice = 'mine' | 'theirs';

/** Maximum number of cells and names that are listed; the rest is counted. */
const MAX_LISTED_CELLS = 4;
const MAX_LISTED_NAMES = 2;

/** Maximum length of a server message inside our own sentence. */
const MAX_REASON_LENGTH = 76;

/** Return the names of clients for display, or '' if there are none. */
export function formatClients(clients: readonly string[], trans: TranslationBundle): string {
  const displayNames = clients
    .map(client => getDisplayName(client, trans))
    .filter(name => name !== '');
  const unique = [...new Set(displayNames)];
  const listedNames = unique.slice(0, MAX_LISTED_NAMES).join(', ');
  const more = unique.length - MAX_LISTED_NAMES;
  return more > 0 ? trans.__('%1 and %2 more', listedNames, more) : listedNames;
}

/**
 * Describe an incoming change.
 *
 * @param positions Indexes of the changed cells, in ascending order.
 */
export function describeIncomingChange(
  clientNames: string,
  file: string,
  positions: readonly number[],
  {
    removedCount,
    isTruncated,
    bypassedMode
  }: Pick<AttributedChange, 'removedCount' | 'isTruncated' | 'bypassedMode'>,
  trans: TranslationBundle
): string {
  const parts = [
    ...(positions.length > 0 ? [formatCells(positions, trans)] : []),
    ...(removedCount > 0 ? [trans._n('%1 cell removed', '%1 cells removed', removedCount)] : []),
    ...(isTruncated ? [trans.__('and others')] : [])
  ];
  const summary = parts.length > 0 ? parts.join(', ') : trans.__('the metadata');
  if (bypassedMode === 'review') {
    return trans.__('%1 changed on disk, without review: %2', cleanName(file), summary);
  }
  if (bypassedMode === 'plan') {
    return trans.__('%1 changed on disk, although edits are paused: %2', cleanName(file), summary);
  }
  return clientNames === ''
    ? trans.__('%1 changed on disk: %2', cleanName(file), summary)
    : trans.__('%1 edited %2: %3', clientNames, cleanName(file), summary);
}

/** Describe that a file is missing or unreadable. */
export function describeFileProblem(
  file: string,
  { kind, newPath, message }: FileProblem,
  trans: TranslationBundle
): string {
  switch (kind) {
    case 'deleted':
      return trans.__(
        '%1 was deleted on disk. This tab keeps its content; save it to create the file again.',
        cleanName(file)
      );
    case 'renamed':
      return trans.__(
        '%1 was renamed to %2 on disk. This tab keeps its content; open the file by its new name.',
        cleanName(file),
        cleanName(newPath?.split('/').at(-1) ?? '')
      );
    case 'unreadable':
      return trans.__(
        '%1 cannot be read from disk now. This tab keeps its content. %2',
        cleanName(file),
        getFirstClause(message ?? '')
      );
  }
}

/** Describe the change that a mark stands for. */
export function describeMark(clients: readonly string[], trans: TranslationBundle): string {
  if (clients.length > 0 && clients.every(isGeneratedUserName)) {
    return trans.__('Edit by an agent');
  }
  const clientNames = formatClients(clients, trans);
  return clientNames === ''
    ? trans.__('Changed on disk')
    : trans.__('Agent edit by %1', clientNames);
}

/** Describe an undo that is under way. */
export function describeUndoProgress(
  clientNames: string,
  file: string,
  edits: number,
  trans: TranslationBundle
): string {
  return trans.__('Undoing %1 in %2…', formatEdits(edits, clientNames, trans), cleanName(file));
}

/**
 * Describe the result of undoing several edits.
 *
 * @param positions Indexes of the conflicting cells, in ascending order.
 * @param missingCount Number of conflicting cells that no longer exist.
 */
export function describeUndoResult(
  clientNames: string,
  file: string,
  { requestedCount, undoneCount, hasMetadataConflict, failure }: UndoResult,
  positions: readonly number[],
  missingCount: number,
  trans: TranslationBundle
): string {
  if (undoneCount === requestedCount) {
    return trans.__(
      'Undid %1 in %2.',
      formatEdits(requestedCount, clientNames, trans),
      cleanName(file)
    );
  }
  const reasons = [
    ...(positions.length > 0
      ? [
          trans._n(
            '%2 has changed since',
            '%2 have changed since',
            positions.length,
            formatCells(positions, trans)
          )
        ]
      : []),
    ...(missingCount > 0 ? [trans._n('%1 cell is gone', '%1 cells are gone', missingCount)] : []),
    ...(hasMetadataConflict ? [trans.__('the metadata has changed since')] : [])
  ];
  const reason = failure === null ? `${reasons.join(', ')}.` : shortenReason(failure);
  return undoneCount === 0
    ? trans.__('Nothing was undone in %1: %2', cleanName(file), reason)
    : trans.__(
        'Undid %1 of %2 edits in %3: %4',
        undoneCount,
        requestedCount,
        cleanName(file),
        reason
      );
}

/**
 * Describe a conflict and its resolution.
 *
 * @param choice The side that a setting has chosen, or null.
 */
export function describeConflict(
  clients: readonly string[],
  file: string,
  kind: ConflictKind,
  position: number,
  choice: ConflictChoice | null,
  trans: TranslationBundle
): string {
  const clientNames = formatClients(clients, trans) || trans.__('Somebody');
  const values = [clientNames, position + 1, cleanName(file)] as const;
  switch (kind) {
    case 'changed':
      return choice === 'theirs'
        ? trans.__('%1 changed cell %2 of %3, and so did you. Theirs was taken.', ...values)
        : trans.__('%1 changed cell %2 of %3, and so did you. Your text was kept.', ...values);
    case 'deleted-on-disk':
      return choice === 'theirs'
        ? trans.__('%1 deleted cell %2 of %3, which you changed. It is gone.', ...values)
        : trans.__('%1 deleted cell %2 of %3, which you changed. It was kept.', ...values);
    case 'deleted-here':
      return choice === 'mine'
        ? trans.__('%1 changed cell %2 of %3, which you deleted. It stays deleted.', ...values)
        : trans.__('%1 changed cell %2 of %3, which you deleted. It was put back.', ...values);
  }
}

function formatEdits(edits: number, clientNames: string, trans: TranslationBundle): string {
  return clientNames === ''
    ? trans._n('the edit', '%1 edits', edits, edits)
    : trans._n('the edit by %2', '%1 edits by %2', edits, clientNames);
}

function formatCells(cells: readonly number[], trans: TranslationBundle): string {
  const listedCells = cells.slice(0, MAX_LISTED_CELLS).map(index => `${index + 1}`);
  const more = cells.length - listedCells.length;
  const last = more > 0 ? trans.__('%1 more', more) : (listedCells.pop() ?? '');
  const text = listedCells.length > 0 ? trans.__('%1 and %2', listedCells.join(', '), last) : last;
  return cells.length === 1 ? trans.__('cell %1', text) : trans.__('cells %1', text);
}

function shortenReason(text: string): string {
  const characters = Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim());
  return characters.length > MAX_REASON_LENGTH
    ? `${characters.slice(0, MAX_REASON_LENGTH - 1).join('')}…`
    : characters.join('');
}

/** Return the beginning of a server message, up to its details, as a sentence. */
function getFirstClause(text: string): string {
  const clause = shortenReason(text.split(/[.:;](?:\s|$)/u, 1)[0] ?? '');
  return clause === '' || clause.endsWith('…') ? clause : `${clause}.`;
}

/** Maximum length of a server message. */
const MAX_MESSAGE_LENGTH = 500;

/** Describe in words why something failed. */
export function describeError(error: unknown, trans: TranslationBundle): string {
  if (error instanceof NbEditError) {
    switch (error.reason) {
      case 'unreachable':
        return trans.__('The server does not answer.');
      case 'no_answer':
        return error.status === 404
          ? trans.__('This server keeps no history: its jupyter_nbedit is missing or too old.')
          : trans.__('The server’s answer cannot be read (HTTP %1).', error.status);
    }
    return cleanText(error.message, MAX_MESSAGE_LENGTH);
  }
  console.error('jupyter-nbedit:', error);
  return trans.__('An error occurred in the page; see the browser console.');
}
