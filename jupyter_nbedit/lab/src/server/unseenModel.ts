import type { Event } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';
import { NbEditError, type NbEditClient } from './client';
import type { FileChangeEvents } from './fileChanges';
import type { UndoneCells } from './client';
import type { UnseenNotebook, UnseenReply } from './models';
import type { WriteRight } from './writeRight';

const UNSEEN_SCHEMA = 'urn:jupyter-nbedit:unseen:v1';

/** Events within this time cause one request about their notebook, in milliseconds. */
const READ_DELAY = 100;

/** Events within this time cause one request about all notebooks, in milliseconds. */
const LIST_DELAY = 1_000;

/** Statuses of a server without this route, of a user without the right, and without a history. */
const UNAVAILABLE_STATUSES: readonly number[] = [403, 404, 503];

/** The requests that the model sends. */
export type UnseenClient = Pick<NbEditClient, 'getUnseen' | 'listUnseen' | 'keep' | 'undoCells'>;

/** The changes of edits that this user has not kept. Paths are API paths. */
export class UnseenModel {
  /**
   * @param events The server's events: hints only. What is unseen is read from the server.
   * @param _isOpen Return whether a notebook is open: others are not read again after an event.
   * @param _isPageVisible A hidden page does not list notebooks; `fileChanges` asks for a resync when it
   *   is visible again.
   */
  constructor(
    private readonly _client: UnseenClient,
    events: Event.IManager,
    fileChanges: Pick<FileChangeEvents, 'addListener'>,
    private readonly _isOpen: (path: string) => boolean,
    private readonly _isPageVisible: () => boolean,
    private readonly _right: WriteRight
  ) {
    _right.changed.connect(() => this._notebooksChanged.emit());
    events.stream.connect((_, { schema_id: schema, path }) => {
      if (schema === UNSEEN_SCHEMA && typeof path === 'string') {
        this._onChange(path.replace(/^\/+/, ''));
      }
    });
    fileChanges.addListener({
      onFileChange: ({ path }) => this._onChange(path),
      onResync: () => {
        this._notebookReads.schedule();
        this._reads.forEach((_, path) => this._onChange(path));
      }
    });
  }

  /** Emitted with the path of a notebook of which the unseen changes may differ now. */
  get changed(): ISignal<this, string> {
    return this._changed;
  }

  /** Return what was read last; null if it is not known. */
  get(path: string): UnseenReply | null {
    return this._replies.get(path) ?? null;
  }

  /**
   * Read what is unseen in a notebook, and read it again whenever it may have changed, as long as
   * the notebook is open.
   *
   * @returns The reply to a request that was sent after this call; null if the server cannot say.
   */
  async read(path: string): Promise<UnseenReply | null> {
    let reads = this._reads.get(path);
    if (reads === undefined) {
      reads = new CoalescedReads(() => this._read(path), READ_DELAY);
      this._reads.set(path, reads);
    }
    await reads.run();
    return this.get(path);
  }

  /**
   * Mark changes as seen.
   *
   * @param keys The keys of the changes; by default all.
   * @param until The newest edit that the user has seen; by default as it was read last.
   * @throws NbEditError if the server refuses it.
   */
  async keep(path: string, keys?: readonly string[], until = this.get(path)?.until): Promise<void> {
    try {
      this._setReply(path, await this._client.keep(path, keys, until));
    } catch (error) {
      await this.read(path);
      throw error;
    } finally {
      this._notebookReads.schedule();
    }
  }

  /**
   * Return cells to the state that was kept last.
   *
   * @param until The newest edit that the user has seen; by default as it was read last.
   * @param canKeep Whether the user may keep changes of cells in which he has typed instead.
   * @throws NbEditError if the server refuses it, such as if a newer edit has changed a cell.
   */
  async undo(
    path: string,
    keys: readonly string[],
    until = this.get(path)?.until,
    canKeep = true
  ): Promise<UndoneCells> {
    try {
      return await this._client.undoCells(path, keys, until, canKeep);
    } finally {
      await this.read(path);
      this._notebookReads.schedule();
    }
  }

