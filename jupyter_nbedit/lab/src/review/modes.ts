import type { Event } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Mode, ModeReply } from '../answers';

const SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/mode/v1';

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

  /** Another notebook is in front, by its path in the contents API; null if none is. */
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
