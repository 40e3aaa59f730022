/** Texts of notifications. JupyterLab cuts them at 140 characters. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ConflictKind } from '../merge/cellMerge';
import type { DeferredKind } from '../merge/notebookMerge';
import { NbEditError, PAGE_CLIENT } from '../server/client';
import type { BypassedMode, FileProblem } from '../server/fileChanges';
import type { UndoResult } from '../server/undoEdits';
import { cleanName, cleanText, getDisplayName } from '../ui/displayText';
import type { NetEffect } from './netEffect';
import type { ConflictChoice } from './openConflicts';
import { describeRefusal } from './refusals';

/** Maximum number of cells and names that are listed; the rest is counted. */
const MAX_LISTED_CELLS = 4;
const MAX_LISTED_NAMES = 2;

/** Maximum length of a toast; JupyterLab cuts longer ones. */
const MAX_TOAST_LENGTH = 140;

/** Minimum length of a message that was cut: a shorter one says nothing. */
const MIN_MESSAGE_LENGTH = 8;

/** Minimum length of names that were cut. */
const MIN_NAME_LENGTH = 16;

/** Maximum length of a server message inside our own sentence. */
const MAX_REASON_LENGTH = 76;

/** Return the names of clients for display, or '' if there are none. */
export function formatClients(clients: readonly string[], trans: TranslationBundle): string {
  const displayNames = clients
    .map(client => (client === PAGE_CLIENT ? trans.__('You') : getDisplayName(client, trans)))
    .filter(name => name !== '');
  const unique = [...new Set(displayNames)];
  const [first = '', second] = unique;
  const more = unique.length - MAX_LISTED_NAMES;
  if (second === undefined) {
    return first;
  }
  return more > 0
    ? trans.__('%1, %2 and %3 more', first, second, more)
    : trans.__('%1 and %2', first, second);
}

/** What a toast about incoming changes says. */
export interface ChangeDescription {
  /** The names of the clients; '' if they are not known. */
  readonly clientNames: string;
  readonly file: string;
  /** Whether the user works in the notebook; its name is then not said. */
  readonly isCurrent: boolean;
  /** Why the changes were made, oldest first. */
  readonly messages: readonly string[];
  readonly effect: NetEffect;
  /** The mode that another program has bypassed; null if there is none. */
  readonly bypassedMode: BypassedMode | null;
}

/** Describe incoming changes. If the text is too long, the messages are cut, not the effect. */
export function describeIncomingChanges(
  { clientNames, file, isCurrent, messages, effect, bypassedMode }: ChangeDescription,
  trans: TranslationBundle
): string {
  const fileName = cleanName(file);
  const effectText = describeEffect(effect, trans);
  if (bypassedMode === 'review') {
    return trans.__('Another program changed %1 without review: %2', fileName, effectText);
  }
  if (bypassedMode === 'plan') {
    return trans.__(
      'Another program changed %1, although edits are paused: %2',
      fileName,
      effectText
    );
  }
  if (clientNames === '') {
    return trans.__('%1 changed on disk: %2', fileName, effectText);
  }
  const describe = (names: string, message: string): string => {
    const who = isCurrent ? names : trans.__('%1 in %2', names, fileName);
    return message === ''
      ? trans.__('%1: %2', who, effectText)
      : trans.__('%1: %2 - %3', who, message, effectText);
  };
  const excess = Math.max(describe(clientNames, '').length - MAX_TOAST_LENGTH, 0);
  const names = cleanText(clientNames, Math.max(clientNames.length - excess, MIN_NAME_LENGTH));
  return fitMessage(message => describe(names, message), messages, trans);
}

/** Return the text with as much of the newest message as a toast has room for. */
export function fitMessage(
  describe: (message: string) => string,
  messages: readonly string[],
  trans: TranslationBundle
): string {
  const shown = messages
    .map(message => cleanText(message, MAX_TOAST_LENGTH))
    .filter(message => message !== '');
  const newest = shown.at(-1) ?? '';
  const others = new Set(shown).size - 1;
  const countOthers = (message: string): string =>
    others < 1 ? message : trans._n('%2, and %1 more', '%2, and %1 more', others, message);
  const minLength = Math.min(newest.length, MIN_MESSAGE_LENGTH);
  for (let length = newest.length; length >= minLength && length > 0; length--) {
    const text = describe(countOthers(cleanText(newest, length)));
    if (text.length <= MAX_TOAST_LENGTH) {
      return text;
    }
  }
  return describe('');
}

