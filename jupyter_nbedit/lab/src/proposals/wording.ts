import type { TranslationBundle } from '@jupyterlab/translation';
import { isAboutNotebook, joinPhrases } from '../blocks/cellDiff';
import { fitMessage, formatChangeCount } from '../notify/wording';
import type { CellDiff, ConflictingCell, Proposal } from '../server/models';
import { listPendingParts } from '../server/proposalModel';
import { cleanName, cleanText, getDisplayName, isAnonymousUserName } from '../ui/displayText';
import type { PartOutcome } from './partOutcome';
import { isInsert } from './proposalPartPosition';

/** Maximum number of proposers that are listed; more are counted. */
const MAX_LISTED_NAMES = 2;

/** Maximum length of a message. */
const MAX_MESSAGE_LENGTH = 200;

/** Return the name of the proposer: its own name, or else the name of the user. */
export function getProposer({ client, user }: Proposal, trans: TranslationBundle): string {
  return cleanName(client ?? '') || getDisplayName(user, trans) || trans.__('An agent');
}

/** Describe what is known of the proposer: its own name is not verified. */
export function describeIdentity({ client, user }: Proposal, trans: TranslationBundle): string {
  const [clientName, userName] = [cleanName(client ?? ''), cleanName(user)];
  if (isAnonymousUserName(user)) {
    return clientName === ''
      ? trans.__('Signed in with the server’s token, without a user name')
      : trans.__(
          'Signed in with the server’s token, without a user name, and calls itself %1',
          clientName
        );
  }
  return clientName === '' || clientName === userName
    ? trans.__('Signed in as %1', userName)
    : trans.__('Signed in as %1, and calls itself %2', userName, clientName);
}

/** Return the message of a proposal for display. */
export function formatPurpose({ message }: Proposal): string {
  return cleanText(message ?? '', MAX_MESSAGE_LENGTH);
}

/** Describe a part, as a phrase after the name of the proposer. */
export function describePart(part: CellDiff, trans: TranslationBundle): string {
  if (isAboutNotebook(part)) {
    return trans.__('proposes to change the metadata of the notebook');
  }
  if (isInsert(part)) {
    return trans.__('proposes a new %1 cell here', part.after?.cell_type ?? 'code');
  }
  if (part.after === null) {
    return trans.__('proposes to delete this cell');
  }
  const type = `${part.after.cell_type}`;
  const position = (part.index ?? 0) + 1;
  const phrase = joinPhrases(
    part,
    {
      change: [trans.__('change this cell'), trans.__('change it')],
      convert: [trans.__('make this cell a %1 cell', type), trans.__('make it a %1 cell', type)],
      move: [
        trans.__('move this cell to position %1', position),
        trans.__('move it to position %1', position)
      ],
      clear: [trans.__('clear the outputs of this cell'), trans.__('clear its outputs')]
    },
    trans
  );
  if (phrase !== null) {
    return trans.__('proposes to %1', phrase);
  }
  return JSON.stringify(part.before?.metadata) === JSON.stringify(part.after.metadata)
    ? trans.__('proposes to change the outputs, the run number or the attachments of this cell')
    : trans.__('proposes to change the metadata of this cell');
}

/** Describe all proposals for a notebook. */
export function describeProposals(
  names: readonly string[],
  changes: number,
  trans: TranslationBundle
): string {
  const unique = [...new Set(names)];
  const [first = trans.__('An agent'), second] = unique;
  const count = Math.max(unique.length, 1);
  const who =
    count > MAX_LISTED_NAMES
      ? trans._n('%1 agent', '%1 agents', count, count)
      : second === undefined
        ? first
        : trans.__('%1 and %2', first, second);
  return trans._n('%2 proposes %3', '%2 propose %3', count, who, formatChangeCount(changes, trans));
}

/**
 * Describe what is unusual about accepting a part.
 *
 * @param canDecide Whether there are buttons that can be explained.
 */
export function describeOutcome(
  { kind, diff }: PartOutcome,
  isEdited: boolean,
  canDecide: boolean,
  trans: TranslationBundle
): string {
  if (isEdited && canDecide && kind !== 'gone') {
    return trans.__('Edit the text, then accept it.');
  }
  switch (kind) {
    case 'merged':
      return diff.before?.source === diff.after?.source
        ? trans.__('The cell has changed since this was proposed. Its text stays as it is.')
        : trans.__(
            'The cell has changed since this was proposed. Both changes fit together; this is the cell with both.'
          );
    case 'conflict':
      if (!canDecide) {
        return trans.__('The cell has changed since this was proposed.');
      }
      return diff.after === null
        ? trans.__(
            'The cell has changed since this was proposed. Mine keeps the cell, Theirs deletes it.'
          )
        : trans.__(
            'The same lines of the cell have changed since this was proposed. Mine keeps the cell as it is, Theirs overwrites these lines.'
          );
    case 'gone':
      return trans.__('The cell is gone.');
    case 'as-proposed':
      return '';
  }
}

/** Say that nothing was accepted because some changes need a decision of their own. */
export function describeUndecided(count: number, trans: TranslationBundle): string {
  return trans._n(
    'Nothing was accepted: %1 change needs a decision of its own.',
    'Nothing was accepted: %1 changes need decisions of their own.',
    count,
    count
  );
}

/** Describe why a part was not accepted. */
export function describeConflict(why: ConflictingCell['why'], trans: TranslationBundle): string {
  switch (why) {
    case 'changed':
      return trans.__('Not accepted: the cell has changed since this was proposed. Look again.');
    case 'gone':
      return trans.__('Not accepted: the cell is gone. Look again.');
    case 'ambiguous':
      return trans.__('Not accepted: it is not clear which cell this changes. Look again.');
    case 'no_place':
      return trans.__('Not accepted: the place for this cell is gone. Look again.');
  }
}

/** Return whether a conflicting cell belongs to a part. */
export function isConflictOf({ cell_id: id, index }: ConflictingCell, part: CellDiff): boolean {
  return id !== null ? id === part.cell_id : index === part.index_before || index === part.index;
}

/** Describe proposals: "Claude proposes 3 changes to a.ipynb: Drop the test account". */
export function describeAnnouncement(
  proposals: readonly Proposal[],
  trans: TranslationBundle
): string {
  const proposers = proposals.map(proposal => getProposer(proposal, trans));
  const count = proposals.flatMap(listPendingParts).length;
  const paths = [...new Set(proposals.map(({ path }) => path))];
  const [path = '', other] = paths;
  const file = cleanName(path.split('/').at(-1) ?? '');
  if (other !== undefined) {
    return trans._n(
      '%2 in %1 notebook',
      '%2 in %1 notebooks',
      paths.length,
      describeProposals(proposers, count, trans)
    );
  }
  const sentence = proposals.some(({ kind }) => kind === 'create')
    ? trans.__('%1 proposes a new notebook, %2', proposers[0] ?? '', file)
    : trans.__('%1 to %2', describeProposals(proposers, count, trans), file);
  return fitMessage(
    message => (message === '' ? sentence : trans.__('%1: %2', sentence, message)),
    proposals.map(formatPurpose),
    trans
  );
}
