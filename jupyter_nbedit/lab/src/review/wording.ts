import type { TranslationBundle } from '@jupyterlab/translation';
import type { InTheWay, Part, Proposal, ProposalPart } from '../server/models';
import { clean, cleanText, displayName, isInvented } from '../ui/displayText';
import { isAboutNotebook, isInsert, type Place } from './partPosition';

/** More proposers than this are counted, not listed. */
const LISTED_NAMES = 2;

/** Longest message shown. */
const LONGEST_MESSAGE = 200;

/** Who proposes: what the client calls itself, or if it does not the user whom the server knows. */
export function proposer({ client, user }: Proposal, trans: TranslationBundle): string {
  return clean(client ?? '') || displayName(user, trans) || trans.__('Somebody');
}

/** What is known of the proposer: a name of its own choice is told apart from the user's. */
export function identity({ client, user }: Proposal, trans: TranslationBundle): string {
  const [claim, known] = [clean(client ?? ''), clean(user)];
  if (isInvented(user)) {
    return claim === ''
      ? trans.__('Signed in with the server’s token, without a user name')
      : trans.__(
          'Signed in with the server’s token, without a user name, and calls itself %1',
          claim
        );
  }
  return claim === '' || claim === known
    ? trans.__('Signed in as %1', known)
    : trans.__('Signed in as %1, and calls itself %2', known, claim);
}

/** Why it is proposed, as far as the proposer says. */
export function purpose({ message }: Proposal): string {
  return cleanText(message ?? '', LONGEST_MESSAGE);
}

/** What a part would do, as it is said at its cell after the proposer's name. */
export function intention(part: Part, trans: TranslationBundle): string {
  if (isAboutNotebook(part)) {
    return trans.__('proposes to change the metadata of the notebook');
  }
  if (isInsert(part)) {
    return trans.__('proposes a new %1 cell here', part.after?.cell_type ?? 'code');
  }
  if (part.after === null) {
    return trans.__('proposes to delete this cell');
  }
  const verbs: readonly Verb[] = [
    ...(part.before?.source === part.after.source ? [] : ['change' as const]),
    ...(part.before?.cell_type === part.after.cell_type ? [] : ['convert' as const]),
    ...(part.moved ? ['move' as const] : []),
    ...(part.outputs_cleared ? ['clear' as const] : [])
  ];
  const phrases = verbs.map((verb, index) =>
    index === 0 ? firstPhrase(verb, part, trans) : nextPhrase(verb, part, trans)
  );
  const last = phrases.pop();
  if (last === undefined) {
    return trans.__('proposes to change the metadata of this cell');
  }
  const all = phrases.length === 0 ? last : trans.__('%1 and %2', phrases.join(', '), last);
  return trans.__('proposes to %1', all);
}

/** What can be done to a cell, in the order in which it is listed. */
type Verb = 'change' | 'convert' | 'move' | 'clear';

function firstPhrase(verb: Verb, { after, index }: Part, trans: TranslationBundle): string {
  switch (verb) {
    case 'change':
      return trans.__('change this cell');
    case 'convert':
      return trans.__('make this cell a %1 cell', `${after?.cell_type}`);
    case 'move':
      return trans.__('move this cell to position %1', (index ?? 0) + 1);
    case 'clear':
      return trans.__('clear the outputs of this cell');
  }
}

function nextPhrase(verb: Verb, { after, index }: Part, trans: TranslationBundle): string {
  switch (verb) {
    case 'change':
      return trans.__('change it');
    case 'convert':
      return trans.__('make it a %1 cell', `${after?.cell_type}`);
    case 'move':
      return trans.__('move it to position %1', (index ?? 0) + 1);
    case 'clear':
      return trans.__('clear its outputs');
  }
}

/** What a notebook's bar says of all that is proposed for it. */
export function summary(
  names: readonly string[],
  changes: number,
  trans: TranslationBundle
): string {
  const unique = [...new Set(names)];
  const [first = trans.__('Somebody'), second] = unique;
  const count = Math.max(unique.length, 1);
  const who =
    count > LISTED_NAMES
      ? trans._n('%1 agent', '%1 agents', count, count)
      : second === undefined
        ? first
        : trans.__('%1 and %2', first, second);
  return trans._n('%2 proposes %3', '%2 propose %3', count, who, countChanges(changes, trans));
}

/** Return "1 change" or "3 changes". */
export function countChanges(count: number, trans: TranslationBundle): string {
  return trans._n('%1 change', '%1 changes', count, count);
}

/** What is told at a block whose cell is not as it was when the change was proposed. */
export function warning(state: Place['state'], trans: TranslationBundle): string {
  switch (state) {
    case 'changed':
      return trans.__('The cell has changed since this was proposed.');
    case 'gone':
      return trans.__('The cell is gone.');
    case 'as-proposed':
      return '';
  }
}

/** What is told at a block that was not accepted because of its cell. */
export function refusal(why: InTheWay['why'], trans: TranslationBundle): string {
  switch (why) {
    case 'changed':
      return trans.__('Not accepted: the cell has changed since this was proposed. Look again.');
    case 'gone':
      return trans.__('Not accepted: the cell is gone. Look again.');
    case 'ambiguous':
      return trans.__('Not accepted: it cannot be told which cell this is about. Look again.');
    case 'no_place':
      return trans.__('Not accepted: the place for this cell is gone. Look again.');
  }
}

/** Which of the parts a cell in the way stands in the way of. */
export function isInTheWay({ cell_id: id, index }: InTheWay, part: Part): boolean {
  return id !== null ? id === part.cell_id : index === part.index_before || index === part.index;
}

/** The two texts that a part is shown by; null for both if there is nothing to compare. */
export function texts(part: Part): {
  readonly before: string | null;
  readonly after: string | null;
  readonly isMetadata: boolean;
} {
  const { before, after } = part;
  if (before?.source !== after?.source) {
    return { before: before?.source ?? null, after: after?.source ?? null, isMetadata: false };
  }
  const keys = [
    ...new Set([...Object.keys(before?.metadata ?? {}), ...Object.keys(after?.metadata ?? {})])
  ].filter(key => JSON.stringify(before?.metadata[key]) !== JSON.stringify(after?.metadata[key]));
  const shown = (side: Part['before']): string | null => {
    const entries = Object.entries(side?.metadata ?? {}).filter(([key]) => keys.includes(key));
    return keys.length === 0 ? null : JSON.stringify(Object.fromEntries(entries), null, 2);
  };
  return { before: shown(before), after: shown(after), isMetadata: true };
}

/** The parts that nobody has decided. */
export function pendingParts({ parts }: Proposal): ProposalPart[] {
  return parts.filter(({ status }) => status === 'pending');
}