/** Return the phrases of the counts that are not 0; the first phrase has the noun. */
export function chooseCountPhrases(
  phrases: readonly (readonly [count: number, first: string, next: string])[]
): string[] {
  return phrases
    .filter(([count]) => count > 0)
    .map(([, first, next], index) => (index === 0 ? first : next));
}

/** Describe a net effect: "2 cells changed, 1 deleted". */
function describeEffect(effect: NetEffect, trans: TranslationBundle): string {
  const { changed, added, moved, deleted, hasMetadataChange, isTruncated } = effect;
  const texts = chooseCountPhrases([
    [
      changed,
      trans._n('%1 cell changed', '%1 cells changed', changed),
      trans._n('%1 changed', '%1 changed', changed)
    ],
    [
      added,
      trans._n('%1 cell added', '%1 cells added', added),
      trans._n('%1 added', '%1 added', added)
    ],
    [
      moved,
      trans._n('%1 cell moved', '%1 cells moved', moved),
      trans._n('%1 moved', '%1 moved', moved)
    ],
    [
      deleted,
      trans._n('%1 cell deleted', '%1 cells deleted', deleted),
      trans._n('%1 deleted', '%1 deleted', deleted)
    ]
  ]);
  return [
    ...texts,
    ...(hasMetadataChange || texts.length === 0 ? [trans.__('the metadata changed')] : []),
    ...(isTruncated ? [trans.__('and others')] : [])
  ].join(', ');
}

/** Return the name of several clients that share a toast. */
export function formatMoreClients(count: number, trans: TranslationBundle): string {
  return trans._n('%1 more agent', '%1 more agents', count);
}

