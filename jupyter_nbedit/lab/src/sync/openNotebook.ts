import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ISignal } from '@lumino/signaling';
import type { TabContent } from '../merge/baseVersion';
import type { Notebook } from '../merge/notebook';
import { compareNotebooks, type NotebookMerge } from '../merge/notebookMerge';
import {
  attributeChange,
  findBypassedMode,
  isServerEdit,
  summarizeChanges,
  type AttributedChange,
  type IncomingChange
} from '../notify/attribution';
import type { NbEditServices } from '../services/servicesPlugin';
import type { Settings } from '../services/settings';
import { findChangeKeys, getNewestEdit } from '../notify/netEffect';
import { IncomingChangeToasts } from '../notify/toasts';
import { describeError } from '../notify/wording';
import type { FileChange } from '../server/fileChanges';
import { localEdits } from '../server/localEdits';
import type { UnseenReply } from '../server/models';
import { isUndoCancelled } from '../server/client';
import { makeUndoResult, undoEdits, type UndoResult } from '../server/undoEdits';
import type { UnseenModel } from '../server/unseenModel';
import type { WriteRight } from '../server/writeRight';
import { applyMerge } from './applyMerge';
import type { NotebookViews } from './notebookViews';
import type { RunningCells } from './runningCells';
import { TabReader } from './tabReader';

/**
 * How long the event of a version may follow, in milliseconds, if the tab has found the version by
 * itself: the server looks twice a second.
 */
const REPORT_DELAY = 1000;

/** How long an event may follow that is added to the toasts later, in milliseconds. */
const LATE_REPORT_DELAY = 30_000;

/** The cost of moving a cell: others are moved around a running or active one. */
const WEIGHT = { running: 1e12, active: 1e6, other: 1 };

/** What an open notebook is made of. */
export interface NotebookParts {
  readonly running: RunningCells;
  readonly views: NotebookViews;
}

