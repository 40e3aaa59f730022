import type { Event } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';
import type { NbEditClient } from '../server/client';
import type { Mode, ModeReply } from '../server/models';
import type { WriteRight } from '../server/writeRight';
import { describeMissingRight } from './wording';

const MODE_SCHEMA = 'urn:jupyter-nbedit:mode:v1';

/** The requests that the model sends. */
export type ModeClient = Pick<NbEditClient, 'getMode' | 'setMode'>;

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