/** Return "1 change" or "3 changes". */
export function formatChangeCount(count: number, trans: TranslationBundle): string {
  return trans._n('%1 change', '%1 changes', count, count);
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
            formatCells(positions, 0, MAX_LISTED_CELLS, trans)
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

/** Describe what happens to a running cell when it has finished. */
export function describeDeferred(
  clientNames: string,
  kind: DeferredKind,
  trans: TranslationBundle
): string {
  const who = clientNames || trans.__('Another program');
  switch (kind) {
    case 'deleted':
      return trans.__('%1 will delete this cell when it has finished', who);
    case 'changed':
      return trans.__('%1 will change this cell when it has finished', who);
    case 'moved':
      return trans.__('%1 will move this cell when it has finished', who);
  }
}

/** Describe what happens to running cells when they have finished. */
export function describeDeferredCount(
  clientNames: string,
  kinds: readonly DeferredKind[],
  trans: TranslationBundle
): string {
  const who = clientNames || trans.__('Another program');
  const [first = 'changed'] = kinds;
  const { length: count } = kinds;
  switch (kinds.every(kind => kind === first) ? first : 'changed') {
    case 'deleted':
      return trans._n(
        '%2 will delete %1 cell when it has finished',
        '%2 will delete %1 cells when they have finished',
        count,
        who
      );
    case 'changed':
      return trans._n(
        '%2 will change %1 cell when it has finished',
        '%2 will change %1 cells when they have finished',
        count,
        who
      );
    case 'moved':
      return trans._n(
        '%2 will move %1 cell when it has finished',
        '%2 will move %1 cells when they have finished',
        count,
        who
      );
  }
}

/** Return the names of the authors who changed the file, as the other side of a conflict. */
export function formatOpponents(clients: readonly string[], trans: TranslationBundle): string {
  return formatClients(clients, trans) || trans.__('Another program');
}

/** Return whether the user has made both changes of a conflict, such as in another window. */
function isOwnConflict(clients: readonly string[]): boolean {
  return clients.length > 0 && clients.every(client => client === PAGE_CLIENT);
}

function isSeveral(clients: readonly string[]): boolean {
  return new Set(clients).size > 1;
}

/** Return whose the lines of a diff of both changes are. */
export function describeSides(clients: readonly string[], trans: TranslationBundle): string {
  return isOwnConflict(clients)
    ? trans.__('- Yours here, + yours in the file')
    : trans.__('- Yours, + %1’s', formatOpponents(clients, trans));
}

/** Describe how the clients and the user changed a cell. */
export function describeConflict(
  clients: readonly string[],
  kind: ConflictKind,
  trans: TranslationBundle
): string {
  const who = formatOpponents(clients, trans);
  const isOwn = isOwnConflict(clients);
  switch (kind) {
    case 'changed':
      if (isOwn) {
        return trans.__('You changed this cell here and in the file');
      }
      return isSeveral(clients)
        ? trans.__('%1 changed this cell, and so did you', who)
        : trans.__('%1 and you both changed this cell', who);
    case 'deleted-on-disk':
      return isOwn
        ? trans.__('You changed this cell here, and deleted it in the file')
        : trans.__('%1 deleted this cell, which you changed', who);
    case 'deleted-here':
      return isOwn
        ? trans.__('You deleted this cell here, and changed it in the file')
        : trans.__('%1 changed this cell, which you deleted', who);
  }
}

/**
 * Describe how many cells both sides changed.
 *
 * @param file The name of the file, or null if it need not be said.
 */
export function describeConflictCount(
  clients: readonly string[],
  file: string | null,
  count: number,
  trans: TranslationBundle
): string {
  if (isOwnConflict(clients)) {
    return file === null
      ? trans._n(
          'You changed %1 cell here and in the file',
          'You changed %1 cells here and in the file',
          count
        )
      : trans._n(
          'You changed %1 cell of %2 here and in the file',
          'You changed %1 cells of %2 here and in the file',
          count,
          cleanName(file)
        );
  }
  const who = cleanName(formatOpponents(clients, trans));
  if (isSeveral(clients)) {
    return file === null
      ? trans._n(
          '%2 changed %1 cell, and so did you',
          '%2 changed %1 cells, and so did you',
          count,
          who
        )
      : trans._n(
          '%2 changed %1 cell of %3, and so did you',
          '%2 changed %1 cells of %3, and so did you',
          count,
          who,
          cleanName(file)
        );
  }
  return file === null
    ? trans._n('%2 and you both changed %1 cell', '%2 and you both changed %1 cells', count, who)
    : trans._n(
        '%2 and you both changed %1 cell of %3',
        '%2 and you both changed %1 cells of %3',
        count,
        who,
        cleanName(file)
      );
}

/**
 * Describe conflicts, and what has become of them.
 *
 * @param choice What a setting has chosen, or null if the user has to choose.
 */
export function describeConflicts(
  clients: readonly string[],
  file: string | null,
  count: number,
  choice: ConflictChoice | null,
  trans: TranslationBundle
): string {
  const conflicts = describeConflictCount(clients, file, count, trans);
  switch (choice) {
    case null:
      return trans.__('%1. Yours stays until you choose.', conflicts);
    case 'mine':
      return trans.__('%1. Yours was kept.', conflicts);
    case 'theirs':
      return trans.__('%1. Theirs was taken.', conflicts);
    case 'both':
      return trans.__('%1. Both were kept.', conflicts);
  }
}

function formatEdits(edits: number, clientNames: string, trans: TranslationBundle): string {
  // An edit of the user needs no name.
  return clientNames === '' || clientNames === trans.__('You')
    ? trans._n('the edit', '%1 edits', edits, edits)
    : trans._n('the edit by %2', '%1 edits by %2', edits, clientNames);
}

/** Return "cells 3, 5 and 7"; cells that are not listed are counted. */
export function formatCells(
  positions: readonly number[],
  unlistedCount: number,
  maxCount: number,
  trans: TranslationBundle
): string {
  const names = positions.slice(0, maxCount).map(index => `${index + 1}`);
  const more = positions.length - names.length + unlistedCount;
  if (names.length === 0) {
    return trans._n('%1 cell', '%1 cells', more, more);
  }
  const last = more > 0 ? trans.__('%1 more', more) : names.pop();
  const text = names.length > 0 ? trans.__('%1 and %2', names.join(', '), last) : last;
  return positions.length + unlistedCount === 1
    ? trans.__('cell %1', text)
    : trans.__('cells %1', text);
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
      case 'unconnected':
      case 'page_unknown':
        return trans.__(
          'Without a WebSocket the server cannot tell that a person asks. Let agents edit first.'
        );
      case 'no_answer':
        return error.status === 404
          ? trans.__('This server keeps no history: its jupyter_nbedit is missing or too old.')
          : trans.__('The server’s answer cannot be read (HTTP %1).', error.status);
    }
    return cleanText(describeRefusal(error, trans), MAX_MESSAGE_LENGTH);
  }
  console.error('jupyter-nbedit:', error);
  return trans.__('An error occurred in the page; see the browser console.');
}
