/** The words in which users are told of edits. JupyterLab cuts them at 140 characters. */
import type { ConflictKind } from './cell';
import { clean } from './names';
import type { Share } from './shares';
import type { Outcome } from './takeback';

/** The sides of a conflict. */
export type Choice = 'mine' | 'theirs';

/** More cells and names than this are counted, not listed. */
const LISTED_CELLS = 4;
const LISTED_NAMES = 2;

/** Longest part of a refusal that fits beside our own words. */
const LONGEST_REASON = 76;

/** Names as they may be shown, or '' if there is none. */
export function names(clients: readonly string[]): string {
  const cleaned = [...new Set(clients.map(clean))].filter(name => name !== '');
  const listed = cleaned.slice(0, LISTED_NAMES);
  const more = cleaned.length - listed.length;
  return more > 0 ? `${listed.join(', ')} and ${more} more` : listed.join(', ');
}

/**
 * Say what came into a notebook.
 *
 * @param positions Where the changed cells stand, from 0, in order.
 */
export function arrivalText(
  who: string,
  file: string,
  positions: readonly number[],
  { removed, isCut }: Pick<Share, 'removed' | 'isCut'>
): string {
  const parts = [
    ...(positions.length > 0 ? [listCells(positions)] : []),
    ...(removed > 0 ? [`${count(removed, 'cell')} removed`] : []),
    ...(isCut ? ['and others'] : [])
  ];
  const what = parts.length > 0 ? parts.join(', ') : 'the metadata';
  return who === ''
    ? `${clean(file)} changed on disk: ${what}`
    : `${who} edited ${clean(file)}: ${what}`;
}

/** Name a change at its cell. */
export function markText(clients: readonly string[]): string {
  const who = names(clients);
  return who === '' ? 'Changed on disk' : `Agent edit by ${who}`;
}

/** Say that edits are being taken back. */
export function takingBackText(who: string, file: string, edits: number): string {
  return `Taking back ${theEdits(edits, who)} in ${clean(file)}…`;
}

/**
 * Say how taking back edits went.
 *
 * @param positions Where the cells that stand in the way are, from 0, in order.
 * @param gone How many of those are no more.
 */
export function takenBackText(
  who: string,
  file: string,
  { asked, undone, isMetadataInTheWay, failure }: Outcome,
  positions: readonly number[],
  gone: number
): string {
  if (undone === asked) {
    return `Took back ${theEdits(asked, who)} in ${clean(file)}.`;
  }
  const which = undone === 0 ? 'Nothing was taken back' : `Took back ${undone} of ${asked} edits`;
  const start = `${which} in ${clean(file)}`;
  if (failure !== null) {
    return `${start}: ${cut(failure)}`;
  }
  const reasons = [
    ...(positions.length > 0
      ? [`${listCells(positions)} ${positions.length === 1 ? 'has' : 'have'} changed since`]
      : []),
    ...(gone > 0 ? [`${count(gone, 'cell')} ${gone === 1 ? 'is' : 'are'} gone`] : []),
    ...(isMetadataInTheWay ? ['the metadata has changed since'] : [])
  ];
  return `${start}: ${reasons.join(', ')}.`;
}

/**
 * Say that both sides changed a cell, and what has become of it.
 *
 * @param choice What was chosen for the user, or null if nothing was.
 */
export function conflictText(
  clients: readonly string[],
  file: string,
  kind: ConflictKind,
  position: number,
  choice: Choice | null
): string {
  const who = names(clients) || 'Somebody';
  const cell = `cell ${position + 1} of ${clean(file)}`;
  switch (kind) {
    case 'changed':
      return `${who} changed ${cell}, and so did you. ${choice === 'theirs' ? 'Theirs was taken' : 'Your text was kept'}.`;
    case 'deleted-on-disk':
      return `${who} deleted ${cell}, which you changed. It ${choice === 'theirs' ? 'is gone' : 'was kept'}.`;
    case 'deleted-here':
      return `${who} changed ${cell}, which you deleted. It ${choice === 'mine' ? 'stays deleted' : 'was put back'}.`;
  }
}

function theEdits(edits: number, who: string): string {
  const what = edits === 1 ? 'the edit' : `${edits} edits`;
  return who === '' ? what : `${what} by ${who}`;
}

function listCells(cells: readonly number[]): string {
  const listed = cells.slice(0, LISTED_CELLS).map(index => `${index + 1}`);
  const more = cells.length - listed.length;
  const last = more > 0 ? `${more} more` : listed.pop();
  const text = listed.length > 0 ? `${listed.join(', ')} and ${last}` : last;
  return `${cells.length === 1 ? 'cell' : 'cells'} ${text}`;
}

function count(number: number, what: string): string {
  return `${number} ${number === 1 ? what : `${what}s`}`;
}

function cut(text: string): string {
  const characters = Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim());
  return characters.length > LONGEST_REASON
    ? `${characters.slice(0, LONGEST_REASON - 1).join('')}…`
    : characters.join('');
}
