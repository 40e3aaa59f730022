import type { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';

/** The button "View" of a toast: each press goes to the next of several cells. */
export class ViewButton {
  /** @param _viewCell Goes to the cell with this key. */
  constructor(
    private readonly _viewCell: (key: string) => void,
    private readonly _trans: TranslationBundle
  ) {}

  /**
   * Return the button for these cells; no button if there are none. It does not close the toast.
   *
   * @param keys The keys of the cells, in the order of the notebook.
   * @param onPress Handles that the next press goes to another cell.
   */
  makeActions(keys: readonly string[], onPress: () => void): Notification.IAction[] {
    const position = this._getNextPosition(keys);
    const key = keys[position];
    if (key === undefined) {
      return [];
    }
    const callback = (event: MouseEvent): void => {
      event.preventDefault();
      this._last = { key, position };
      this._viewCell(key);
      onPress();
    };
    return [
      keys.length === 1
        ? {
            label: this._trans.__('View'),
            caption: this._trans.__('Show this cell'),
            callback
          }
        : {
            label: this._trans.__('View %1 of %2', position + 1, keys.length),
            caption: this._trans.__('Show these cells, one after the other'),
            callback
          }
    ];
  }

  private _getNextPosition(keys: readonly string[]): number {
    if (this._last === null || keys.length === 0) {
      return 0;
    }
    const position = keys.indexOf(this._last.key);
    // If the last cell is not among them any more, the next one has taken its position.
    return (position < 0 ? this._last.position : position + 1) % keys.length;
  }

  private _last: { readonly key: string; readonly position: number } | null = null;
}
