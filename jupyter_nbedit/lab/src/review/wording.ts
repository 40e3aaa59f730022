import type { InTheWay, Part, Proposal, ProposalPart } from '../answers';
import { clean, cleanText } from '../names';
import { isAboutNotebook, isInsert, type Place } from './places';

/** More proposers than this are counted, not listed. */
const LISTED_NAMES = 2;

/** Longest message shown. */
const LONGEST_MESSAGE = 200;

/** Who proposes: what the client calls itself, or if it does not the user whom the server knows. */
export function proposer({ client, user }: Proposal): string {
  return clean(client ?? '') || clean(user) || 'Somebody';
}

/** What is known of the proposer: a name of its own choice is told apart from the user's. */
export function identity({ client, user }: Proposal): string {
  const [claim, known] = [clean(client ?? ''), clean(user)];
  return claim === '' || claim === known
    ? `Signed in as ${known}`
    : `Signed in as ${known}, and calls itself ${claim}`;
}

/** Why it is proposed, as far as the proposer says. */
export function purpose({ message }: Proposal): string {
  return cleanText(message ?? '', LONGEST_MESSAGE);
}

/** What a part would do, as it is said at its cell after the proposer's name. */
export function intention(part: Part): string {
  if (isAboutNotebook(part)) {
    return 'proposes to change the metadata of the notebook';
  }
  if (isInsert(part)) {
    return `proposes a new ${part.after?.cell_type ?? 'code'} cell here`;
  }
  if (part.after === null) {
    return 'proposes to delete this cell';
  }
  const [first, ...more] = [
    ...(part.before?.source === part.after.source ? [] : ['change']),
    ...(part.before?.cell_type === part.after.cell_type ? [] : ['convert']),
    ...(part.moved ? ['move'] : []),
    ...(part.outputs_cleared ? ['clear'] : [])
  ].map((verb, index) => phrase(verb, index === 0 ? 'this cell' : 'it', part));
  if (first === undefined) {
    return 'proposes to change the metadata of this cell';
  }
  const last = more.pop();
  const all = [first, ...more].join(', ');
  return `proposes to ${last === undefined ? all : `${all} and ${last}`}`;
}

function phrase(verb: string, cell: string, { after, index }: Part): string {
  switch (verb) {
    case 'convert':
      return `make ${cell} a ${after?.cell_type} cell`;
    case 'move':
      return `move ${cell} to position ${(index ?? 0) + 1}`;
    case 'clear':
      return cell === 'it' ? 'clear its outputs' : 'clear the outputs of this cell';
    default:
      return `change ${cell}`;
  }
}

/** What a notebook's bar says of all that is proposed for it. */
export function summary(names: readonly string[], changes: number): string {
  const unique = [...new Set(names)];
  const who =
    unique.length > LISTED_NAMES ? `${unique.length} agents` : unique.join(' and ') || 'Somebody';
  const verb = unique.length > 1 ? 'propose' : 'proposes';
  return `${who} ${verb} ${counted(changes, 'change')}`;
}

/** What is told at a block whose cell is not as it was when the change was proposed. */
export function warning(state: Place['state']): string {
  switch (state) {
    case 'changed':
      return 'The cell has changed since this was proposed.';
    case 'gone':
      return 'The cell is gone.';
    case 'as-proposed':
      return '';
  }
}

/** What is told at a block that was not accepted because of its cell. */
export function refusal(why: InTheWay['why']): string {
  return `Not accepted: ${obstacle(why)} Look again.`;
}

function obstacle(why: InTheWay['why']): string {
  switch (why) {
    case 'changed':
      return 'the cell has changed since this was proposed.';
    case 'gone':
      return 'the cell is gone.';
    case 'ambiguous':
      return 'it cannot be told which cell this is about.';
    case 'no_place':
      return 'the place for this cell is gone.';
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

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
