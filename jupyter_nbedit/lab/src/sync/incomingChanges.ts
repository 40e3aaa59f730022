import type { DeferredCell } from '../merge/baseVersion';
import type { CellConflict, NotebookMerge } from '../merge/notebookMerge';
import { findBypassedMode, getClient, listClientsOfCell } from '../notify/attribution';
import { ConflictToasts } from '../notify/conflictToasts';
import type { ConflictChoice, OpenConflict, OpenConflicts } from '../notify/openConflicts';
import type { FileChange } from '../server/fileChanges';
import type { OpenNotebook } from './openNotebook';

/** Shows the changes of a merge, and lets the user resolve conflicts. */
export class IncomingChanges {
  constructor(
    private readonly _notebook: OpenNotebook,
    /** Applies the choice. */
    onChoice: (key: string, conflict: CellConflict, choice: ConflictChoice) => void
  ) {
    this._toasts = new ConflictToasts(_notebook, this._conflicts, _notebook.trans);
    this._conflicts.resolved.connect((_, { conflict, choice }) =>
      onChoice(conflict.key, conflict.conflict, choice)
    );
    _notebook.disposed.connect(() => this.retainConflicts([]));
  }

  /**
   * @param keys The keys of the merged cells.
   * @param changes The reported changes.
   * @param hash The merged version of the file; null if its changes were reported before.
   */
  show(
    result: NotebookMerge,
    keys: readonly string[],
    changes: readonly FileChange[],
    hash: string | null
  ): void {
    const cells = result.changedIndexes.flatMap(index => keys[index] ?? []);
    if (hash !== null) {
      this._touchedKeys.clear();
    }
    cells.forEach(key => this._touchedKeys.add(key));
    result.conflicts.forEach(({ index }) => this._touchedKeys.add(keys[index] ?? ''));
    const clients = changes.flatMap(change => getClient(change) ?? []);
    // Without a client, a kernel in another tab has set the language of the notebook.
    const hasMetadataChange = result.hasNewMetadata && clients.length > 0;
    const incomingChange = {
      cells,
      removedCount: result.removedCount,
      hasMetadataChange,
      isTruncated: false,
      bypassedMode: findBypassedMode(changes)
    };
    void this._notebook.showIncomingChange(incomingChange, changes, keys, hash);
    this.retainConflicts(keys);
    this._showConflicts(
      result.conflicts.map(conflict => ({ key: keys[conflict.index] ?? '', conflict, clients }))
    );
  }

  /** Show which changes wait for running cells, by the keys of these cells. */
  showDeferred(cells: ReadonlyMap<string, DeferredCell<FileChange>>): void {
    this._notebook.views.deferred.set(
      [...cells].map(([key, { kind, changes }]) => ({
        key,
        kind,
        clients: listClientsOfCell(key, changes)
      }))
    );
  }

  /** Whether the user has yet to resolve a conflict in a cell that the newest version changed. */
  get isWaiting(): boolean {
    return this._conflicts.all.some(({ key }) => this._touchedKeys.has(key));
  }

  /** Remove the conflicts of all other cells. */
  retainConflicts(keys: readonly string[]): void {
    this._conflicts.retain(keys);
  }

  /** Let the user resolve conflicts, or apply the setting `conflict`. */
  private _showConflicts(found: readonly OpenConflict[]): void {
    if (found.length === 0) {
      return;
    }
    const { conflict: rule, toasts } = this._notebook.settings.current;
    const conflicts = this._conflicts.add(found);
    if (rule === 'ask') {
      this._toasts.show(conflicts);
      return;
    }
    const choice = rule === 'keepMine' ? 'mine' : 'theirs';
    this._conflicts.resolve(conflicts, choice);
    if (toasts !== 'none') {
      this._toasts.showChoice(conflicts, choice);
    }
  }

  private get _conflicts(): OpenConflicts {
    return this._notebook.views.conflicts;
  }

  private readonly _toasts: ConflictToasts;
  /** The keys of the cells that the newest version of the file has changed. */
  private readonly _touchedKeys = new Set<string>();
}
