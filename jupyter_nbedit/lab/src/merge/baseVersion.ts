import type { Notebook } from './notebook';
import { merge, settled, type Merge } from './notebookMerge';

/** A tab as it is now. */
export interface Tab {
  readonly notebook: Notebook;
  /** Keys of the cells that are running. */
  readonly pinned: ReadonlySet<string>;
}

/** Shows a merge in the tab and answers the keys of its cells. */
export type Show = (result: Merge) => readonly string[];

/**
 * What a tab and its file last had in common, against which both sides' changes are found.
 *
 * A change of the disk that waits for a running cell is not in common yet; it is kept until it can
 * be shown, even if the tab is saved before that.
 */
export class Baseline {
  constructor(loaded: Notebook) {
    this._common = loaded;
  }

  /** What both sides have. */
  get common(): Notebook {
    return this._common;
  }

  /** Whether changes of the disk wait for running cells. */
  get isWaiting(): boolean {
    return this._waiting !== null || this._fromBeforeSave.length > 0;
  }

  /** Bring what the disk has into the tab. */
  take(disk: Notebook, { notebook, pinned }: Tab, show: Show): void {
    const result = merge(this._common, notebook, disk, pinned);
    const keys = show(result);
    const taken = settled(result.base, keys);
    this._common = result.withoutDeferred ? settled(result.withoutDeferred, keys) : taken;
    this._waiting = result.withoutDeferred && taken;
  }

  /** Bring what waits, as far as cells are done. */
  catchUp(tab: () => Tab, show: Show): void {
    for (const { common, disk } of this._fromBeforeSave.splice(0)) {
      const { notebook, pinned } = tab();
      const result = merge(common, notebook, disk, pinned);
      const keys = show(result);
      if (result.withoutDeferred) {
        this._fromBeforeSave.push({ common: settled(result.withoutDeferred, keys), disk });
      }
    }
    if (this._waiting !== null) {
      this.take(this._waiting, tab(), show);
    }
  }

  /** The tab's content was written to the file. */
  saved(content: Notebook): void {
    if (this._waiting !== null) {
      this._fromBeforeSave.push({ common: this._common, disk: this._waiting });
    }
    this._waiting = null;
    this._common = content;
  }

  private _common: Notebook;
  /** The version on disk whose changes to running cells are still to come. */
  private _waiting: Notebook | null = null;
  /** The same from versions that a save has replaced since. */
  private readonly _fromBeforeSave: { common: Notebook; disk: Notebook }[] = [];
}
