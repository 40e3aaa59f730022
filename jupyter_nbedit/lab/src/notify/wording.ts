/** The words in which users are told of edits. JupyterLab cuts them at 140 characters. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ConflictKind } from '../merge/cellMerge';
import { Refusal } from '../server/client';
import type { Outcome } from '../server/undoEdits';
import { clean, cleanText, displayName, isInvented } from '../ui/displayText';
import type { Share } from './attribution';

/** The sides of a conflict. */
export type Choice = 'mine' | 'theirs';

/** More cells and names than this are counted, not listed. */
const LISTED_CELLS = 4;
const LISTED_NAMES = 2;

/** Longest part of a refusal that fits beside our own words. */
const LONGEST_REASON = 76;

/** Return names as they may be shown, or '' if there is none. */
export function names(clients: readonly string[], trans: TranslationBundle): string {
  const shown = clients.map(client => displayName(client, trans)).filter(name => name !== '');
  const unique = [...new Set(shown)];
  const listed = unique.slice(0, LISTED_NAMES).join(', ');
  const more = unique.length - LISTED_NAMES;
  return more > 0 ? trans.__('%1 and %2 more', listed, more) : listed;
}

/**
 * Return a sentence about what came into a notebook.
 *
 * @param positions Where the changed cells stand, from 0, in order.
 */
export function arrivalText(
  who: string,
  file: string,
  positions: readonly number[],
  { removed, isCut }: Pick<Share, 'removed' | 'isCut'>,
  trans: TranslationBundle
): string {
  const parts = [
    ...(positions.length > 0 ? [listCells(positions, trans)] : []),
    ...(removed > 0 ? [trans._n('%1 cell removed', '%1 cells removed', removed)] : []),
    ...(isCut ? [trans.__('and others')] : [])
  ];
  const what = parts.length > 0 ? parts.join(', ') : trans.__('the metadata');
  return who === ''
    ? trans.__('%1 changed on disk: %2', clean(file), what)
    : trans.__('%1 edited %2: %3', who, clean(file), what);
}

/** Return the label of a change at its cell. */
export function markText(clients: readonly string[], trans: TranslationBundle): string {
  if (clients.length > 0 && clients.every(isInvented)) {
    return trans.__('Edit by an agent');
  }
  const who = names(clients, trans);
  return who === '' ? trans.__('Changed on disk') : trans.__('Agent edit by %1', who);
}

/** Return a sentence that says that edits are being taken back. */
export function takingBackText(
  who: string,
  file: string,
  edits: number,
  trans: TranslationBundle
): string {
  return trans.__('Taking back %1 in %2…', nameEdits(edits, who, trans), clean(file));
}

/**
 * Return a sentence about how taking back edits went.
 *
 * @param positions Where the cells that stand in the way are, from 0, in order.
 * @param gone How many of those are no more.
 */
export function takenBackText(
  who: string,
  file: string,
  { asked, undone, isMetadataInTheWay, failure }: Outcome,
  positions: readonly number[],
  gone: number,
  trans: TranslationBundle
): string {
  if (undone === asked) {
    return trans.__('Took back %1 in %2.', nameEdits(asked, who, trans), clean(file));
  }
  const reasons = [
    ...(positions.length > 0
      ? [
          trans._n(
            '%2 has changed since',
            '%2 have changed since',
            positions.length,
            listCells(positions, trans)
          )
        ]
      : []),
    ...(gone > 0 ? [trans._n('%1 cell is gone', '%1 cells are gone', gone)] : []),
    ...(isMetadataInTheWay ? [trans.__('the metadata has changed since')] : [])
  ];
  const why = failure === null ? `${reasons.join(', ')}.` : cut(failure);
  return undone === 0
    ? trans.__('Nothing was taken back in %1: %2', clean(file), why)
    : trans.__('Took back %1 of %2 edits in %3: %4', undone, asked, clean(file), why);
}

/**
 * Return a sentence that says that both sides changed a cell, and what has become of it.
 *
 * @param choice What was chosen for the user, or null if nothing was.
 */
export function conflictText(
  clients: readonly string[],
  file: string,
  kind: ConflictKind,
  position: number,
  choice: Choice | null,
  trans: TranslationBundle
): string {
  const who = names(clients, trans) || trans.__('Somebody');
  const place = [who, position + 1, clean(file)] as const;
  switch (kind) {
    case 'changed':
      return choice === 'theirs'
        ? trans.__('%1 changed cell %2 of %3, and so did you. Theirs was taken.', ...place)
        : trans.__('%1 changed cell %2 of %3, and so did you. Your text was kept.', ...place);
    case 'deleted-on-disk':
      return choice === 'theirs'
        ? trans.__('%1 deleted cell %2 of %3, which you changed. It is gone.', ...place)
        : trans.__('%1 deleted cell %2 of %3, which you changed. It was kept.', ...place);
    case 'deleted-here':
      return choice === 'mine'
        ? trans.__('%1 changed cell %2 of %3, which you deleted. It stays deleted.', ...place)
        : trans.__('%1 changed cell %2 of %3, which you deleted. It was put back.', ...place);
  }
}

function nameEdits(edits: number, who: string, trans: TranslationBundle): string {
  return who === ''
    ? trans._n('the edit', '%1 edits', edits, edits)
    : trans._n('the edit by %2', '%1 edits by %2', edits, who);
}

function listCells(cells: readonly number[], trans: TranslationBundle): string {
  const listed = cells.slice(0, LISTED_CELLS).map(index => `${index + 1}`);
  const more = cells.length - listed.length;
  const last = more > 0 ? trans.__('%1 more', more) : (listed.pop() ?? '');
  const text = listed.length > 0 ? trans.__('%1 and %2', listed.join(', '), last) : last;
  return cells.length === 1 ? trans.__('cell %1', text) : trans.__('cells %1', text);
}

function cut(text: string): string {
  const characters = Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim());
  return characters.length > LONGEST_REASON
    ? `${characters.slice(0, LONGEST_REASON - 1).join('')}…`
    : characters.join('');
}

/** Longest text of the server that is shown. */
const LONGEST_MESSAGE = 500;

/** Why something failed, in words. */
export function explain(error: unknown, trans: TranslationBundle): string {
  if (error instanceof Refusal) {
    switch (error.reason) {
      case 'unreachable':
        return trans.__('The server does not answer.');
      case 'no_answer':
        return error.status === 404
          ? trans.__('This server keeps no history: its jupyter_nbedit is missing or too old.')
          : trans.__('The server’s answer cannot be read (HTTP %1).', error.status);
    }
    return cleanText(error.message, LONGEST_MESSAGE);
  }
  console.error('jupyter-nbedit:', error);
  return trans.__('Something failed in the page; its console says more.');
}
