import type { Cell as CellWidget } from '@jupyterlab/cells';

const FLASH_CLASS = 'jp-nbedit-flash';

/** How long a flash is shown, in milliseconds. */
const FLASH_TIME = 2500;

/** Highlight a cell for a moment. */
export function flashCell(cell: CellWidget): void {
  if (cell.hasClass(FLASH_CLASS)) {
    cell.removeClass(FLASH_CLASS);
    // The browser restarts an animation only after a layout without the class.
    cell.node.getBoundingClientRect();
  }
  cell.addClass(FLASH_CLASS);
  setTimeout(() => cell.removeClass(FLASH_CLASS), FLASH_TIME);
}
