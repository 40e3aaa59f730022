import type { IChangedArgs } from '@jupyterlab/coreutils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { Baseline } from '../merge/baseVersion';
import { readFile, type Notebook } from '../merge/notebook';
import { merge, type Conflict, type Merge } from '../merge/notebookMerge';
import type { Choice } from '../notify/wording';
import type { FileChange } from '../server/fileChanges';
import type { OpenTab } from '../server/tabReports';
import { fetchNotebook, isCurrent } from './diskVersion';
import { Arrivals } from './incomingChanges';
import { takeOver, type ExpectantSaves } from './jupyterlabInternals';
import { OpenNotebook, type Around } from './openNotebook';

/** How often a sync or a save starts over because the other side was faster. */
const ATTEMPTS = 5;

/** What a sync needs to know of the application. */
export interface Surroundings extends Around {
  readonly contents: Contents.IManager;
  readonly saves: ExpectantSaves;
  /** Milliseconds between autosaves, or null if there are none. */
  readonly autosaveInterval: () => number | null;
  /** Tells the server what the tab shows. */
  readonly tab: OpenTab;
}

/**
 * Keeps one open notebook and its file together.
 *
 * What the disk has is merged into what the tab shows, cell by cell, against what the tab last
 * loaded or saved; a tab with unsaved changes and one without go the same way. Every save is
 * preceded by such a merge, so that a tab that heard of no change neither overwrites one nor asks.
 */
