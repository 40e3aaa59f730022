import { Signal, type ISignal } from '@lumino/signaling';
import type { DeferredKind } from '../merge/notebookMerge';

/** A change of a running cell, which waits until the cell has finished. */
export interface DeferredChange {
  /** The key of the cell. */
  readonly key: string;
  readonly kind: DeferredKind;
  /** The clients that made it; empty if they are not known. */
  readonly clients: readonly string[];
}

/** Undoes changes that wait. */
export interface DeferredChangeUndo {
  /** Return whether the change of a cell can be undone. */
  canUndo(key: string): boolean;
  /** Undo the change of a cell; rejects if the server refuses it. */
  undo(key: string): Promise<void>;
}

/** The changes of one notebook that wait for running cells. */
export class DeferredChanges {
  /** Emitted when the changes, or whether they can be undone, may have changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get all(): readonly DeferredChange[] {
    return this._all;
  }

  set(changes: readonly DeferredChange[]): void {
    if (JSON.stringify(changes) !== JSON.stringify(this._all)) {
      this._all = changes;
      this._changed.emit();
    }
  }

  /** Emit `changed` if there is a change: it may be one that can be undone now. */
  refresh(): void {
    if (this._all.length > 0) {
      this._changed.emit();
    }
  }

  /** Null if nothing can be undone. */
  undo: DeferredChangeUndo | null = null;

  private readonly _changed = new Signal<this, void>(this);
  private _all: readonly DeferredChange[] = [];
}
