import type { IChangedArgs } from '@jupyterlab/coreutils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import { BaseVersion } from '../merge/baseVersion';
import type { Notebook } from '../merge/notebook';
import { mergeNotebooks, type CellConflict, type NotebookMerge } from '../merge/notebookMerge';
import { FileProblemNotice } from '../notify/fileProblems';
import { joinTexts, type ConflictChoice } from '../notify/openConflicts';
import { mergeTouchingChanges } from '../merge/textMerge';
import type { FileChange, FileProblem } from '../server/fileChanges';
import type { NbEditServices } from '../services/servicesPlugin';
import { localEdits } from '../server/localEdits';
import type { OpenTab } from '../server/tabConnection';
import { unsavedTyping } from '../server/unsavedTyping';
import type { NotebookFile } from './diskVersion';
import { IncomingChanges } from './incomingChanges';
import { adoptVersion, type ConditionalSaves, type DiskVersion } from './jupyterlabInternals';
import { OpenNotebook, type NotebookParts } from './openNotebook';
import { TabTypingGuard } from './typingGuard';

/** Maximum number of times that a sync or a save is repeated because the other side has changed. */
const MAX_ATTEMPTS = 5;

/**
 * Time to wait for the event of an edit after the event of a save without a hash, in milliseconds:
 * an edit sends both, and its own says which version to read.
 */
const EDIT_EVENT_DELAY = 100;

/** What a sync uses for one notebook. */
export interface SyncParts extends NotebookParts {
  readonly file: NotebookFile;
  readonly saves: ConditionalSaves;
  /** Milliseconds between autosaves, or null if autosave is off. */
  readonly autosaveInterval: () => number | null;
  /** Reports to the server what the tab shows. */
  readonly tab: OpenTab;
}

/** The operations of edits that return a notebook to an earlier state. */
const REVERSALS: ReadonlySet<string> = new Set(['undo', 'redo', 'restore']);

/**
 * Return whether all changes are undos that the user has asked for in this page: only what they
 * changed is to go, also where the user has typed right beside it.
 */
function areOwnUndos(changes: readonly FileChange[]): boolean {
  // The server's save of an edit is reported, too, but without a hash.
  const edits = changes.filter(({ hash }) => hash !== null);
  return (
    edits.length > 0 &&
    edits.every(
      change => isReversal(change) && change.editId !== null && localEdits.has(change.editId)
    )
  );
}

