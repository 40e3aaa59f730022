/** How edits and what became of them are put into words. Texts of others are in it as texts. */
import { Time } from '@jupyterlab/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { explain } from '../notify/wording';
import { Refusal } from '../server/client';
import type { Edit, InTheWay, OperationEntry, Part } from '../server/models';
import { clean, cleanText, displayName, isInvented } from '../ui/displayText';

/** More cells than this are counted, not listed. */
const LISTED = 5;

/** Longest message and path shown. The server takes messages of 200 characters. */
const LONGEST_TEXT = 200;

/** Times younger than this are now, in milliseconds. */
const NOW = 60_000;

const NOTEBOOK = 'notebook';

/** Says what was done to cells. */
type Deed = (cells: string, trans: TranslationBundle) => string;

/** What an operation does, by its name; it changes its cells, if it is not here. */
const DEEDS: Readonly<Record<string, Deed>> = {
  insert: (cells, trans) => trans.__('%1 added', cells),
  delete: (cells, trans) => trans.__('%1 deleted', cells),
  move: (cells, trans) => trans.__('%1 moved', cells),
  split: (cells, trans) => trans.__('%1 split', cells),
  merge: (cells, trans) => trans.__('%1 merged', cells),
  clear_outputs: (cells, trans) => trans.__('outputs of %1 cleared', cells),
  set_metadata: (cells, trans) => trans.__('metadata of %1 changed', cells),
  [NOTEBOOK]: (_, trans) => trans.__('metadata of the notebook changed')
};

const changeCells: Deed = (cells, trans) => trans.__('%1 changed', cells);

/** What an edit did, in a few words. */
export function titleOf(edit: Edit, trans: TranslationBundle): string {
  switch (edit.kind) {
    case 'create':
      return trans._n(
        'Created with %1 cell',
        'Created with %1 cells',
        edit.total_cells,
        edit.total_cells
      );
    case 'undo':
      return trans.__('Undo: %1', cellsOf(edit, trans));
    case 'redo':
      return trans.__('Redo: %1', cellsOf(edit, trans));
    case 'edit':
      return deedsOf(edit, trans);
  }
}

/** Who made an edit. What a client calls itself is in quotes: nobody has verified it. */
export function whoOf(edit: Edit, trans: TranslationBundle): string {
  const client = clean(edit.client ?? '');
  const user = displayName(edit.user, trans);
  if (client === '') {
    return user;
  }
  return isInvented(edit.user) ? trans.__('“%1”', client) : trans.__('“%1”, by %2', client, user);
}

/** Return what is known of who made an edit. */
export function identityOf({ client, user }: Edit, trans: TranslationBundle): string {
  if (isInvented(user)) {
    return client === null
      ? trans.__('Signed in with the server’s token, without a user name')
      : trans.__(
          'Signed in with the server’s token, without a user name. In quotes is what the client calls itself, which nobody has verified.'
        );
  }
  return client === null
    ? trans.__('User %1', clean(user))
    : trans.__(
        'User %1. In quotes is what the client calls itself, which nobody has verified.',
        clean(user)
      );
}

/** What the one who made an edit says it is for; nothing if nothing was said. */
export function messageOf({ message }: Edit): string {
  return cleanText(message ?? '', LONGEST_TEXT);
}

/** A path as it may be shown. */
export function pathOf({ path }: Edit): string {
  return cleanText(path, LONGEST_TEXT);
}

/** Which cells an edit touched: "cells 3, 5 and 7". */
export function cellsOf(
  edit: { readonly operations: readonly OperationEntry[]; readonly cells_changed?: number },
  trans: TranslationBundle
): string {
  const positions = positionsOf(edit.operations);
  const unlisted = Math.max((edit.cells_changed ?? 0) - positions.length, 0);
  if (positions.length + unlisted === 0) {
    return trans.__('the notebook’s metadata');
  }
  return listed(positions, unlisted, trans);
}

