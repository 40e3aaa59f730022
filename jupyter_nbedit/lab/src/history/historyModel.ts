import { Signal, type ISignal } from '@lumino/signaling';
import { NbEditError, type NbEditClient } from '../server/client';
import type { HistoryEdit, HistoryReply } from '../server/models';

/** Number of edits in one request. */
const PAGE_SIZE = 50;

/** Delay of a refresh, and minimum time between two requests, in milliseconds. */
const REFRESH_DELAY = 100;
const MIN_REQUEST_INTERVAL = 1000;

/** Which edits are listed: of one notebook, of all notebooks (path null), or none (null). */
export type HistoryFilter = { readonly path: string | null } | null;

/** The loaded part of the edit history. */
export class HistoryModel {
  constructor(private readonly _server: NbEditClient) {}

  /** Emitted when the list has changed, with the edits that were made since the last request. */
  get changed(): ISignal<this, readonly HistoryEdit[]> {
    return this._changed;
  }

  get filter(): HistoryFilter {
    return this._filter;
  }

  get edits(): readonly HistoryEdit[] {
    return this._history.edits;
  }

  /** Whether older edits can be loaded. */
  get hasMore(): boolean {
    return this._history.next !== null;
  }

  /** Whether no reply has arrived yet. */
  get isInitial(): boolean {
    return this._isInitial;
  }

  /** The error of the last request, or null. */
  get failure(): NbEditError | null {
    return this._failure;
  }

  setFilter(filter: HistoryFilter): void {
    if (filter?.path === this._filter?.path && (filter === null) === (this._filter === null)) {
      return;
    }
    this._filter = filter;
    this._generation++;
    this._history = EMPTY_HISTORY;
    this._isInitial = true;
    this._failure = null;
    this._isLoadingOlder = false;
    this._changed.emit([]);
    void this.refresh();
  }

  /** Schedule a refresh; several calls make one request. */
  scheduleRefresh(): void {
    if (this._timer === null) {
      const delay = Math.max(
        REFRESH_DELAY,
        this._lastRequestTime + MIN_REQUEST_INTERVAL - Date.now()
      );
      this._timer = window.setTimeout(() => {
        this._timer = null;
        void this.refresh();
      }, delay);
    }
  }

  /** Request the newest edits now, or after the current request. */
  async refresh(): Promise<void> {
    this._lastRefresh = this._lastRefresh.then(async () => this._refresh());
    return this._lastRefresh;
  }

  private async _refresh(): Promise<void> {
    const filter = this._filter;
    const generation = this._generation;
    if (filter === null) {
      return;
    }
    this._lastRequestTime = Date.now();
    await this._load(generation, async () => {
      const page = await this._server.listHistory(filter.path, null, PAGE_SIZE);
      const stale = await Promise.all(
        findOutdatedEdits(this._history, page).map(async id =>
          this._server.listHistory(filter.path, id + 1, 1).then(({ edits }) => edits)
        )
      );
      return () => {
        const newest = this._history.edits[0]?.edit_id ?? 0;
        const newEdits = this._isInitial ? [] : page.edits.filter(({ edit_id: id }) => id > newest);
        this._history = stale.flat().reduce(replaceEdit, prependPage(this._history, page));
        this._isInitial = false;
        return newEdits;
      };
    });
  }

  /** Request older edits. */
  async loadOlder(): Promise<void> {
    const { next } = this._history;
    const filter = this._filter;
    if (filter === null || next === null || this._isLoadingOlder) {
      return;
    }
    this._isLoadingOlder = true;
    const generation = this._generation;
    await this._load(generation, async () => {
      const page = await this._server.listHistory(filter.path, next, PAGE_SIZE);
      return () => {
        // If the loaded edits were dropped meanwhile, this page does not continue them.
        if (this._history.next === next) {
          this._history = appendPage(this._history, page);
        }
        return [];
      };
    });
    if (generation === this._generation) {
      this._isLoadingOlder = false;
    }
  }

