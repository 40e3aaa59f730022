import type { Event } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Mode, ModeReply } from '../server/models';
import type { ProposalCounts } from '../server/proposalModel';
import type { WriteRight } from '../server/writeRight';
import { cleanText } from '../ui/displayText';
import { formatChangeCount } from './wording';

const MODE_SCHEMA = 'urn:jupyter-nbedit:mode:v1';

/** Maximum length of a reason from the server. */
const MAX_REASON_LENGTH = 160;

/** The requests that the model sends. */
export interface ModeClient {
  getMode(path: string | null): Promise<ModeReply>;
  setMode(path: string | null, mode: Mode | null): Promise<ModeReply>;
}

/** The mode of the current notebook, and of the server. */
export class ModeModel {
  /**
   * @param events The server's events: hints only. The mode is read from the server.
   * @param _right It is set to what is read with each mode.
   */
  constructor(
    private readonly _client: ModeClient,
    events: Event.IManager,
    private readonly _right: WriteRight,
    private readonly _trans: TranslationBundle
  ) {
    events.stream.connect((_, { schema_id: schema, path }) => {
      if (schema === MODE_SCHEMA && (path === null || path === this._path)) {
        this.refresh();
      }
    });
  }

  /** Emitted when the mode, or what is known of it, has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The mode of the current notebook, or null if it is not known. */
  get current(): ModeReply | null {
    return this._current;
  }

  /** Why this user cannot change the mode, or ''. */
  get disabledReason(): string {
    if (!this._right.isGranted) {
      return describeMissingRight(this._trans);
    }
    return this._current?.fixed === true
      ? this._trans.__('The mode is fixed in the configuration of the server')
      : '';
  }

  /** The path of the current notebook in the Contents API, or null. */
  get path(): string | null {
    return this._path;
  }

  set path(path: string | null) {
    if (path !== this._path) {
      this._path = path;
      this._setCurrent(null);
      this.refresh();
    }
  }

  /** Read the mode from the server. */
  refresh(): void {
    void this._read();
  }

  /**
   * Change the mode of the current notebook, or of the server.
   *
   * @param mode Null to remove it.
   * @throws NbEditError if it cannot be changed.
   */
  async setMode(scope: 'notebook' | 'server', mode: Mode | null): Promise<void> {
    const path = scope === 'notebook' ? this._path : null;
    if (scope === 'notebook' && path === null) {
      return;
    }
    await this._client.setMode(path, mode);
    await this._read();
  }

  private async _read(): Promise<void> {
    const readId = ++this._lastReadId;
    let reply: ModeReply | null = null;
    try {
      reply = await this._client.getMode(this._path);
    } catch {
      // A server without modes, or without a response: no mode is shown.
    }
    if (readId === this._lastReadId) {
      if (reply !== null) {
        this._right.isGranted = reply.writable;
      }
      this._setCurrent(reply);
    }
  }

  private _setCurrent(mode: ModeReply | null): void {
    if (JSON.stringify(mode) !== JSON.stringify(this._current)) {
      this._current = mode;
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private _path: string | null = null;
  private _current: ModeReply | null = null;
  private _lastReadId = 0;
}

/** The modes, from the least to the most careful. */
const MODES: readonly Mode[] = ['edit', 'review', 'plan'];

/** A mode of the current notebook or of all, or for a notebook to have that of all. */
export interface ModeChoice {
  readonly scope: 'notebook' | 'server';
  readonly mode: Mode | null;
}

/** All choices, in the order of menus. */
export const MODE_CHOICES: readonly ModeChoice[] = [
  ...MODES.map(mode => ({ scope: 'notebook' as const, mode })),
  { scope: 'notebook', mode: null },
  ...MODES.map(mode => ({ scope: 'server' as const, mode }))
];

/** Return the choice that the arguments of a command name, or null. */
export function findChoice(args: {
  readonly scope?: unknown;
  readonly mode?: unknown;
}): ModeChoice | null {
  return MODE_CHOICES.find(({ scope, mode }) => scope === args.scope && mode === args.mode) ?? null;
}

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

/** Return whether a choice is the current one. */
export function isSelected({ scope, mode }: ModeChoice, reply: ModeReply | null): boolean {
  return reply !== null && mode === (scope === 'notebook' ? reply.own : reply.server);
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

/** Number of changes that wait for the user. */
export interface ChangeCounts extends ProposalCounts {
  /** Made in the current notebook, and not kept yet. */
  readonly unseen: number;
}

/** Return whether the server refuses all changes because it cannot read the modes of notebooks. */
export function isStopped(
  reply: ModeReply | null
): reply is ModeReply & { readonly unreadable: string } {
  return reply != null && reply.unreadable !== null;
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
  // Other notebooks only if the current one has no proposals: the space is small.
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
function describeMissingRight(trans: TranslationBundle): string {
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
