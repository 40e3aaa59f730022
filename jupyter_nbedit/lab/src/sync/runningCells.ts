import type { ICellModel } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';

/** Knows which cells are running or waiting to run. */
export class RunningCells {
  constructor() {
    NotebookActions.executionScheduled.connect((_, { cell }) => {
      this._scheduled.add(cell.model);
    });
    NotebookActions.executed.connect((_, { cell }) => {
      this._scheduled.delete(cell.model);
      for (const listener of this._listeners) {
        listener();
      }
    });
  }

  /** Call the listener whenever a cell has finished. */
  addListener(listener: () => void): () => void {
    this._listeners.add(listener);
    return () => this._listeners.delete(listener);
  }

  /**
   * @param state The execution state of the cell in its shared model; undefined before JupyterLab
   *   4.4, where only the actions tell.
   */
  has(cell: ICellModel, state: string | undefined): boolean {
    return state === undefined ? this._scheduled.has(cell) : state !== 'idle';
  }

  private readonly _scheduled = new WeakSet<ICellModel>();
  private readonly _listeners = new Set<() => void>();
}
