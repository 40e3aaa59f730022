import type { Notebook } from './notebook';
import { mergeNotebooks, resolveKeys, type NotebookMerge } from './notebookMerge';

/** The content of a tab. */
export interface TabContent {
  readonly notebook: Notebook;
  /** Keys of the running cells. */
  readonly pinnedKeys: ReadonlySet<string>;
}

/** Shows a merge in the tab and returns the content of the tab after it. */
export type ShowMerge = (result: NotebookMerge) => Notebook;

/**
 * The version that a tab and its file last had in base: the base of the three-way merge.
 *
 * A change on disk that waits for a running cell is not part of it. The change is kept until the
 * cell has finished, even if the tab is saved before that.
 */
export class BaseVersion {
  constructor(loadedNotebook: Notebook) {
    this._notebook = loadedNotebook;
  }

  /** The version that both sides have. */
  get notebook(): Notebook {
    return this._notebook;
  }

  /** The version on disk that was merged last, with what waits for running cells. */
  get disk(): Notebook {
    return this._deferredDisk ?? this._notebook;
  }

  /** Whether changes on disk wait for running cells. */
  get hasDeferred(): boolean {
    return this._deferredDisk !== null || this._deferredBeforeSave.length > 0;
  }

  /** Merge the version on disk into the tab. */
  mergeDisk(disk: Notebook, { notebook, pinnedKeys }: TabContent, show: ShowMerge): void {
    const result = mergeNotebooks(this._notebook, notebook, disk, pinnedKeys);
    const tab = show(result);
    const newBase = resolveKeys(result.newBase, tab);
    this._notebook = result.newBaseWithoutDeferred
      ? resolveKeys(result.newBaseWithoutDeferred, tab)
      : newBase;
    this._deferredDisk = result.newBaseWithoutDeferred && newBase;
  }

  /** Merge the changes that waited, as far as their cells have finished running. */
  mergeDeferred(tab: () => TabContent, show: ShowMerge): void {
    for (const { base, disk } of this._deferredBeforeSave.splice(0)) {
      const { notebook, pinnedKeys } = tab();
      const result = mergeNotebooks(base, notebook, disk, pinnedKeys);
      const merged = show(result);
      if (result.newBaseWithoutDeferred) {
        this._deferredBeforeSave.push({
          base: resolveKeys(result.newBaseWithoutDeferred, merged),
          disk
        });
      }
    }
    if (this._deferredDisk !== null) {
      this.mergeDisk(this._deferredDisk, tab(), show);
    }
  }

  /** Use the content that was written to the file as the base version. */
  markSaved(content: Notebook): void {
    if (this._deferredDisk !== null) {
      this._deferredBeforeSave.push({ base: this._notebook, disk: this._deferredDisk });
    }
    this._deferredDisk = null;
    this._notebook = content;
  }

  private _notebook: Notebook;
  /** The version on disk whose changes to running cells are not merged yet. */
  private _deferredDisk: Notebook | null = null;
  /** The same for versions that a save has replaced since. */
  private readonly _deferredBeforeSave: { base: Notebook; disk: Notebook }[] = [];
}
