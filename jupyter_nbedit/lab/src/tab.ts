import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import { applyMerge, readTab, tabKeys } from './apply';
import type { Tab } from './baseline';
import { difference, type Merge } from './merge';
import type { Notebook } from './notebook';
import { ArrivalToast, type Arrival } from './notice';
import type { RunningCells } from './running';
import type { Views } from './views';

/** How much it takes to move a cell: any number of others are moved around a running one. */
const WEIGHT = { running: 1e12, active: 1e6, other: 1 };

/** An open notebook with all its views. */
export class OpenNotebook {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    private readonly _running: RunningCells,
    readonly views: Views
  ) {}

  /** The name of the file, to be shown. */
  get file(): string {
    return this._context.contentsModel?.name ?? this._context.localPath;
  }

  read(): Tab {
    return { notebook: readTab(this._context.model), pinned: this._pinned() };
  }

  /** Show a merge in all views; answers the keys of its cells. */
  apply(result: Merge): string[] {
    const pinned = this._pinned();
    const active = this.views.active();
    const weight = (key: string): number =>
      pinned.has(key) ? WEIGHT.running : active.has(key) ? WEIGHT.active : WEIGHT.other;
    let keys: string[] = [];
    this.views.keep(() => {
      keys = applyMerge(this._context.model, result, weight);
    });
    return keys;
  }

  /** The keys of its cells. */
  keys(): string[] {
    return tabKeys(this._context.model.sharedModel);
  }

  /** Tell of what came from outside, and flash it. */
  tell(arrival: Omit<Arrival, 'file'>): void {
    this.views.flash(arrival.cells);
    this._toast.show(
      { file: this.file, ...arrival },
      key => this.position(key),
      all => void this.views.goTo(all)
    );
  }

  /** Where a cell stands, from 0, or -1 if it is gone. */
  position(key: string): number {
    return this._context.model.sharedModel.cells.findIndex(cell => cell.id === key);
  }

  /** Say whether there is anything to save, after changes of ours that are none of the user's. */
  settleDirty(wasDirty: boolean, saved: Notebook): void {
    const differs = difference(readTab(this._context.model), saved);
    // Data may differ in how JupyterLab writes it; its own word is better there.
    this._context.model.dirty = differs === 'text' || (differs === 'data' && wasDirty);
  }

  /** The keys of the cells that are running. */
  private _pinned(): Set<string> {
    const { cells, sharedModel } = this._context.model;
    const keys = tabKeys(sharedModel);
    return new Set(keys.filter((_, index) => this._running.has(cells.get(index))));
  }

  private readonly _toast = new ArrivalToast();
}
