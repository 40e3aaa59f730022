/** Texts of modes. Texts from the server are cleaned. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { formatChangeCount } from '../notify/wording';
import type { Mode, ModeReply } from '../server/models';
import type { ProposalCounts } from '../server/proposalModel';
import { cleanText } from '../ui/displayText';
import { isStopped, type ModeChoice } from './modeChoice';

/** Number of changes that wait for the user. */
export interface ChangeCounts extends ProposalCounts {
  /** Made in the current notebook, and not kept yet. */
  readonly unseen: number;
}

/** Maximum length of a reason from the server. */
const MAX_REASON_LENGTH = 160;

/** Return the label of a choice. */
export function labelChoice(
  { scope, mode }: ModeChoice,
  reply: ModeReply | null,
  trans: TranslationBundle
): string {
  if (mode === null) {
    return reply === null
      ? trans.__('This Notebook: Default')
      : trans.__('This Notebook: Default (%1)', getModeName(reply.server, trans));
  }
  const name = getModeName(mode, trans);
  return scope === 'notebook'
    ? trans.__('This Notebook: %1', name)
    : trans.__('Default for All Notebooks: %1', name);
}

/** Return the label of a choice outside of the menus: there it stands alone, and says what it does. */
export function describeChoice(
  choice: ModeChoice,
  reply: ModeReply | null,
  trans: TranslationBundle
): string {
  const isNotebook = choice.scope === 'notebook';
  switch (choice.mode) {
    case 'edit':
      return isNotebook
        ? trans.__('Let Agents Edit This Notebook')
        : trans.__('Let Agents Edit All Notebooks by Default');
    case 'review':
      return isNotebook
        ? trans.__('Review Edits of Agents in This Notebook First')
        : trans.__('Review Edits of Agents in All Notebooks First by Default');
    case 'plan':
      return isNotebook
        ? trans.__('Pause Agents in This Notebook')
        : trans.__('Pause Agents in All Notebooks by Default');
    case null:
      return reply === null
        ? trans.__('Use the Default for Agents in This Notebook')
        : trans.__(
            'Use the Default for Agents in This Notebook (%1)',
            getModeName(reply.server, trans)
          );
  }
}

/** Return the name of a mode in a label. */
function getModeName(mode: Mode, trans: TranslationBundle): string {
  switch (mode) {
    case 'edit':
      return trans.__('Edits Allowed');
    case 'review':
      return trans.__('Review First');
    case 'plan':
      return trans.__('Paused');
  }
}

/** Describe that agents cannot edit anything. */
export function describeStop(trans: TranslationBundle): string {
  return trans.__(
    'Agent edits are stopped: the server cannot read which notebooks are paused or reviewed.'
  );
}

/** Return why the server cannot read the modes of notebooks. */
export function getStopReason({ unreadable }: { readonly unreadable: string }): string {
  return cleanText(unreadable, MAX_REASON_LENGTH);
}

/** Describe the consequences of allowing edits although the modes cannot be read. */
export function describeResumption(trans: TranslationBundle): string {
  return trans.__(
    'If you resume, agents may edit all notebooks as the mode of the server allows. Notebooks that were paused or reviewed are not any more: set their modes again.'
  );
}

/**
 * Describe what the user and agents may do, and what waits for the user.
 *
 * @returns The two texts of the status item, and its accessible name, which says more.
 */
export function describeStatus(
  reply: ModeReply | null,
  { currentNotebook, otherNotebooks, unseen }: ChangeCounts,
  trans: TranslationBundle
): { readonly mode: string; readonly waiting: string; readonly name: string } {
  const hasNotebook = reply?.path != null;
  // Other notebooks are only shown if the current notebook has no proposals: the space is small.
  const proposedLabel =
    currentNotebook > 0
      ? [trans.__('%1 proposed', currentNotebook)]
      : otherNotebooks > 0
        ? hasNotebook
          ? [trans.__('%1 proposed elsewhere', otherNotebooks)]
          : [trans.__('%1 proposed', otherNotebooks)]
        : [];
  const mode = describeMode(reply, trans);
  const isReader = reply !== null && !reply.writable;
  const here = [
    ...(currentNotebook > 0
      ? [trans.__('%1 proposed', formatChangeCount(currentNotebook, trans))]
      : []),
    ...(unseen > 0 ? [trans.__('%1 unseen', formatChangeCount(unseen, trans))] : [])
  ].join(', ');
  const elsewhere =
    otherNotebooks > 0 ? trans.__('%1 proposed', formatChangeCount(otherNotebooks, trans)) : '';
  return {
    mode: isReader ? trans.__('Read only') : mode,
    waiting: [...proposedLabel, ...(unseen > 0 ? [trans.__('%1 unseen', unseen)] : [])].join(' · '),
    name: [
      ...(isReader ? [describeMissingRight(trans)] : []),
      mode,
      ...(isStopped(reply) ? [describeStop(trans), getStopReason(reply)] : []),
      ...(here === '' ? [] : [trans.__('This notebook: %1', here)]),
      ...(elsewhere === ''
        ? []
        : [hasNotebook ? trans.__('Other notebooks: %1', elsewhere) : elsewhere])
    ]
      .map(text => (/[.!?]$/.test(text) ? text : `${text}.`))
      .join(' ')
  };
}

/** Describe that the user may only read. */
export function describeMissingRight(trans: TranslationBundle): string {
  return trans.__('You have no right to change notebooks on this server');
}

/** Describe what agents may do in a few words. */
function describeMode(reply: ModeReply | null, trans: TranslationBundle): string {
  if (isStopped(reply)) {
    return trans.__('Agents: stopped');
  }
  switch (reply?.mode ?? 'edit') {
    case 'edit':
      return trans.__('Agents: edits allowed');
    case 'review':
      return trans.__('Agents: review first');
    case 'plan':
      return trans.__('Agents: paused');
  }
}

/**
 * Return what the user should know of the modes, line by line: that edits are stopped and why, and
 * why the modes cannot be changed.
 */
export function listNotices(
  reply: ModeReply | null,
  disabledReason: string,
  trans: TranslationBundle
): string[] {
  return [
    ...(isStopped(reply) ? [describeStop(trans), getStopReason(reply)] : []),
    ...(disabledReason === '' ? [] : [disabledReason])
  ];
}