  /** Whether the user may keep what is unseen; otherwise it stays unseen. */
  get canKeep(): boolean {
    return this._right.isGranted;
  }

  /** The notebooks with unseen edits, for badges. */
  get notebooks(): readonly UnseenNotebook[] {
    return this._notebooks;
  }

  /** Emitted when `notebooks` or `canKeep` has changed. */
  get notebooksChanged(): ISignal<this, void> {
    return this._notebooksChanged;
  }

  /** Read `notebooks` soon. */
  refreshNotebooks(): void {
    this._notebookReads.schedule();
  }

  private _onChange(path: string): void {
    if (this._isPageVisible()) {
      this._notebookReads.schedule();
    }
    if (this._isOpen(path)) {
      this._reads.get(path)?.schedule();
    } else {
      this._reads.delete(path);
      this._replies.delete(path);
    }
  }

  private async _read(path: string): Promise<void> {
    try {
      this._setReply(path, await this._client.getUnseen(path));
    } catch (error) {
      if (isUnavailable(error)) {
        this._setReply(path, null);
      } else {
        console.warn(`jupyter-nbedit: the unseen changes of ${path} could not be read.`, error);
      }
    }
  }

  private _setReply(path: string, reply: UnseenReply | null): void {
    if (JSON.stringify(reply) === JSON.stringify(this.get(path))) {
      return;
    }
    if (reply === null) {
      this._replies.delete(path);
    } else {
      this._replies.set(path, reply);
    }
    this._changed.emit(path);
  }

  private async _readNotebooks(): Promise<void> {
    let notebooks: readonly UnseenNotebook[] = [];
    try {
      notebooks = await this._client.listUnseen();
    } catch (error) {
      if (!isUnavailable(error)) {
        console.warn('jupyter-nbedit: the notebooks with unseen edits could not be read.', error);
        return;
      }
    }
    if (JSON.stringify(notebooks) !== JSON.stringify(this._notebooks)) {
      this._notebooks = notebooks;
      this._notebooksChanged.emit();
    }
  }

  private readonly _changed = new Signal<this, string>(this);
  private readonly _notebooksChanged = new Signal<this, void>(this);
  private readonly _replies = new Map<string, UnseenReply>();
  private readonly _reads = new Map<string, CoalescedReads>();
  private readonly _notebookReads = new CoalescedReads(() => this._readNotebooks(), LIST_DELAY);
  private _notebooks: readonly UnseenNotebook[] = [];
}

/** Runs a read at most once at a time, and at most half of the time after events. */
class CoalescedReads {
  /**
   * @param _read May not reject.
   * @param _delay In milliseconds.
   */
  constructor(
    private readonly _read: () => Promise<void>,
    private readonly _delay: number
  ) {}

  /** Run the read after the delay, once for all calls until then. */
  schedule(): void {
    // If a large notebook has many changes, a read may take the server a second.
    const delay = Math.max(this._delay, this._duration);
    this._timer ??= setTimeout(() => void this.run(), delay);
  }

  /** Wait for a read that starts after this call; calls while one is running share the next. */
  run(): Promise<void> {
    clearTimeout(this._timer);
    this._timer = undefined;
    if (this._current === null) {
      const start = performance.now();
      this._current = this._read().finally(() => {
        this._duration = performance.now() - start;
        this._current = null;
      });
      return this._current;
    }
    this._next ??= this._current.then(() => {
      this._next = null;
      return this.run();
    });
    return this._next;
  }

  private _timer: ReturnType<typeof setTimeout> | undefined;
  /** How long the last read took, in milliseconds. */
  private _duration = 0;
  private _current: Promise<void> | null = null;
  private _next: Promise<void> | null = null;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof NbEditError && UNAVAILABLE_STATUSES.includes(error.status);
}
