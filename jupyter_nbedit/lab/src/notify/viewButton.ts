import type { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { formatRange } from '../ui/displayText';

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
   * @param keys The key of the cell of each change, in the order of the notebook.
   * @param onPress Handles that the next press goes to another cell.
   */
  makeActions(keys: readonly string[], onPress: () => void): Notification.IAction[] {
    const { _trans: trans } = this;
    const cells = [...new Set(keys)];
    const position = this._getNextPosition(cells);
    const key = cells[position];
    if (key === undefined) {
      return [];
    }
    const callback = (event: MouseEvent): void => {
      event.preventDefault();
      this._last = { key, position };
      this._viewCell(key);
      onPress();
    };
    if (cells.length === 1) {
      return [{ label: trans.__('View'), caption: trans.__('Show this cell'), callback }];
    }
    const range = formatRange(keys.indexOf(key) + 1, keys.lastIndexOf(key) + 1);
    return [
      {
        label: trans.__('View %1 of %2', range, keys.length),
        caption: trans.__('Show these cells, one after the other'),
        callback
      }
    ];
  }

  private _getNextPosition(cells: readonly string[]): number {
    if (this._last === null || cells.length === 0) {
      return 0;
    }
    const position = cells.indexOf(this._last.key);
    // If the last cell is not among them any more, the next cell has taken its position.
    return (position < 0 ? this._last.position : position + 1) % cells.length;
  }

  private _last: { readonly key: string; readonly position: number } | null = null;
}
