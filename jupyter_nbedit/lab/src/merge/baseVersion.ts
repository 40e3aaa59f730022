import type { TextMerge } from './members';
import type { Notebook } from './notebook';
import {
  mergeNotebooks,
  resolveKeys,
  type DeferredKind,
  type NotebookMerge
} from './notebookMerge';

/** The content of a tab. */
export interface TabContent {
  readonly notebook: Notebook;
  /** Keys of the running cells. */
  readonly pinnedKeys: ReadonlySet<string>;
}

/**
 * Shows a merge in the tab and returns the content of the tab after it.
 *
 * @param changes The reported changes that are merged.
 */
export type ShowMerge<Change> = (result: NotebookMerge, changes: readonly Change[]) => Notebook;

/** A change on disk of a running cell, which waits until the cell has finished. */
export interface DeferredCell<Change> {
  readonly kind: DeferredKind;
  /** The reported changes of which one or more have made it. */
  readonly changes: readonly Change[];
}

/** A version on disk of which changes wait for running cells. */
interface DeferredVersion<Change> {
  readonly disk: Notebook;
  /** The reported changes; the changes that wait are among them. */
  changes: readonly Change[];
  /** The kinds of the changes that wait, by the keys of their cells. */
  readonly kinds: ReadonlyMap<string, DeferredKind>;
}

/**
 * The version that a tab and its file last had in common: the base of the three-way merge.
 *
 * A change on disk that waits for a running cell is not part of it. The change is kept until the
 * cell has finished, even if the tab is saved before that, and so are the reports of it.
 */
export class BaseVersion<Change> {
  constructor(loadedNotebook: Notebook) {
    this._notebook = loadedNotebook;
  }

  /** The version that both sides have. */
  get notebook(): Notebook {
    return this._notebook;
  }

  /** The version on disk that was merged last, with what waits for running cells. */
  get disk(): Notebook {
    return this._deferred?.disk ?? this._notebook;
  }

  /** Whether changes on disk wait for running cells. */
  get hasDeferred(): boolean {
    return this._deferred !== null || this._deferredBeforeSave.length > 0;
  }

  /** The changes that wait for running cells, by the keys of these cells. */
  get deferredCells(): ReadonlyMap<string, DeferredCell<Change>> {
    const versions = [...this._deferredBeforeSave, ...(this._deferred ? [this._deferred] : [])];
    return new Map(
      versions.flatMap(({ kinds, changes }) =>
        [...kinds].map(([key, kind]) => [key, { kind, changes }] as const)
      )
    );
  }

  /**
   * Merge the version on disk into the tab.
   *
   * @param changes The reported changes since the version that was merged last.
   * @param mergeTexts Merges two changes of a source; by default by line.
   */
  mergeDisk(
    disk: Notebook,
    changes: readonly Change[],
    tab: TabContent,
    show: ShowMerge<Change>,
    mergeTexts?: TextMerge
  ): void {
    const allChanges = [...(this._deferred?.changes ?? []), ...changes];
    this._mergeDisk(disk, allChanges, tab, result => show(result, changes), mergeTexts);
  }

  /** Merge the changes that waited, as far as their cells have finished running. */
  mergeDeferred(tab: () => TabContent, show: ShowMerge<Change>): void {
    for (const { base, disk, changes } of this._deferredBeforeSave.splice(0)) {
      const { notebook, pinnedKeys } = tab();
      const result = mergeNotebooks(base, notebook, disk, pinnedKeys);
      const merged = show(result, changes);
      if (result.newBaseWithoutDeferred) {
        this._deferredBeforeSave.push({
          base: resolveKeys(result.newBaseWithoutDeferred, merged),
          disk,
          changes,
          kinds: mapKinds(result, merged)
        });
      }
    }
    if (this._deferred !== null) {
      const { disk, changes } = this._deferred;
      this._mergeDisk(disk, changes, tab(), result => show(result, changes));
    }
  }

  /** Add reports of the version that was merged last: some come late. */
  addReports(changes: readonly Change[]): void {
    if (this._deferred !== null) {
      this._deferred.changes = [...this._deferred.changes, ...changes];
    }
  }

  /**
   * Use the content that was written to the file as the base version.
   *
   * @param replace Returns a reported change of which the save has replaced a part.
   */
  markSaved(content: Notebook, replace: (change: Change) => Change): void {
    if (this._deferred !== null) {
      const changes = this._deferred.changes.map(replace);
      this._deferredBeforeSave.push({ ...this._deferred, base: this._notebook, changes });
    }
    this._deferred = null;
    this._notebook = content;
  }

  /** @param changes The reported changes that are kept if something waits. */
  private _mergeDisk(
    disk: Notebook,
    changes: readonly Change[],
    { notebook, pinnedKeys }: TabContent,
    show: (result: NotebookMerge) => Notebook,
    mergeTexts?: TextMerge
  ): void {
    const result = mergeNotebooks(this._notebook, notebook, disk, pinnedKeys, mergeTexts);
    const merged = show(result);
    const newBase = resolveKeys(result.newBase, merged);
    this._notebook = result.newBaseWithoutDeferred
      ? resolveKeys(result.newBaseWithoutDeferred, merged)
      : newBase;
    this._deferred = result.newBaseWithoutDeferred && {
      disk: newBase,
      changes,
      kinds: mapKinds(result, merged)
    };
  }

  private _notebook: Notebook;
  /** The version on disk whose changes to running cells are not merged yet. */
  private _deferred: DeferredVersion<Change> | null = null;
  /** The same for versions that a save has replaced since, with the base of each. */
  private readonly _deferredBeforeSave: (DeferredVersion<Change> & { base: Notebook })[] = [];
}

/** Return the kinds of the changes that wait, by the keys of their cells. */
function mapKinds({ deferred }: NotebookMerge, merged: Notebook): Map<string, DeferredKind> {
  return new Map(
    deferred.map(({ index, kind }) => [merged.cells[index]?.key ?? '', kind] as const)
  );
}
