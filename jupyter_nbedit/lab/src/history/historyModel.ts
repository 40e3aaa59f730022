import { Signal, type ISignal } from '@lumino/signaling';
import { Refusal, type Server } from '../server/client';
import type { Edit, Page } from '../server/models';

/** How many edits are asked for at once. */
const PAGE = 50;

/** How long to wait for more events, and between two requests, in milliseconds. */
const SOON = 100;
const PAUSE = 1000;

/** What is listed: the edits of one notebook, of all (null), or none because none is open. */
export type Subject = { readonly path: string | null } | null;

/** What has become of the list. */
export interface News {
  /** Edits that were made since the list was last asked for. */
  readonly arrived: readonly Edit[];
}

/** A history as far as it has been asked for, and as it comes to be. */
export class HistoryModel {
  constructor(private readonly _server: Server) {}

  get changed(): ISignal<this, News> {
    return this._changed;
  }

  get subject(): Subject {
    return this._subject;
  }

  get edits(): readonly Edit[] {
    return this._known.edits;
  }

  /** Whether older edits can be asked for. */
  get hasMore(): boolean {
    return this._known.next !== null;
  }

  /** Whether nothing was answered yet. */
  get isNew(): boolean {
    return this._isNew;
  }

  /** Why the last request failed, if it did. */
  get failure(): Refusal | null {
    return this._failure;
  }

  setSubject(subject: Subject): void {
    if (subject?.path === this._subject?.path && (subject === null) === (this._subject === null)) {
      return;
    }
    this._subject = subject;
    this._generation++;
    this._known = NOTHING;
    this._isNew = true;
    this._failure = null;
    this._isExtending = false;
    this._changed.emit({ arrived: [] });
    void this.refresh();
  }

  /** Ask for news soon; many calls make one request. */
  request(): void {
    if (this._timer === null) {
      const wait = Math.max(SOON, this._last + PAUSE - Date.now());
      this._timer = window.setTimeout(() => {
        this._timer = null;
        void this.refresh();
      }, wait);
    }
  }

  /** Ask for the newest edits now, or after what is on its way. */
  async refresh(): Promise<void> {
    this._refreshed = this._refreshed.then(async () => this._refresh());
    return this._refreshed;
  }

  private async _refresh(): Promise<void> {
    const subject = this._subject;
    const generation = this._generation;
    if (subject === null) {
      return;
    }
    this._last = Date.now();
    await this._try(generation, async () => {
      const page = await this._server.history(subject.path, null, PAGE);
      const stale = await Promise.all(
        outdated(this._known, page).map(async id =>
          this._server.history(subject.path, id + 1, 1).then(({ edits }) => edits)
        )
      );
      return () => {
        const newest = this._known.edits[0]?.edit_id ?? 0;
        const arrived = this._isNew ? [] : page.edits.filter(({ edit_id: id }) => id > newest);
        this._known = stale.flat().reduce(replaced, renewed(this._known, page));
        this._isNew = false;
        return arrived;
      };
    });
  }

  /** Ask for older edits. */
  async extend(): Promise<void> {
    const { next } = this._known;
    const subject = this._subject;
    if (subject === null || next === null || this._isExtending) {
      return;
    }
    this._isExtending = true;
    const generation = this._generation;
    await this._try(generation, async () => {
      const page = await this._server.history(subject.path, next, PAGE);
      return () => {
        // If what is known was dropped meanwhile, this page is not its continuation.
        if (this._known.next === next) {
          this._known = extended(this._known, page);
        }
        return [];
      };
    });
    if (generation === this._generation) {
      this._isExtending = false;
    }
  }

  /**
   * Ask, and take over the answer if it is still wanted.
   *
   * @param ask Answers what takes it over, which answers which edits are new.
   */
  private async _try(generation: number, ask: () => Promise<() => Edit[]>): Promise<void> {
    let arrived: Edit[] = [];
    let failure: Refusal | null = null;
    let take = (): Edit[] => [];
    try {
      take = await ask();
    } catch (error) {
      failure = error instanceof Refusal ? error : new Refusal(0, 'unknown', String(error));
    }
    if (generation === this._generation) {
      arrived = take();
      this._failure = failure;
      this._changed.emit({ arrived });
    }
  }

  private readonly _changed = new Signal<this, News>(this);
  private _subject: Subject = null;
  /** Counts the subjects: an answer about a former one is not wanted any more. */
  private _generation = 0;
  private _known: Page = NOTHING;
  private _isNew = true;
  private _failure: Refusal | null = null;
  private _isExtending = false;
  private _refreshed = Promise.resolve();
  private _timer: number | null = null;
  private _last = 0;
}

/** More edits than this are not kept while new ones come; they are asked for again. */
const MOST = 1000;

/** Nothing is known yet. */
export const NOTHING: Page = { edits: [], next: null };

/**
 * Put the newest page before what is known of a history.
 *
 * @param page The newest edits as they are now. Where edits between it and what is known are
 *   missing, what is known is dropped: it is asked for again when somebody looks that far.
 */
export function renewed(known: Page, page: Page): Page {
  const last = page.edits.at(-1)?.edit_id;
  if (page.next === null || last === undefined) {
    return page;
  }
  const older = known.edits.filter(({ edit_id: id }) => id < last);
  const isGap = !known.edits.some(({ edit_id: id }) => id >= last);
  if (isGap || older.length === 0) {
    return page;
  }
  const edits = [...page.edits, ...older].slice(0, Math.max(MOST, known.edits.length));
  const isCut = edits.length < page.edits.length + older.length;
  return { edits, next: isCut ? (edits.at(-1)?.edit_id ?? null) : known.next };
}

/** Put an older page behind what is known. */
export function extended(known: Page, page: Page): Page {
  const last = known.edits.at(-1)?.edit_id ?? Number.POSITIVE_INFINITY;
  const older = page.edits.filter(({ edit_id: id }) => id < last);
  return { edits: [...known.edits, ...older], next: page.next };
}

/** Put an edit as it is now in the place of what is known of it. */
export function replaced(known: Page, edit: Edit): Page {
  const edits = known.edits.map(old => (old.edit_id === edit.edit_id ? edit : old));
  return { ...known, edits };
}

/** Which known edits that are not on the newest page it has changed, by taking them back. */
export function outdated(known: Page, page: Page): number[] {
  const byId = new Map([...known.edits, ...page.edits].map(edit => [edit.edit_id, edit]));
  const newest = known.edits[0]?.edit_id ?? 0;
  const fresh = new Set(page.edits.map(({ edit_id: id }) => id));
  const found = new Set<number>();
  for (const { undoes } of page.edits.filter(({ edit_id: id }) => id > newest)) {
    // A redo takes back an undo, and with it changes what that had taken back.
    for (let id = undoes; id !== null; id = byId.get(id)?.undoes ?? null) {
      if (!fresh.has(id) && byId.has(id)) {
        found.add(id);
      }
    }
  }
  return [...found];
}

/** What can be done to an edit: nothing, if what is needed for it is not kept any more. */
export type Action = 'undo' | 'redo' | null;

/** What can be done to an edit. What was taken back can be made again, and so on. */
export function actionOf(edit: Edit): Action {
  if (edit.undone_by !== null) {
    return 'redo';
  }
  if (!edit.undoable) {
    return null;
  }
  return edit.kind === 'undo' ? 'redo' : 'undo';
}
