import type { IChangedArgs } from '@jupyterlab/coreutils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { BaseVersion } from '../merge/baseVersion';
import { readFileContent, type Notebook } from '../merge/notebook';
import { mergeNotebooks, type CellConflict, type NotebookMerge } from '../merge/notebookMerge';
import type { ConflictChoice } from '../notify/wording';
import type { FileChange } from '../server/fileChanges';
import type { OpenTab } from '../server/tabReports';
import { fetchNotebook, isFileCurrent } from './diskVersion';
import { IncomingChanges } from './incomingChanges';
import { adoptVersion, type ConditionalSaves } from './jupyterlabInternals';
import { OpenNotebook, type NotebookServices } from './openNotebook';

/** Maximum number of times that a sync or a save is repeated because the other side has changed. */
const MAX_ATTEMPTS = 5;

/** The services that a sync uses. */
export interface SyncServices extends NotebookServices {
  readonly contents: Contents.IManager;
  readonly saves: ConditionalSaves;
  /** Milliseconds between autosaves, or null if autosave is off. */
  readonly autosaveInterval: () => number | null;
  /** Reports to the server what the tab shows. */
  readonly tab: OpenTab;
}

/**
 * Keeps an open notebook and its file in sync.
 *
 * The version on disk is merged into the tab, cell by cell, with the version last loaded or saved
 * as the base; the same happens with and without unsaved changes. Every save merges first, so that
 * a tab that missed an event neither overwrites a change nor asks the user.
 */