function isReversal({ operations }: FileChange): boolean {
  return operations.length > 0 && operations.every(({ op }) => REVERSALS.has(op));
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
    services: NbEditServices,
    private readonly _parts: SyncParts
  ) {
    this._notebook = new OpenNotebook(_context, services, _parts);
    this._incomingChanges = new IncomingChanges(this._notebook, (key, conflict, choice) =>
      this._run(() => {
        this._applyChoice(key, conflict, choice);
        this._report();
      })
    );
    this._problemNotice = new FileProblemNotice(services.trans);
    _context.disposed.connect(() => this._problemNotice.dismiss());
    this._save = _context.save.bind(_context);
    this._revert = _context.revert.bind(_context);
    _context.save = () => this._mergeAndSave();
    _context.revert = () => this._reload();
    _context.saveState.connect(this._onSaveState);
    _context.model.stateChanged.connect(this._onStateChanged);
    const stop = _parts.running.addListener(() => {
      if (this._baseVersion?.hasDeferred === true) {
        this.requestSync();
      }
    });
    _context.disposed.connect(stop);
    const guard = new TabTypingGuard(_context, {
      getBase: () => this._baseVersion?.disk ?? null,
      trans: services.trans
    });
    unsavedTyping.add(guard);
    _context.disposed.connect(() => unsavedTyping.remove(guard));
    // The base version of a tab with unsaved changes is unknown: it is not merged until its next
    // save.
    if (!_context.isReady || !_context.model.dirty) {
      void _context.ready.then(() => this._onLoaded());
    }
  }

  /** Sync after a reported change of the file. */
  onFileChange(change: FileChange): void {
    this._notebook.addReport(change);
    this._problemNotice.dismiss();
    if (this._baseVersion === null) {
      return;
    }
    this._pendingChanges.push(change);
    if (change.hash !== null) {
      this._scheduleSync();
    } else {
      setTimeout(() => this._scheduleSync(), EDIT_EVENT_DELAY);
    }
  }

  /** Tell the user that the file is missing or unreadable; the tab keeps what it has. */
  onFileProblem(problem: FileProblem): void {
    this._problemNotice.show(this._notebook.fileName, problem);
  }

  /** Schedule a sync with the disk, because the file may have changed. */
  requestSync(): void {
    this._mayBeStale = true;
    this._scheduleSync();
  }

  private _scheduleSync(): void {
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
    this._diskHash = this._context.contentsModel?.hash ?? null;
    this._generation++;
    this._incomingChanges.retainConflicts([]);
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
        if (await this._parts.saves.saveIfCurrent(this._context, save)) {
          return;
        }
      }
      await save();
    });
  }

  /** Merge before a save. If that fails, JupyterLab's own save reports the problem. */
  private async _mergeBeforeSave(): Promise<boolean> {
    this._mayBeStale = true;
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
    const { file } = this._parts;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (this._context.isDisposed || this._baseVersion === null) {
        return;
      }
      this._mergeDeferred(this._baseVersion);
      const generation = this._generation;
      const changeCount = this._pendingChanges.length;
      if (await this._isCurrent()) {
        const changes = this._pendingChanges.splice(0, changeCount);
        this._baseVersion.addReports(changes);
        this._parts.tab.markApplied(changes);
        return;
      }
      const { path } = this._context;
      const version = await file.fetch(path, this._baseVersion.disk, this._diskHash);
      if (this._context.model.dirty && this._pendingChanges.some(isReversal)) {
        // Whether it was asked for in this page is known when the reply has arrived.
        await localEdits.whenUndone(this._context.localPath);
      }
      if (generation === this._generation) {
        await this._adopt(this._baseVersion, version, changeCount);
        return;
      }
    }
  }

  /** Return whether the tab has the version on disk; ask only if no event has told. */
  private async _isCurrent(): Promise<boolean> {
    const hashes = this._pendingChanges.map(({ hash }) => hash);
    if (hashes.some(hash => hash !== null && hash !== this._diskHash)) {
      return false;
    }
    if (!this._mayBeStale && !hashes.includes(null)) {
      return true;
    }
    this._mayBeStale = false;
    const { path, contentsModel } = this._context;
    try {
      return await this._parts.file.isCurrent(path, this._diskHash, contentsModel);
    } catch (error) {
      this._mayBeStale = true;
      throw error;
    }
  }

  /** @param changeCount Number of changes that were reported before the disk was read. */
  private async _adopt(
    baseVersion: BaseVersion<FileChange>,
    version: DiskVersion,
    changeCount: number
  ): Promise<void> {
    const last = this._pendingChanges.map(({ hash }) => hash).lastIndexOf(version.model.hash ?? '');
    const changes = this._pendingChanges.splice(0, Math.max(changeCount, last + 1));
    // If no report names the version, it may include what was reported while it was read.
    const reported = last < 0 ? [...changes, ...this._pendingChanges] : changes;
    const wasDirty = this._context.model.dirty;
    const mergeTexts = areOwnUndos(reported) ? mergeTouchingChanges : undefined;
    this._isMerging = true;
    try {
      await adoptVersion(this._context, version, this._revert, disk => {
        baseVersion.mergeDisk(
          disk,
          reported,
          this._notebook.readContent(),
          (result, changes) => this._showMerge(result, changes, version.model.hash ?? null),
          mergeTexts
        );
      });
      this._notebook.restoreDirtyFlag(wasDirty, baseVersion.notebook);
    } finally {
      this._isMerging = false;
    }
    this._diskHash = this._context.contentsModel?.hash ?? null;
    this._parts.tab.markApplied(changes);
  }

  /**
   * Show which changes wait, and report what the tab shows.
   *
   * Nothing is reported while changes wait for running cells, or while the editors differ from the
   * model.
   */
  private _report(): void {
    this._incomingChanges.showDeferred(this._baseVersion?.deferredCells ?? new Map());
    if (
      this._baseVersion?.hasDeferred === false &&
      !this._context.isDisposed &&
      this._notebook.areEditorsCurrent()
    ) {
      const state = this._context.model.dirty ? 'merged' : 'shown';
      this._parts.tab.report(this._diskHash, this._incomingChanges.isWaiting ? 'waiting' : state);
    }
  }

  private _mergeDeferred(baseVersion: BaseVersion<FileChange>): void {
    if (baseVersion.hasDeferred) {
      const wasDirty = this._context.model.dirty;
      baseVersion.mergeDeferred(
        () => this._notebook.readContent(),
        (result, changes) => this._showMerge(result, isChange(result) ? changes : [], null)
      );
      this._notebook.restoreDirtyFlag(wasDirty, baseVersion.notebook);
    }
  }

  /**
   * Apply a merge to the tab, and notify the user.
   *
   * @param hash The merged version of the file; null if its changes were reported before.
   */
  private _showMerge(
    result: NotebookMerge,
    changes: readonly FileChange[],
    hash: string | null
  ): Notebook {
    const notebook = this._notebook.showMerge(result);
    const keys = notebook.cells.map(({ key }) => key ?? '');
    this._incomingChanges.show(result, keys, changes, hash);
    return notebook;
  }

  private _applyChoice(key: string, conflict: CellConflict, choice: ConflictChoice): void {
    const { kind, theirs, absorbed } = conflict;
    const wasDirty = this._context.model.dirty;
    const { notebook, pinnedKeys } = this._notebook.readContent();
    const cells = notebook.cells.flatMap(cell => {
      if (absorbed.some(each => each.key === cell.key && each.source === cell.source)) {
        return choice === 'mine' ? [cell] : [];
      }
      if (cell.key !== key) {
        return [cell];
      }
      if (choice === 'both') {
        const source = joinTexts(cell.source, theirs?.source ?? '');
        return [theirs === null ? cell : { ...cell, source }];
      }
      if ((choice === 'mine') !== (kind === 'deleted-here')) {
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
    const interval = this._parts.autosaveInterval();
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
      // The file has the running cells again, as the tab has them: their edits cannot be undone.
      this._baseVersion.markSaved(this._savingNotebook, change => ({
        ...change,
        editId: null,
        isUndoable: false
      }));
      this._diskHash = this._parts.saves.getSavedHash(this._context.path);
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
  private readonly _problemNotice: FileProblemNotice;
  private readonly _pendingChanges: FileChange[] = [];
  private _queue: Promise<unknown> = Promise.resolve();
  private _isRequested = false;
  private _isSaving = false;
  private _isMerging = false;
  /** Number of saves and reloads; content that was read before the last of them is outdated. */
  private _generation = 0;
  /** The base version, or null if it is unknown. */
  private _baseVersion: BaseVersion<FileChange> | null = null;
  /** The content that is being saved. */
  private _savingNotebook: Notebook | null = null;
  /** The hash of the version on disk that was merged last, or null if it is not certain. */
  private _diskHash: string | null = null;
  /** Whether the file may have changed without an event. */
  private _mayBeStale = false;
  private _dirtySince: number | null = null;
}

/** Return whether a merge changes something in the tab. */
function isChange({ changedIndexes, removedCount, conflicts }: NotebookMerge): boolean {
  return changedIndexes.length > 0 || removedCount > 0 || conflicts.length > 0;
}