  /**
   * Send a request, and apply the reply unless the filter has changed.
   *
   * @param request Returns a function that applies the reply and returns the new edits.
   */
  private async _load(
    generation: number,
    request: () => Promise<() => HistoryEdit[]>
  ): Promise<void> {
    let newEdits: HistoryEdit[] = [];
    let failure: NbEditError | null = null;
    let applyReply = (): HistoryEdit[] => [];
    try {
      applyReply = await request();
    } catch (error) {
      failure = error instanceof NbEditError ? error : new NbEditError(0, 'unknown', String(error));
    }
    if (generation === this._generation) {
      newEdits = applyReply();
      this._failure = failure;
      this._changed.emit(newEdits);
    }
  }

  private readonly _changed = new Signal<this, readonly HistoryEdit[]>(this);
  private _filter: HistoryFilter = null;
  /** Number of filter changes: replies to requests for an earlier filter are ignored. */
  private _generation = 0;
  private _history: HistoryReply = EMPTY_HISTORY;
  private _isInitial = true;
  private _failure: NbEditError | null = null;
  private _isLoadingOlder = false;
  private _lastRefresh = Promise.resolve();
  private _timer: number | null = null;
  private _lastRequestTime = 0;
}

/** Maximum number of edits that are kept when new ones arrive. */
const MAX_EDITS = 1000;

/** The history before the first reply. */
export const EMPTY_HISTORY: HistoryReply = { edits: [], next: null };

/**
 * Put the newest page before the loaded edits.
 *
 * @param page The newest edits. If edits are missing between this page and the loaded ones, the
 *   loaded ones are dropped, and are requested again when needed.
 */
export function prependPage(loaded: HistoryReply, page: HistoryReply): HistoryReply {
  const last = page.edits.at(-1)?.edit_id;
  if (page.next === null || last === undefined) {
    return page;
  }
  const older = loaded.edits.filter(({ edit_id: id }) => id < last);
  const isGap = !loaded.edits.some(({ edit_id: id }) => id >= last);
  if (isGap || older.length === 0) {
    return page;
  }
  const edits = [...page.edits, ...older].slice(0, Math.max(MAX_EDITS, loaded.edits.length));
  const isTruncated = edits.length < page.edits.length + older.length;
  return { edits, next: isTruncated ? (edits.at(-1)?.edit_id ?? null) : loaded.next };
}

/** Put an older page after the loaded edits. */
export function appendPage(loaded: HistoryReply, page: HistoryReply): HistoryReply {
  const last = loaded.edits.at(-1)?.edit_id ?? Number.POSITIVE_INFINITY;
  const older = page.edits.filter(({ edit_id: id }) => id < last);
  return { edits: [...loaded.edits, ...older], next: page.next };
}

/** Replace an edit by its current state. */
export function replaceEdit(loaded: HistoryReply, edit: HistoryEdit): HistoryReply {
  const edits = loaded.edits.map(old => (old.edit_id === edit.edit_id ? edit : old));
  return { ...loaded, edits };
}

/** Return loaded edits that the new edits of a page have changed by an undo or a redo. */
export function findOutdatedEdits(loaded: HistoryReply, page: HistoryReply): number[] {
  const byId = new Map([...loaded.edits, ...page.edits].map(edit => [edit.edit_id, edit]));
  const newest = loaded.edits[0]?.edit_id ?? 0;
  const pageIds = new Set(page.edits.map(({ edit_id: id }) => id));
  const outdatedIds = new Set<number>();
  for (const { undoes } of page.edits.filter(({ edit_id: id }) => id > newest)) {
    // A redo reverts an undo, and thereby changes the edit that was undone.
    for (let id = undoes; id !== null; id = byId.get(id)?.undoes ?? null) {
      if (!pageIds.has(id) && byId.has(id)) {
        outdatedIds.add(id);
      }
    }
  }
  return [...outdatedIds];
}

/** What can be done with an edit; null if its undo record is no longer kept. */
export type EditAction = 'undo' | 'redo' | null;

/** Return what can be done with an edit: an edit that is undone can be redone, and so on. */
export function getEditAction(edit: HistoryEdit): EditAction {
  if (edit.undone_by !== null) {
    return 'redo';
  }
  if (!edit.undoable) {
    return null;
  }
  return edit.kind === 'undo' ? 'redo' : 'undo';
}
