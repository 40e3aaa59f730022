import type { Event } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Mode, ModeReply } from '../server/models';
import { cleanText } from '../ui/displayText';
import { countChanges } from './wording';

const SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/mode/v1';

/** Longest reason of the server that is shown. */
const LONGEST_REASON = 160;

/** The status of a request that the user has no right to. */
const FORBIDDEN = 403;

/** What of the server the modes need. */
export interface ModeServer {
  mode(path: string | null): Promise<ModeReply>;
  setMode(path: string | null, mode: Mode | null): Promise<ModeReply>;
}

/** How edits are taken: of the notebook in front, and of the server. */
export class Modes {
  /** @param events The server's events: hints only. The mode is read from the server. */
  constructor(
    private readonly _server: ModeServer,
    events: Event.IManager,
    private readonly _trans: TranslationBundle
  ) {
    events.stream.connect((_, { schema_id: schema, path }) => {
      if (schema === SCHEMA && (path === null || path === this._path)) {
        this.refresh();
      }
    });
  }

  /** What is known of the modes has become something else. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** What holds for the notebook in front, or null while that is not known. */
  get now(): ModeReply | null {
    return this._now;
  }

  /** Why this user cannot change the modes, or nothing. */
  get obstacle(): string {
    return this._now?.fixed === true
      ? this._trans.__('The mode is fixed in the configuration of the server')
      : this._obstacle;
  }

  /** The path of the notebook in front in the contents API; null if none is. */
  get path(): string | null {
    return this._path;
  }

  set path(path: string | null) {
    if (path !== this._path) {
      this._path = path;
      this._take(null);
      this.refresh();
    }
  }

  /** Ask the server soon what holds. */
  refresh(): void {
    void this._read();
  }

  /**
   * Change the mode of the notebook in front, or of the server.
   *
   * @param mode Null for what holds without one.
   * @throws Refusal if it may not be changed.
   */
  async set(scope: 'notebook' | 'server', mode: Mode | null): Promise<void> {
    const path = scope === 'notebook' ? this._path : null;
    if (scope === 'notebook' && path === null) {
      return;
    }
    try {
      await this._server.setMode(path, mode);
      this._obstacle = '';
    } catch (error) {
      if ((error as { status?: unknown }).status === FORBIDDEN) {
        this._obstacle = this._trans.__('You have no right to change the mode');
        this._changed.emit();
      }
      throw error;
    }
    await this._read();
  }

  private async _read(): Promise<void> {
    const reading = ++this._readings;
    let now: ModeReply | null = null;
    try {
      now = await this._server.mode(this._path);
    } catch {
      // A server without modes, or none that answers: nothing is shown of them.
    }
    if (reading === this._readings) {
      this._take(now);
    }
  }

  private _take(now: ModeReply | null): void {
    if (JSON.stringify(now) !== JSON.stringify(this._now)) {
      this._now = now;
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private _path: string | null = null;
  private _now: ModeReply | null = null;
  private _obstacle = '';
  private _readings = 0;
}

/** What a mode is called. */
export function nameOf(mode: Mode, trans: TranslationBundle): string {
  switch (mode) {
    case 'edit':
      return trans.__('Edits allowed');
    case 'review':
      return trans.__('Review first');
    case 'plan':
      return trans.__('Paused');
  }
}

/** A choice of the menu: a mode, or for a notebook to have none of its own. */
export interface Choice {
  readonly scope: 'notebook' | 'server';
  readonly mode: Mode | null;
  readonly label: string;
  readonly isChosen: boolean;
}

/** What can be chosen where this holds. */
export function choicesOf({ path, own, server }: ModeReply, trans: TranslationBundle): Choice[] {
  const modes: readonly Mode[] = ['edit', 'review', 'plan'];
  const ofServer = modes.map(mode => ({
    scope: 'server' as const,
    mode,
    label: trans.__('All notebooks: %1', nameOf(mode, trans)),
    isChosen: mode === server
  }));
  const ofNotebook = modes.map(mode => ({
    scope: 'notebook' as const,
    mode,
    label: trans.__('This notebook: %1', nameOf(mode, trans)),
    isChosen: mode === own
  }));
  const asServer = {
    scope: 'notebook' as const,
    mode: null,
    label: trans.__('This notebook: As the server (%1)', nameOf(server, trans)),
    isChosen: own === null
  };
  return path === null ? ofServer : [...ofNotebook, asServer, ...ofServer];
}

/** How many changes wait for somebody's word. */
export interface ProposalCounts {
  /** For the notebook in front. */
  readonly here: number;
  /** For all other notebooks. */
  readonly elsewhere: number;
}

/** Whether the server refuses all changes because it cannot read the notebooks' own modes. */
export function isStopped(
  now: ModeReply | null
): now is ModeReply & { readonly unreadable: string } {
  return typeof now?.unreadable === 'string';
}

/** Say that agents cannot edit anything. */
export function describeStop(trans: TranslationBundle): string {
  return trans.__(
    'Agent edits are stopped: the server cannot read which notebooks are paused or reviewed.'
  );
}

/** Return why the server cannot read the notebooks' own modes, in its words. */
export function reasonOf({ unreadable }: { readonly unreadable: string }): string {
  return cleanText(unreadable, LONGEST_REASON);
}

/** Say what it comes to if edits are allowed again although the modes cannot be read. */
export function describeResumption(trans: TranslationBundle): string {
  return trans.__(
    'If you resume, agents may edit all notebooks as the mode of the server allows. Notebooks that were paused or reviewed are not any more: set their modes again.'
  );
}

/**
 * Say how edits are taken and what is proposed.
 *
 * @returns The text beside the icon, empty if there is nothing to draw attention to, and the name
 *   of the status item with all that is known.
 */
export function describeStatus(
  now: ModeReply | null,
  { here, elsewhere }: ProposalCounts,
  trans: TranslationBundle
): { readonly label: string; readonly name: string } {
  const mode = now?.mode ?? 'edit';
  const hasNotebook = now?.path != null;
  const proposed = here > 0 ? [trans.__('%1 proposed', countChanges(here, trans))] : [];
  const others =
    elsewhere === 0
      ? []
      : hasNotebook
        ? [trans.__('%1 proposed in other notebooks', countChanges(elsewhere, trans))]
        : [trans.__('%1 proposed', countChanges(elsewhere, trans))];
  const state = isStopped(now)
    ? { label: [trans.__('Agent edits stopped')], name: `${describeStop(trans)} ${reasonOf(now)}` }
    : {
        label: mode === 'edit' ? [] : [nameOf(mode, trans)],
        name: describeMode(mode, hasNotebook, trans)
      };
  return {
    // Those of other notebooks only where they are the only ones: the place is small.
    label: [...state.label, ...(here > 0 ? proposed : others)].join(' · '),
    name: [state.name, ...proposed, ...others].join(', ')
  };
}

/** Say what agents may do, in a text that begins with whose mode it is. */
function describeMode(mode: Mode, isOfNotebook: boolean, trans: TranslationBundle): string {
  const name = modeInText(mode, trans);
  return isOfNotebook
    ? trans.__('Agents in this notebook: %1', name)
    : trans.__('Agents in all notebooks: %1', name);
}

/** Return what a mode is called within a sentence. */
function modeInText(mode: Mode, trans: TranslationBundle): string {
  switch (mode) {
    case 'edit':
      return trans.__('edits allowed');
    case 'review':
      return trans.__('review first');
    case 'plan':
      return trans.__('paused');
  }
}
