import { Signal, type ISignal } from '@lumino/signaling';
import type { CellConflict } from '../merge/notebookMerge';

/** What a cell that both sides changed shall have: the text of the tab, of the file, or both. */
export type ConflictChoice = 'mine' | 'theirs' | 'both';

/** A cell that both sides changed, until the user has chosen. */
export interface OpenConflict {
  /** The key of the cell. */
  readonly key: string;
  readonly conflict: CellConflict;
  /** The clients that changed the cell in the file. */
  readonly clients: readonly string[];
}

/** A conflict, and what the user has chosen. */
export interface Resolution {
  readonly conflict: OpenConflict;
  readonly choice: ConflictChoice;
}

/** The conflicts of one notebook that the user has not resolved. */
export class OpenConflicts {
  /** Emitted when conflicts were added, resolved or removed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted for each conflict that was resolved. */
  get resolved(): ISignal<this, Resolution> {
    return this._resolved;
  }

  get all(): readonly OpenConflict[] {
    return [...this._conflicts.values()];
  }

  /** Return whether a conflict is open, and no later one of its cell has replaced it. */
  has(conflict: OpenConflict): boolean {
    return this._conflicts.get(conflict.key) === conflict;
  }

  /** Add conflicts; a cell has only its newest one. Return them as they are now. */
  add(conflicts: readonly OpenConflict[]): OpenConflict[] {
    const added = conflicts.map(each => keepAbsorbed(each, this._conflicts.get(each.key)));
    if (added.length > 0) {
      added.forEach(conflict => this._conflicts.set(conflict.key, conflict));
      this._changed.emit();
    }
    return added;
  }

  /** Remove the conflicts of all other cells. */
  retain(keys: readonly string[]): void {
    const retainedKeys = new Set(keys);
    const removed = this.all.filter(({ key }) => !retainedKeys.has(key));
    removed.forEach(({ key }) => this._conflicts.delete(key));
    if (removed.length > 0) {
      this._changed.emit();
    }
  }

  /** What follows a decision of the user on the cells with these keys; it may not reject. */
  onDecision: (keys: readonly string[]) => Promise<void> = () => Promise.resolve();

  /** Resolve the open conflicts among these as the user has decided. */
  async decide(conflicts: readonly OpenConflict[], choice: ConflictChoice): Promise<void> {
    const keys = conflicts.filter(conflict => this.has(conflict)).map(({ key }) => key);
    this.resolve(conflicts, choice);
    await this.onDecision(keys);
  }

  /** Resolve the open conflicts among these. */
  resolve(conflicts: readonly OpenConflict[], choice: ConflictChoice): void {
    const open = conflicts.filter(conflict => this.has(conflict));
    for (const conflict of open) {
      this._conflicts.delete(conflict.key);
      this._resolved.emit({ conflict, choice });
    }
    if (open.length > 0) {
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _resolved = new Signal<this, Resolution>(this);
  private readonly _conflicts = new Map<string, OpenConflict>();
}

/** Return a conflict with the absorbed cells of the conflict before it: the tab still has them. */
function keepAbsorbed(added: OpenConflict, replaced: OpenConflict | undefined): OpenConflict {
  const before = replaced?.conflict.absorbed ?? [];
  return before.length === 0
    ? added
    : {
        ...added,
        conflict: { ...added.conflict, absorbed: [...before, ...added.conflict.absorbed] }
      };
}

/** Return both texts, one after the other. */
export function joinTexts(mine: string, theirs: string): string {
  return mine === '' || mine.endsWith('\n') ? `${mine}${theirs}` : `${mine}\n${theirs}`;
}