/** An open notebook with all its views. */
export class OpenNotebook {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    private readonly _services: NbEditServices,
    private readonly _parts: NotebookParts
  ) {
    this._reader = new TabReader(_context.model);
    this._toasts = new IncomingChangeToasts(this, _services.trans);
    this.views.conflicts.onDecision = async keys => this._keepChanges(keys);
    this.views.deferred.undo = {
      canUndo: key => this._services.right.isGranted && this._findUnseenKeys([key]).length > 0,
      undo: async key => {
        await this._services.unseen.undo(_context.localPath, this._findUnseenKeys([key]));
      }
    };
    const refreshActions = (): void => {
      this._toasts.refresh();
      this.views.deferred.refresh();
    };
    const refreshToasts = (_: UnseenModel, path: string): void => {
      if (path === _context.localPath) {
        refreshActions();
      }
    };
    _services.unseen.changed.connect(refreshToasts);
    _services.right.changed.connect(refreshActions);
    _context.disposed.connect(() => {
      _services.unseen.changed.disconnect(refreshToasts);
      _services.right.changed.disconnect(refreshActions);
    });
  }

  get views(): NotebookViews {
    return this._parts.views;
  }

  get settings(): Settings {
    return this._services.settings;
  }

  get trans(): TranslationBundle {
    return this._services.trans;
  }

  get right(): WriteRight {
    return this._services.right;
  }

  /** The name of the file, for display. */
  get fileName(): string {
    return this._context.contentsModel?.name ?? this._context.localPath;
  }

  get isCurrent(): boolean {
    return this.views.isCurrent;
  }

  /** Emitted when the notebook is closed in all views. */
  get disposed(): ISignal<unknown, void> {
    return this._context.disposed;
  }

  get unseen(): UnseenReply | null {
    return this._services.unseen.get(this._context.localPath);
  }

  readContent(): TabContent {
    return { notebook: this._reader.read(), pinnedKeys: this._getRunningKeys() };
  }

  /** Apply a merge in all views; return the content of the notebook after it. */
  showMerge(result: NotebookMerge): Notebook {
    const runningKeys = this._getRunningKeys();
    const active = this.views.getActiveKeys();
    const weight = (key: string): number =>
      runningKeys.has(key) ? WEIGHT.running : active.has(key) ? WEIGHT.active : WEIGHT.other;
    // Before the change, because an editor that cannot apply it throws. New cells have new editors.
    for (const index of result.changedIndexes) {
      const key = result.cells[index]?.key;
      if (key != null) {
        this._uncheckedKeys.add(key);
      }
    }
    const current = this._reader.read();
    this.views.preserveViewports(() => {
      applyMerge(this._context.model, current, result, weight, runningKeys);
    });
    this.views.updateCollapsedHeadings();
    return this._reader.read();
  }

  /** Return whether the editors show the merged changes of the model. */
  areEditorsCurrent(): boolean {
    if (this.views.hasCurrentText(this._uncheckedKeys)) {
      this._uncheckedKeys.clear();
    }
    return this._uncheckedKeys.size === 0;
  }

  /** Return the keys of the cells. */
  getKeys(): string[] {
    return this._reader.readKeys();
  }

  /**
   * Highlight and follow an incoming change, and show toasts unless this page has requested it.
   *
   * @param changes The reported changes, oldest first.
   * @param keys The keys of the cells of the notebook after the change.
   * @param hash The version of the file after the change; null if it was reported before.
   */
  async showIncomingChange(
    incomingChange: IncomingChange,
    changes: readonly FileChange[],
    keys: readonly string[],
    hash: string | null
  ): Promise<void> {
    this.views.showChangedCells(incomingChange.cells);
    if (hash === null || changes.some(change => change.hash === hash)) {
      await this._announceChange(incomingChange, changes, keys);
      return;
    }
    const reports = await this._waitForReports(hash, REPORT_DELAY);
    const isComplete = reports.some(report => report.hash === hash);
    const lateReports = isComplete ? null : this._waitForReports(hash, LATE_REPORT_DELAY);
    const all = [...changes, ...reports];
    const bypassedMode = findBypassedMode(all);
    await this._announceChange({ ...incomingChange, bypassedMode }, all, keys);
    if (lateReports !== null) {
      await this._announceLateReports(await lateReports, hash);
    }
  }

  /** Add reports to the toasts that came, on a busy computer, long after the tab has the version. */
  private async _announceLateReports(reports: readonly FileChange[], hash: string): Promise<void> {
    if (reports.at(-1)?.hash === hash && !this._context.isDisposed) {
      const keys = this.getKeys();
      const incomingChange = {
        ...summarizeChanges(reports, keys),
        isTruncated: reports.some(({ isTruncated }) => isTruncated),
        bypassedMode: findBypassedMode(reports)
      };
      await this._announceChange(incomingChange, reports, keys);
    }
  }

  /** Follow an incoming change, and show toasts unless this page has requested it. */
  private async _announceChange(
    incomingChange: IncomingChange,
    changes: readonly FileChange[],
    keys: readonly string[]
  ): Promise<void> {
    await localEdits.whenSettled();
    const isOwn = ({ editId }: FileChange): boolean => editId !== null && localEdits.has(editId);
    const ownCells = summarizeChanges(changes.filter(isOwn), keys).cells;
    const otherChanges = changes.filter(change => !isOwn(change));
    const cellsOfOthers = new Set(summarizeChanges(otherChanges, keys).cells);
    const knownCells = new Set(ownCells.filter(cell => !cellsOfOthers.has(cell)));
    if (!changes.some(isOwn) || otherChanges.some(isServerEdit)) {
      const cells = incomingChange.cells.filter(cell => !knownCells.has(cell));
      const attributed = attributeChange({ ...incomingChange, cells }, otherChanges, keys);
      attributed.forEach(change => void this.views.followCells(change.cells));
      await this._showToasts(attributed);
    }
  }

  /** Attribute a change that the tab has found before its event. */
  addReport(change: FileChange): void {
    this._reportListeners.forEach(listener => listener(change));
  }

  /** Return the reports up to the report of a version, or as many as come in time. */
  private async _waitForReports(hash: string, delay: number): Promise<FileChange[]> {
    const reports: FileChange[] = [];
    await new Promise<void>(resolve => {
      const listener = (change: FileChange): void => {
        reports.push(change);
        if (change.hash === hash) {
          finish();
        }
      };
      const finish = (): void => {
        this._reportListeners.delete(listener);
        resolve();
      };
      setTimeout(finish, delay);
      this._reportListeners.add(listener);
    });
    return reports;
  }

  viewCell(key: string): void {
    void this.views.goToCell(key);
  }

  viewConflict(key: string): void {
    void this.views.goToConflict(key);
  }

  /**
   * Undo edits, oldest first: in one step if the unseen changes are of these edits only, or else
   * edit by edit, as far as it is possible.
   */
  async undoEdits(edits: readonly number[]): Promise<UndoResult> {
    const { server, unseen } = this._services;
    const { localPath } = this._context;
    const keys = findChangeKeys(this.unseen, edits);
    if (keys !== null) {
      try {
        await unseen.undo(localPath, keys, undefined, false);
        return makeUndoResult(edits.length);
      } catch (error) {
        if (isUndoCancelled(error)) {
          return { ...makeUndoResult(edits.length), undoneCount: 0, isCancelled: true };
        }
        console.info('jupyter-nbedit: the edits are undone one by one.', error);
      }
    }
    return undoEdits(
      edits,
      edit => server.undo(localPath, edit),
      error => describeError(error, this.trans)
    );
  }

  /** Return the indexes of cells, in ascending order, without cells that are removed. */
  getPositions(keys: readonly string[]): number[] {
    const keySet = new Set(keys);
    return this.getKeys().flatMap((key, index) => (keySet.has(key) ? [index] : []));
  }

  /** Set the dirty flag after a merge: only changes of the user need a save. */
  restoreDirtyFlag(wasDirty: boolean, saved: Notebook): void {
    const difference = compareNotebooks(this._reader.read(), saved);
    // JupyterLab may write data in another form; then its own flag is better.
    this._context.model.dirty = difference === 'text' || (difference === 'data' && wasDirty);
  }

  /** Show toasts, unless the settings exclude them. */
  private async _showToasts(changes: readonly AttributedChange[]): Promise<void> {
    const isEnabled = (): boolean => {
      const { toasts } = this.settings.current;
      return toasts === 'all' || (toasts === 'background' && !this.views.isAnyVisible);
    };
    if (changes.length > 0 && isEnabled()) {
      // A toast says what has changed all in all, and nothing of what is undone already.
      const unseen = await this._services.unseen.read(this._context.localPath);
      const isKnown = unseen !== null && getNewestEdit(changes) <= unseen.until;
      changes
        // With the server's comparison, there is no part of which the client is not known.
        .filter(({ edits, clients }) => !isKnown || edits.length > 0 || clients.length < 2)
        .forEach(change => this._toasts.show(change));
    }
  }

  /** Mark the changes of cells as seen: the user has decided on them in conflicts. */
  private async _keepChanges(cellKeys: readonly string[]): Promise<void> {
    const { unseen, right } = this._services;
    const { localPath } = this._context;
    if (!right.isGranted) {
      // The decision is about the text of the tab; the marks stay.
      return;
    }
    // The conflict may have been shown before its change was known to be unseen.
    await unseen.read(localPath);
    const keys = this._findUnseenKeys(cellKeys);
    if (keys.length === 0) {
      return;
    }
    try {
      await unseen.keep(localPath, keys);
    } catch (error) {
      // The marks of these changes stay.
      console.warn('jupyter-nbedit: changes could not be marked as seen.', error);
    }
  }

  /** Return the keys of the unseen changes of cells. */
  private _findUnseenKeys(cellKeys: readonly string[]): string[] {
    return (this.unseen?.cells ?? []).flatMap(({ cell_id: id, key }) =>
      id !== null && cellKeys.includes(id) ? [key] : []
    );
  }

  /** Return the keys of the running cells. */
  private _getRunningKeys(): Set<string> {
    const { cells } = this._context.model;
    const states = this._reader.readStates();
    return new Set(
      this.getKeys().filter((_, index) => this._parts.running.has(cells.get(index), states[index]))
    );
  }

  private readonly _reader: TabReader;
  /** They wait for the report of a version that the tab has found by itself. */
  private readonly _reportListeners = new Set<(report: FileChange) => void>();
  private readonly _toasts: IncomingChangeToasts;
  /** Keys of cells that were changed in the model, and may look different in their editors. */
  private readonly _uncheckedKeys = new Set<string>();
}
