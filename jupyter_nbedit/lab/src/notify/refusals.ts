import type { TranslationBundle } from '@jupyterlab/translation';
import type { NbEditError } from '../server/client';

/** What only a program can do something with: fields, routes and methods. */
const FOR_PROGRAMS = /`|\/nbedit|\b(?:GET|HEAD|PUT|POST|PATCH|DELETE)\b/u;

/**
 * Say to a person why the server has refused a request.
 *
 * The messages of the server are for programs: sentences about requests are left out.
 */
export function describeRefusal(
  { reason, message, details }: NbEditError,
  trans: TranslationBundle
): string {
  switch (reason) {
    case 'plan_mode':
      return trans.__('Edits are paused. Nothing was changed.');
    case 'nothing_to_undo':
      return details.undone_by === undefined
        ? trans.__('There is nothing to undo.')
        : trans.__('This is undone already.');
    case 'undo_cancelled':
      return trans.__('Nothing was undone.');
    case 'undo_conflict':
      return trans.__('What this would undo has changed since. Nothing was undone.');
    case 'change_not_found':
      return trans.__('This change was kept or undone elsewhere, or its cell has changed since.');
    case 'cell_changed':
      return trans.__('The cell has changed meanwhile. Nothing was changed; look again.');
    case 'edit_not_found':
      return trans.__('The history does not have this edit any more.');
    case 'proposal_closed':
    case 'proposal_not_found':
      return trans.__('This proposal is decided already, or has expired.');
    case 'too_many_proposals':
      return trans.__(
        'Too many proposals wait for a decision. Accept or reject some of them first.'
      );
    case 'notebook_not_found':
      return trans.__('There is no such notebook any more.');
  }
  const sentences = message.split(/(?<=[.!?])\s+/u).filter(text => !FOR_PROGRAMS.test(text));
  return sentences.length === 0
    ? trans.__('The server has refused this: %1.', reason)
    : sentences.join(' ');
}
