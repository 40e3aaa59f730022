/** Texts about unseen changes. What files and clients say is cut, without control characters. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { joinPhrases } from '../blocks/cellDiff';
import { countKinds, getKind } from '../notify/netEffect';
import { chooseCountPhrases, formatClients } from '../notify/wording';
import { PAGE_CLIENT } from '../server/client';
import type { EditOrigin, UnseenCell, UnseenReply } from '../server/models';
import { cleanText, isAnonymousUserName } from '../ui/displayText';

/** Maximum length of the messages of a change. */
const MAX_MESSAGE_LENGTH = 200;

/** Return the edits that made these changes, oldest first. */
export function listEdits(
  cells: readonly UnseenCell[],
  { edits }: Pick<UnseenReply, 'edits'>
): EditOrigin[] {
  const ids = new Set(cells.flatMap(({ edit_ids }) => edit_ids));
  return edits.filter(({ edit_id }) => ids.has(edit_id));
}

/** Return the names of the authors of edits. */
export function formatAuthors(edits: readonly EditOrigin[], trans: TranslationBundle): string {
  const isOutside = edits.some(({ kind }) => kind === 'outside');
  const clients = edits
    .filter(({ kind }) => kind !== 'outside')
    // A person in a page has a name: it is not "You", whose own changes are never unseen.
    .map(({ client, user }) =>
      client === PAGE_CLIENT && !isAnonymousUserName(user) ? user : (client ?? user)
    );
  const names = formatClients(clients, trans);
  if (!isOutside) {
    return names === '' ? trans.__('An agent') : names;
  }
  return names === '' ? trans.__('Another program') : trans.__('%1 and another program', names);
}

/** Describe the users who made edits: the server knows these, but only hears names of clients. */
export function describeIdentity(edits: readonly EditOrigin[], trans: TranslationBundle): string {
  const users = [
    ...new Set(edits.filter(({ kind }) => kind !== 'outside').map(({ user }) => user))
  ];
  const names = formatClients(
    users.filter(user => !isAnonymousUserName(user)),
    trans
  );
  if (users.length === 0) {
    return trans.__('The file was written by a program that did not use this server');
  }
  return names === ''
    ? trans.__('Signed in with the server’s token, without a user name')
    : trans.__('Signed in as %1', names);
}

/** Return the messages of edits, newest first, or ''. */
export function formatMessages(edits: readonly EditOrigin[]): string {
  const messages = edits.map(({ message }) => cleanText(message ?? '', MAX_MESSAGE_LENGTH));
  const unique = new Set(messages.filter(message => message !== '').reverse());
  return cleanText([...unique].join(' · '), MAX_MESSAGE_LENGTH);
}

/** Return the newest message and the number of other messages; '' if there is no message. */
export function summarizeMessages(edits: readonly EditOrigin[], trans: TranslationBundle): string {
  const messages = edits
    .map(({ message }) => cleanText(message ?? '', MAX_MESSAGE_LENGTH))
    .filter(message => message !== '');
  const others = new Set(messages).size - 1;
  const newest = messages.at(-1) ?? '';
  return others > 0 ? trans._n('%2, and %1 more', '%2, and %1 more', others, newest) : newest;
}

/** Describe the change of a cell that still exists, to follow the name: "changed this cell". */
export function describeChange(cell: UnseenCell, trans: TranslationBundle): string {
  const { before, after } = cell;
  if (before === null) {
    return trans.__('added this cell');
  }
  const type = `${after?.cell_type}`;
  const position = (cell.index_before ?? 0) + 1;
  const phrase = joinPhrases(
    cell,
    {
      change: [trans.__('changed this cell'), trans.__('changed it')],
      convert: [trans.__('made this cell a %1 cell', type), trans.__('made it a %1 cell', type)],
      move: [
        trans.__('moved this cell here from position %1', position),
        trans.__('moved it here from position %1', position)
      ],
      clear: [trans.__('cleared the outputs of this cell'), trans.__('cleared its outputs')]
    },
    trans
  );
  if (phrase !== null) {
    return phrase;
  }
  return JSON.stringify(before.metadata) === JSON.stringify(after?.metadata)
    ? trans.__('changed the outputs, the run number or the attachments of this cell')
    : trans.__('changed the metadata of this cell');
}

/** Describe changes without a cell in the notebook: deleted cells, or the metadata of the notebook. */
export function describeMissing(cells: readonly UnseenCell[], trans: TranslationBundle): string {
  return cells.some(cell => getKind(cell) === 'metadata')
    ? trans.__('changed the metadata of the notebook')
    : trans._n('deleted %1 cell', 'deleted %1 cells', cells.length);
}

/** Return the label of the mark at a cell. */
export function describeMark(
  cell: UnseenCell,
  edits: readonly EditOrigin[],
  trans: TranslationBundle
): string {
  const isOutside = edits.length > 0 && edits.every(({ kind }) => kind === 'outside');
  const sentence = isOutside
    ? getOutsideMarkText(cell, trans)
    : getMarkText(cell, formatAuthors(edits, trans), trans);
  const messages = formatMessages(edits);
  return messages === ''
    ? trans.__('%1. Show what changed', sentence)
    : trans.__('%1: %2. Show what changed', sentence, messages.replace(/[.!?]$/u, ''));
}

function getMarkText(cell: UnseenCell, authors: string, trans: TranslationBundle): string {
  switch (getKind(cell)) {
    case 'added':
      return trans.__('Added by %1', authors);
    case 'moved':
      return trans.__('Moved here from position %2 by %1', authors, (cell.index_before ?? 0) + 1);
    default:
      return trans.__('Changed by %1', authors);
  }
}

/** Return the label for an outside change: which program made it is not known. */
function getOutsideMarkText(cell: UnseenCell, trans: TranslationBundle): string {
  switch (getKind(cell)) {
    case 'added':
      return trans.__('Added on disk');
    case 'moved':
      return trans.__('Moved here from position %1 on disk', (cell.index_before ?? 0) + 1);
    default:
      return trans.__('Changed on disk');
  }
}

/** Describe all changes: "Claude changed 5 cells, deleted 1". */
export function describeChanges(
  { cells, edits }: Pick<UnseenReply, 'cells' | 'edits'>,
  trans: TranslationBundle
): string {
  const effect = countKinds(cells.map(getKind), false);
  const { changed, added, moved, deleted } = effect;
  const phrases = chooseCountPhrases([
    [
      changed,
      trans._n('changed %1 cell', 'changed %1 cells', changed),
      trans._n('changed %1', 'changed %1', changed)
    ],
    [
      added,
      trans._n('added %1 cell', 'added %1 cells', added),
      trans._n('added %1', 'added %1', added)
    ],
    [
      moved,
      trans._n('moved %1 cell', 'moved %1 cells', moved),
      trans._n('moved %1', 'moved %1', moved)
    ],
    [
      deleted,
      trans._n('deleted %1 cell', 'deleted %1 cells', deleted),
      trans._n('deleted %1', 'deleted %1', deleted)
    ]
  ]);
  if (effect.hasMetadataChange) {
    phrases.push(trans.__('changed the metadata of the notebook'));
  }
  return trans.__('%1 %2', formatAuthors(listEdits(cells, { edits }), trans), phrases.join(', '));
}
