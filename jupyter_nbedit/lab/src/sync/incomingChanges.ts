import type { CellConflict, NotebookMerge } from '../merge/notebookMerge';
import { findBypassedMode, getClient } from '../notify/attribution';
import {
  showConflictChoice,
  showConflictPrompt,
  type ConflictQuestion
} from '../notify/conflictPrompt';
import type { ConflictChoice } from '../notify/wording';
import type { FileChange } from '../server/fileChanges';
import type { OpenNotebook } from './openNotebook';

/** Shows the changes of a merge, and asks the user about conflicts. */
export class IncomingChanges {
  constructor(
    private readonly _notebook: OpenNotebook,
    /** Applies the chosen side. */
    private readonly _onChoice: (
      key: string,
      conflict: CellConflict,
      choice: ConflictChoice
    ) => void
  ) {}

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
    this.retainPrompts(keys);
    for (const conflict of result.conflicts) {
      this._resolveConflict(keys[conflict.index] ?? '', conflict, clients);
    }
    this._updateConflictMarks();
  }

  /** Whether the user has yet to resolve a conflict. */
  get hasOpenPrompts(): boolean {
    return this._openPrompts.size > 0;
  }

  /** Close the prompts of all other cells. */
  retainPrompts(keys: readonly string[]): void {
    const retainedKeys = new Set(keys);
    for (const [key, close] of this._openPrompts) {
      if (!retainedKeys.has(key)) {
        close();
        this._openPrompts.delete(key);
      }
    }
    this._updateConflictMarks();
  }

  /** Ask about a cell, or apply the setting `conflict`. */
  private _resolveConflict(key: string, conflict: CellConflict, clients: readonly string[]): void {
    const { kind, index, mine, theirs } = conflict;
    const question = {
      file: this._notebook.fileName,
      clients,
      kind,
      position: index,
      mine: mine?.source ?? null,
      theirs: theirs?.source ?? null
    };
    const { conflict: rule, toasts } = this._notebook.settings.current;
    this._openPrompts.get(key)?.();
    this._openPrompts.delete(key);
    if (rule === 'ask') {
      this._prompt(key, conflict, question);
      return;
    }
    const choice = rule === 'keepMine' ? 'mine' : 'theirs';
    this._onChoice(key, conflict, choice);
    if (toasts !== 'none') {
      showConflictChoice(
        question,
        choice,
        () => this._notebook.viewCells([key]),
        this._notebook.trans
      );
    }
  }

  private _prompt(key: string, conflict: CellConflict, question: ConflictQuestion): void {
    const close = showConflictPrompt(
      question,
      choice => {
        this._openPrompts.delete(key);
        close();
        this._updateConflictMarks();
        this._onChoice(key, conflict, choice);
      },
      this._notebook.trans
    );
    this._openPrompts.set(key, close);
  }

  private _updateConflictMarks(): void {
    this._notebook.views.setConflictMarks(new Set(this._openPrompts.keys()));
  }

  private readonly _openPrompts = new Map<string, () => void>();
}
