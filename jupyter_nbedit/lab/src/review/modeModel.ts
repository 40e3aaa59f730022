import type { Event } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Mode, ModeReply } from '../server/models';
import { cleanText } from '../ui/displayText';
import { formatChangeCount } from './wording';

const MODE_SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/mode/v1';

/** Maximum length of a reason from the server. */
const MAX_REASON_LENGTH = 160;

/** The status of a request that the user is not authorized for. */
const FORBIDDEN_STATUS = 403;

/** The requests that the model sends. */
export interface ModeClient {
  getMode(path: string | null): Promise<ModeReply>;
  setMode(path: string | null, mode: Mode | null): Promise<ModeReply>;
}

/** The mode of the current notebook, and of the server. */
export class ModeModel {
  /** @param events The server's events: hints only. The mode is read from the server. */
  constructor(
    private readonly _client: ModeClient,
    events: Event.IManager,
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
    return this._current?.fixed === true
      ? this._trans.__('The mode is fixed in the configuration of the server')
      : this._disabledReason;
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
    try {
      await this._client.setMode(path, mode);
      this._disabledReason = '';
    } catch (error) {
      if ((error as { status?: unknown }).status === FORBIDDEN_STATUS) {
        this._disabledReason = this._trans.__('You have no right to change the mode');
        this._changed.emit();
      }
      throw error;
    }
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
  private _disabledReason = '';
  private _lastReadId = 0;
}

/** Return the name of a mode. */
export function getModeName(mode: Mode, trans: TranslationBundle): string {
  switch (mode) {
    case 'edit':
      return trans.__('Edits allowed');
    case 'review':
      return trans.__('Review first');
    case 'plan':
      return trans.__('Paused');
  }
}

/** An entry of the menu: a mode, or for a notebook to use the mode of the server. */
export interface ModeChoice {
  readonly scope: 'notebook' | 'server';
  readonly mode: Mode | null;
  readonly label: string;
  readonly isSelected: boolean;
}

/** Return the entries of the menu. */
export function listModeChoices(
  { path, own, server }: ModeReply,
  trans: TranslationBundle
): ModeChoice[] {
  const modes: readonly Mode[] = ['edit', 'review', 'plan'];
  const serverChoices = modes.map(mode => ({
    scope: 'server' as const,
    mode,
    label: trans.__('All notebooks: %1', getModeName(mode, trans)),
    isSelected: mode === server
  }));
  const notebookChoices = modes.map(mode => ({
    scope: 'notebook' as const,
    mode,
    label: trans.__('This notebook: %1', getModeName(mode, trans)),
    isSelected: mode === own
  }));
  const inheritChoice = {
    scope: 'notebook' as const,
    mode: null,
    label: trans.__('This notebook: As the server (%1)', getModeName(server, trans)),
    isSelected: own === null
  };
  return path === null ? serverChoices : [...notebookChoices, inheritChoice, ...serverChoices];
}

/** Number of changes that wait for a decision. */
export interface ProposalCounts {
  /** In the current notebook. */
  readonly currentNotebook: number;
  /** In all other notebooks. */
  readonly otherNotebooks: number;
}

/** Return whether the server refuses all changes because it cannot read the modes of notebooks. */
export function isStopped(
  reply: ModeReply | null
): reply is ModeReply & { readonly unreadable: string } {
  return typeof reply?.unreadable === 'string';
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
 * Describe the mode and the proposals.
 *
 * @returns The text beside the icon, '' if nothing needs attention, and the accessible name of the
 *   status item.
 */
export function describeStatus(
  reply: ModeReply | null,
  { currentNotebook, otherNotebooks }: ProposalCounts,
  trans: TranslationBundle
): { readonly label: string; readonly name: string } {
  const mode = reply?.mode ?? 'edit';
  const hasNotebook = reply?.path != null;
  const ownProposals =
    currentNotebook > 0 ? [trans.__('%1 proposed', formatChangeCount(currentNotebook, trans))] : [];
  const otherProposals =
    otherNotebooks === 0
      ? []
      : hasNotebook
        ? [trans.__('%1 proposed in other notebooks', formatChangeCount(otherNotebooks, trans))]
        : [trans.__('%1 proposed', formatChangeCount(otherNotebooks, trans))];
  const state = isStopped(reply)
    ? {
        label: [trans.__('Agent edits stopped')],
        name: `${describeStop(trans)} ${getStopReason(reply)}`
      }
    : {
        label: mode === 'edit' ? [] : [getModeName(mode, trans)],
        name: describeMode(mode, hasNotebook, trans)
      };
  return {
    // Other notebooks only if the current one has no proposals: the space is small.
    label: [...state.label, ...(currentNotebook > 0 ? ownProposals : otherProposals)].join(' · '),
    name: [state.name, ...ownProposals, ...otherProposals].join(', ')
  };
}

/** Describe what agents may do. */
function describeMode(mode: Mode, hasNotebook: boolean, trans: TranslationBundle): string {
  const name = getInlineModeName(mode, trans);
  return hasNotebook
    ? trans.__('Agents in this notebook: %1', name)
    : trans.__('Agents in all notebooks: %1', name);
}

/** Return the name of a mode within a sentence. */
function getInlineModeName(mode: Mode, trans: TranslationBundle): string {
  switch (mode) {
    case 'edit':
      return trans.__('edits allowed');
    case 'review':
      return trans.__('review first');
    case 'plan':
      return trans.__('paused');
  }
}