/** Where a part of an edit is, or was: "Cell 3". */
export function placeOf({ index, index_before: before }: Part, trans: TranslationBundle): string {
  if (index !== null) {
    return trans.__('Cell %1', index + 1);
  }
  return before === null ? trans.__('Notebook metadata') : trans.__('Former cell %1', before + 1);
}

/** What was done to a cell besides changing its text. */
export function changesOf(part: Part, trans: TranslationBundle): string[] {
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
    changes.push(trans.__('%1 to %2', clean(`${before.cell_type}`), clean(`${after.cell_type}`)));
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

/** What stands in the way of an undo, cell by cell. */
export function hindrancesOf(
  cells: readonly InTheWay[],
  metadata: readonly string[],
  trans: TranslationBundle
): string[] {
  const told = cells.map(({ cell_id: id, index, why }) => {
    const cell =
      index === null
        ? trans.__('A cell (%1)', clean(id ?? trans.__('no id')))
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
    ? told
    : [
        ...told,
        trans.__(
          'The notebook’s metadata was changed since: %1.',
          metadata.map(name => clean(name)).join(', ')
        )
      ];
}

/**
 * How long ago something was, as JupyterLab puts it.
 *
 * @param now When that is asked for, in milliseconds.
 */
export function ago(time: string, now: number): string {
  const age = now - new Date(time).getTime();
  // JupyterLab counts from the moment of the call.
  return Time.formatHuman(new Date(Date.now() - (age < NOW ? 0 : age)));
}

function deedsOf({ operations, truncated }: Edit, trans: TranslationBundle): string {
  const groups = new Map<Deed, OperationEntry[]>();
  for (const entry of operations) {
    const kind = isOfNotebook(entry) ? NOTEBOOK : entry.op;
    const deed = DEEDS[kind] ?? changeCells;
    groups.set(deed, [...(groups.get(deed) ?? []), entry]);
  }
  const told = [...groups].map(([deed, entries]) => {
    const unplaced = entries.filter(({ index }) => index === null).length;
    return deed(listed(positionsOf(entries), unplaced, trans), trans);
  });
  return [...told, ...(truncated ? [trans.__('and others')] : [])].join(', ');
}

function isOfNotebook({ op, cell_id: id, index }: OperationEntry): boolean {
  return op === 'set_metadata' && id === null && index === null;
}

/** The cells' places from 0, each once and in their order. */
function positionsOf(operations: readonly OperationEntry[]): number[] {
  const places = operations.flatMap(({ index, cells = [] }) => [
    ...(index === null ? [] : [index]),
    ...cells.flatMap(cell => cell.index ?? [])
  ]);
  return [...new Set(places)].sort((a, b) => a - b);
}

/** "cells 3, 5 and 7"; what is not listed is counted. */
function listed(positions: readonly number[], unlisted: number, trans: TranslationBundle): string {
  const names = positions.slice(0, LISTED).map(index => `${index + 1}`);
  const more = positions.length - names.length + unlisted;
  if (names.length === 0) {
    return trans._n('%1 cell', '%1 cells', more, more);
  }
  const last = more > 0 ? trans.__('%1 more', more) : names.pop();
  const text = names.length > 0 ? trans.__('%1 and %2', names.join(', '), last) : last;
  return positions.length + unlisted === 1 ? trans.__('cell %1', text) : trans.__('cells %1', text);
}

/** What stands in the way of taking an edit back, line by line. */
export function hindrances(error: unknown, trans: TranslationBundle): string[] {
  if (error instanceof Refusal && error.reason === 'undo_conflict') {
    const { cells, metadata } = error.details as {
      readonly cells?: readonly InTheWay[];
      readonly metadata?: readonly string[];
    };
    return [
      trans.__('Nothing was taken back.'),
      ...hindrancesOf(cells ?? [], metadata ?? [], trans)
    ];
  }
  return [explain(error, trans)];
}