export class NotebookSync {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    private readonly _around: Surroundings
  ) {
    this._notebook = new OpenNotebook(_context, _around);
    this._arrivals = new Arrivals(this._notebook, (key, conflict, choice) =>
      this._start(() => {
        this._choose(key, conflict, choice);
        this._tell();
      })
    );
    this._save = _context.save.bind(_context);
    this._revert = _context.revert.bind(_context);
    _context.save = () => this._saveMerged();
    _context.revert = () => this._reload();
    _context.saveState.connect(this._onSaveState);
    _context.model.stateChanged.connect(this._onStateChanged);
    const stop = _around.running.listen(() => {
      if (this._baseline?.isWaiting === true) {
        this.request();
      }
    });
    _context.disposed.connect(stop);
    // What a tab with unsaved changes had loaded is unknown: it is left alone until its next save.
    if (!_context.isReady || !_context.model.dirty) {
      void _context.ready.then(() => this._loaded());
    }
  }

  /** Hear that the file is said to have changed. */
  heard(change: FileChange): void {
    this._notebook.withdrawUndone(change);
    if (this._baseline !== null) {
      this._heard.push(change);
      this.request();
    }
  }

  /** Look at the disk soon. */
  request(): void {
    if (!this._isRequested) {
      this._isRequested = true;
      this._start(async () => {
        this._isRequested = false;
        await this._sync();
        this._tell();
        this._saveIfOverdue();
      });
    }
  }

  /** One thing at a time: a merge must not meet a save or another merge. */
  private _enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this._queue.then(work);
    this._queue = done.catch(() => undefined);
    return done;
  }

  private _start(work: () => void | Promise<void>): void {
    this._enqueue(work).catch((error: unknown) => this._warn(error));
  }

  private _loaded(): void {
    this._baseline = new Baseline(this._notebook.read().notebook);
    this._mergedHash = this._context.contentsModel?.hash ?? null;
    this._changes++;
    this._arrivals.keepQuestions([]);
    // What was heard before this could not be merged, and what was loaded may be older.
    this.request();
  }

  private _saveMerged(): Promise<void> {
    const save = async (): Promise<void> => {
      this._isSaving = true;
      try {
        await this._save();
      } finally {
        this._isSaving = false;
      }
    };
    return this._enqueue(async () => {
      for (let attempt = 0; attempt < ATTEMPTS && (await this._isMerged()); attempt++) {
        if (await this._around.saves.saveUnlessStale(this._context, save)) {
          return;
        }
      }
      await save();
    });
  }

  /** Merge before a save. Where that fails JupyterLab's save finds the same, and tells the user. */
  private async _isMerged(): Promise<boolean> {
    try {
      await this._sync();
      this._tell();
    } catch (error) {
      this._warn(error);
      return false;
    }
    return this._baseline !== null;
  }

  /** Reload as the user asked: not queued, since the dialog of a save may be what asks. */
  private async _reload(): Promise<void> {
    const baseline = this._baseline;
    this._baseline = null;
    this._saved = null;
    this._changes++;
    try {
      await this._revert();
      this._loaded();
    } catch (error) {
      this._baseline = baseline;
      throw error;
    }
  }

  private async _sync(): Promise<void> {
    const { contents } = this._around;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (this._context.isDisposed || this._baseline === null) {
        return;
      }
      this._catchUp(this._baseline);
      const changes = this._changes;
      const heard = this._heard.length;
      const isNews = this._heard.some(({ hash }) => hash !== null && hash !== this._mergedHash);
      const { path } = this._context;
      if (!isNews && (await isCurrent(contents, path, this._context.contentsModel))) {
        this._around.tab.took(this._heard.splice(0, heard));
        return;
      }
      const fetched = await fetchNotebook(contents, path, this._baseline.common);
      if (changes === this._changes) {
        await this._takeOver(this._baseline, fetched, heard);
        return;
      }
    }
  }

  /**
   * @param heard How many of the changes heard of were there before the disk was read.
   */
  private async _takeOver(
    baseline: Baseline,
    fetched: Contents.IModel,
    heard: number
  ): Promise<void> {
    const last = this._heard.map(({ hash }) => hash).lastIndexOf(fetched.hash ?? '');
    const changes = this._heard.splice(0, Math.max(heard, last + 1));
    const wasDirty = this._context.model.dirty;
    this._isMerging = true;
    try {
      await takeOver(this._context, fetched, this._revert, content => {
        baseline.take(readFile(content), this._notebook.read(), result =>
          this._show(result, changes)
        );
      });
      this._notebook.settleDirty(wasDirty, baseline.common);
    } finally {
      this._isMerging = false;
    }
    this._mergedHash = this._context.contentsModel?.hash ?? null;
    this._around.tab.took(changes);
  }

  /**
   * Tell the server what the tab shows, unless part of it waits for running cells or is not in the
   * editors as it is in the model.
   */
  private _tell(): void {
    if (
      this._baseline?.isWaiting === false &&
      !this._context.isDisposed &&
      this._notebook.isShown()
    ) {
      const own = this._context.model.dirty ? 'merged' : 'shown';
      this._around.tab.shows(this._mergedHash, this._arrivals.isAsking ? 'waiting' : own);
    }
  }

  private _catchUp(baseline: Baseline): void {
    if (baseline.isWaiting) {
      const wasDirty = this._context.model.dirty;
      baseline.catchUp(
        () => this._notebook.read(),
        result => this._show(result, [])
      );
      this._notebook.settleDirty(wasDirty, baseline.common);
    }
  }

  /** Show a merge in the tab, and tell of it. */
  private _show(result: Merge, changes: readonly FileChange[]): string[] {
    const keys = this._notebook.apply(result);
    this._arrivals.show(result, keys, changes);
    return keys;
  }

  private _choose(key: string, { kind, theirs }: Conflict, choice: Choice): void {
    const wasDirty = this._context.model.dirty;
    const { notebook, pinned } = this._notebook.read();
    const cells = notebook.cells.flatMap(cell => {
      if (cell.key !== key || (choice === 'mine') !== (kind === 'deleted-here')) {
        return [cell];
      }
      return theirs === null || choice === 'mine' ? [] : [{ ...theirs, key }];
    });
    // Whoever chooses to delete a cell may delete one that is running.
    const kept = kind === 'changed' ? pinned : new Set<string>();
    this._notebook.apply(merge(notebook, notebook, { ...notebook, cells }, kept));
    if (this._baseline !== null) {
      this._notebook.settleDirty(wasDirty, this._baseline.common);
    }
  }

  /** Each merge starts JupyterLab's autosave timer anew: frequent edits would put it off for ever. */
  private _saveIfOverdue(): void {
    const interval = this._around.autosaveInterval();
    const since = this._dirtySince;
    if (interval !== null && since !== null && Date.now() - since >= interval) {
      this._context.save().catch((error: unknown) => this._warn(error));
    }
  }

  private readonly _onSaveState = (_: unknown, state: DocumentRegistry.SaveState): void => {
    // A copy saved under another name is none of ours.
    if (!this._isSaving) {
      return;
    }
    this._changes++;
    if (state === 'started') {
      // JupyterLab takes what it saves in the same tick.
      this._saved = this._notebook.read().notebook;
    } else if (state === 'completed' && this._saved !== null) {
      this._baseline ??= new Baseline(this._saved);
      this._baseline.saved(this._saved);
      // The hash JupyterLab has now was fetched after the save: it may be of a later version.
      this._mergedHash = null;
      this._tell();
    }
  };

  private readonly _onStateChanged = (_: unknown, change: IChangedArgs<unknown>): void => {
    if (change.name !== 'dirty') {
      return;
    }
    if (!this._context.model.dirty) {
      this._dirtySince = null;
    } else if (!this._isMerging) {
      this._dirtySince ??= Date.now();
    }
  };

  private _warn(error: unknown): void {
    console.warn(`jupyter-nbedit: ${this._context.path} was not merged with its file.`, error);
  }

  private readonly _save: () => Promise<void>;
  private readonly _revert: () => Promise<void>;
  private readonly _notebook: OpenNotebook;
  private readonly _arrivals: Arrivals;
  private readonly _heard: FileChange[] = [];
  private _queue: Promise<unknown> = Promise.resolve();
  private _isRequested = false;
  private _isSaving = false;
  private _isMerging = false;
  /** Counts saves and reloads: what was read from the disk before one is void. */
  private _changes = 0;
  /** What tab and file have in common, or null if that is unknown. */
  private _baseline: Baseline | null = null;
  /** What is being saved. */
  private _saved: Notebook | null = null;
  /** The hash whose content the tab has, or null if that is not certain. */
  private _mergedHash: string | null = null;
  private _dirtySince: number | null = null;
}
