import type { CellSources } from './models';

/** What returns cells to an earlier state. */
export type ReversalVerb = 'undo' | 'redo' | 'restore';

/** What a user decides on an undo that would also remove what he has typed. */
export interface UndoDecision {
  readonly isConfirmed: boolean;
  /** The cells that are to stay as they are. */
  readonly keptCells: readonly CellSources[];
  /** Return what was typed, because the server has refused the undo. */
  readonly restoreTyping: () => void;
}

/** A tab in which text may have been typed that is not in the file. */
export interface TypingGuard {
  /** The path of the notebook in the Contents API. */
  readonly path: string;
  readonly hasUnsavedTyping: boolean;
  /**
   * Ask the user if an undo would also remove what he has typed.
   *
   * @param sources The sources that the undo changes in the file.
   * @param canKeep Whether the undo can leave out cells.
   */
  confirmUndo(
    verb: ReversalVerb,
    sources: readonly CellSources[],
    canKeep: boolean
  ): Promise<UndoDecision>;
}

/** The tabs of this page, which are asked before an undo of a person. */
class UnsavedTyping {
  add(guard: TypingGuard): void {
    this._guards.add(guard);
  }

  remove(guard: TypingGuard): void {
    this._guards.delete(guard);
  }

  /** Return the tab of a notebook if it has text that is not in the file; null without. */
  find(path: string): TypingGuard | null {
    const guards = [...this._guards];
    return guards.find(guard => guard.path === path && guard.hasUnsavedTyping) ?? null;
  }

  private readonly _guards = new Set<TypingGuard>();
}

/** Shared by the page: open notebooks add themselves, `NbEditClient` asks them. */
export const unsavedTyping = new UnsavedTyping();