export class NotebookSync {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    private readonly _services: SyncServices
  ) {
    this._notebook = new OpenNotebook(_context, _services);
    this._incomingChanges = new IncomingChanges(this._notebook, (key, conflict, choice) =>
      this._run(() => {
        this._applyChoice(key, conflict, choice);
        this._report();
      })
    );
    this._save = _context.save.bind(_context);
    this._revert = _context.revert.bind(_context);
    _context.save = () => this._mergeAndSave();
    _context.revert = () => this._reload();
    _context.saveState.connect(this._onSaveState);
    _context.model.stateChanged.connect(this._onStateChanged);
    const stop = _services.running.addListener(() => {
      if (this._baseVersion?.hasDeferred === true) {
        this.requestSync();
      }
    });
    _context.disposed.connect(stop);
    // The base version of a tab with unsaved changes is unknown: it is not merged until its next
    // save.
    if (!_context.isReady || !_context.model.dirty) {
      void _context.ready.then(() => this._onLoaded());
    }
  }

  /** Sync after a reported change of the file. */
  onFileChange(change: FileChange): void {
    this._notebook.withdrawUndoneEdit(change);
    if (this._baseVersion !== null) {
      this._pendingChanges.push(change);
      this.requestSync();
    }
  }

  /** Schedule a sync with the disk. */
  requestSync(): void {
    if (!this._isRequested) {
      this._isRequested = true;
      this._run(async () => {
        this._isRequested = false;
        await this._sync();
        this._report();
        this._saveIfOverdue();
      });
    }
  }

  /** Run tasks one at a time: a merge must not overlap a save or another merge. */
  private _enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    const result = this._queue.then(work);
    this._queue = result.catch(() => undefined);
    return result;
  }

  private _run(work: () => void | Promise<void>): void {
    this._enqueue(work).catch((error: unknown) => this._warn(error));
  }

  private _onLoaded(): void {
    this._baseVersion = new BaseVersion(this._notebook.readContent().notebook);
    this._mergedHash = this._context.contentsModel?.hash ?? null;
    this._generation++;
    this._incomingChanges.retainPrompts([]);
    // Changes reported earlier could not be merged, and the loaded version may be older.
    this.requestSync();
  }

  private _mergeAndSave(): Promise<void> {
    const save = async (): Promise<void> => {
      this._isSaving = true;
      try {
        await this._save();
      } finally {
        this._isSaving = false;
      }
    };
    return this._enqueue(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS && (await this._mergeBeforeSave()); attempt++) {
        if (await this._services.saves.saveIfCurrent(this._context, save)) {
          return;
        }
      }
      await save();
    });
  }

  /** Merge before a save. If that fails, JupyterLab's own save reports the problem. */
  private async _mergeBeforeSave(): Promise<boolean> {
    try {
      await this._sync();
      this._report();
    } catch (error) {
      this._warn(error);
      return false;
    }
    return this._baseVersion !== null;
  }

  /**
   * Reload as requested by the user. Not queued, because a dialog of a queued save may request it.
   */
  private async _reload(): Promise<void> {
    const baseVersion = this._baseVersion;
    this._baseVersion = null;
    this._savingNotebook = null;
    this._generation++;
    try {
      await this._revert();
      this._onLoaded();
    } catch (error) {
      this._baseVersion = baseVersion;
      throw error;
    }
  }

  private async _sync(): Promise<void> {
    const { contents } = this._services;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (this._context.isDisposed || this._baseVersion === null) {
        return;
      }
      this._mergeDeferred(this._baseVersion);
      const generation = this._generation;
      const changeCount = this._pendingChanges.length;
      const hasNewHash = this._pendingChanges.some(
        ({ hash }) => hash !== null && hash !== this._mergedHash
      );
      const { path } = this._context;
      if (!hasNewHash && (await isFileCurrent(contents, path, this._context.contentsModel))) {
        this._services.tab.markApplied(this._pendingChanges.splice(0, changeCount));
        return;
      }
      const version = await fetchNotebook(contents, path, this._baseVersion.notebook);
      if (generation === this._generation) {
        await this._adopt(this._baseVersion, version, changeCount);
        return;
      }
    }
  }

  /** @param changeCount Number of changes that were reported before the disk was read. */
  private async _adopt(
    baseVersion: BaseVersion,
    version: Contents.IModel,
    changeCount: number
  ): Promise<void> {
    const last = this._pendingChanges.map(({ hash }) => hash).lastIndexOf(version.hash ?? '');
    const changes = this._pendingChanges.splice(0, Math.max(changeCount, last + 1));
    const wasDirty = this._context.model.dirty;
    this._isMerging = true;
    try {
      await adoptVersion(this._context, version, this._revert, content => {
        baseVersion.mergeDisk(readFileContent(content), this._notebook.readContent(), result =>
          this._showMerge(result, changes)
        );
      });
      this._notebook.restoreDirtyFlag(wasDirty, baseVersion.notebook);
    } finally {
      this._isMerging = false;
    }
    this._mergedHash = this._context.contentsModel?.hash ?? null;
    this._services.tab.markApplied(changes);
  }

  /**
   * Report what the tab shows, unless changes wait for running cells or the editors differ from the
   * model.
   */
  private _report(): void {
    if (
      this._baseVersion?.hasDeferred === false &&
      !this._context.isDisposed &&
      this._notebook.areEditorsCurrent()
    ) {
      const state = this._context.model.dirty ? 'merged' : 'shown';
      this._services.tab.report(
        this._mergedHash,
        this._incomingChanges.hasOpenPrompts ? 'waiting' : state
      );
    }
  }

  private _mergeDeferred(baseVersion: BaseVersion): void {
    if (baseVersion.hasDeferred) {
      const wasDirty = this._context.model.dirty;
      baseVersion.mergeDeferred(
        () => this._notebook.readContent(),
        result => this._showMerge(result, [])
      );
      this._notebook.restoreDirtyFlag(wasDirty, baseVersion.notebook);
    }
  }

  /** Apply a merge to the tab, and notify the user. */
  private _showMerge(result: NotebookMerge, changes: readonly FileChange[]): Notebook {
    const notebook = this._notebook.showMerge(result);
    const keys = notebook.cells.map(({ key }) => key ?? '');
    this._incomingChanges.show(result, keys, changes);
    return notebook;
  }

  private _applyChoice(key: string, { kind, theirs }: CellConflict, choice: ConflictChoice): void {
    const wasDirty = this._context.model.dirty;
    const { notebook, pinnedKeys } = this._notebook.readContent();
    const cells = notebook.cells.flatMap(cell => {
      if (cell.key !== key || (choice === 'mine') !== (kind === 'deleted-here')) {
        return [cell];
      }
      return theirs === null || choice === 'mine' ? [] : [{ ...theirs, key }];
    });
    // A user who chooses to delete a cell may delete a running one.
    const keptKeys = kind === 'changed' ? pinnedKeys : new Set<string>();
    this._notebook.showMerge(mergeNotebooks(notebook, notebook, { ...notebook, cells }, keptKeys));
    if (this._baseVersion !== null) {
      this._notebook.restoreDirtyFlag(wasDirty, this._baseVersion.notebook);
    }
  }

  /** Each merge restarts JupyterLab's autosave timer: frequent edits would postpone it forever. */
  private _saveIfOverdue(): void {
    const interval = this._services.autosaveInterval();
    const since = this._dirtySince;
    if (interval !== null && since !== null && Date.now() - since >= interval) {
      this._context.save().catch((error: unknown) => this._warn(error));
    }
  }

  private readonly _onSaveState = (_: unknown, state: DocumentRegistry.SaveState): void => {
    // A copy saved under another name does not change the base version.
    if (!this._isSaving) {
      return;
    }
    this._generation++;
    if (state === 'started') {
      // JupyterLab serializes the notebook in the same task.
      this._savingNotebook = this._notebook.readContent().notebook;
    } else if (state === 'completed' && this._savingNotebook !== null) {
      this._baseVersion ??= new BaseVersion(this._savingNotebook);
      this._baseVersion.markSaved(this._savingNotebook);
      // JupyterLab fetched its hash after the save: it may belong to a later version.
      this._mergedHash = null;
      this._report();
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
  private readonly _incomingChanges: IncomingChanges;
  private readonly _pendingChanges: FileChange[] = [];
  private _queue: Promise<unknown> = Promise.resolve();
  private _isRequested = false;
  private _isSaving = false;
  private _isMerging = false;
  /** Number of saves and reloads: content read from the disk before the last one is outdated. */
  private _generation = 0;
  /** The base version, or null if it is unknown. */
  private _baseVersion: BaseVersion | null = null;
  /** The content that is being saved. */
  private _savingNotebook: Notebook | null = null;
  /** The hash of the content of the tab, or null if it is not certain. */
  private _mergedHash: string | null = null;
  private _dirtySince: number | null = null;
}
