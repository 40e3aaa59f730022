import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

/** Call a function with each open notebook, and with each that is opened later. */
export function forEachPanel(
  tracker: INotebookTracker,
  callback: (panel: NotebookPanel) => void
): void {
  tracker.forEach(callback);
  tracker.widgetAdded.connect((_, panel) => callback(panel));
}

/** An object for each open notebook, as long as it is open. */
export class PanelMap<Value> {
  constructor(
    private readonly _tracker: INotebookTracker,
    private readonly _make: (panel: NotebookPanel) => Value
  ) {
    forEachPanel(_tracker, panel => this.get(panel));
  }

  /** The object of the notebook that the user has used last. */
  get current(): Value | undefined {
    const panel = this._tracker.currentWidget;
    return panel === null ? undefined : this._values.get(panel);
  }

  get(panel: NotebookPanel): Value {
    const known = this._values.get(panel);
    if (known !== undefined) {
      return known;
    }
    const value = this._make(panel);
    this._values.set(panel, value);
    panel.disposed.connect(() => this._values.delete(panel));
    return value;
  }

  forEach(callback: (value: Value) => void): void {
    this._values.forEach(value => callback(value));
  }

  private readonly _values = new Map<NotebookPanel, Value>();
}
