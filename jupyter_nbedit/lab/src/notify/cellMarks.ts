import type { Cell as CellWidget } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { getCellId } from '../ui/cellIds';
import { ViewTracker } from './viewTracker';
import { describeMark } from './wording';

const FLASH_CLASS = 'jp-nbedit-flash';
const CONFLICT_CLASS = 'jp-nbedit-conflict';

/** How long a flash is shown, in milliseconds. */
const FLASH_TIME = 2500;

/** The class of the element beside a marked cell. */
const MARK_CLASS = 'jp-nbedit-mark';

/** Maximum number of clients that a mark names; of more, the last ones. */
const MAX_CLIENTS = 3;

/**
 * The change marks of one notebook: cells that were changed from outside and not viewed since.
 *
 * Marks belong to cell ids: a cell that gets another widget, or is shown in a second view, has the
 * same mark, and viewing it in one view removes it in all.
 */
export class ChangeMarks {
  constructor(private readonly _trans: TranslationBundle) {}

  /** Mark cells as changed by these clients; a cell that was viewed before is marked again. */
  add(cells: readonly string[], clients: readonly string[]): void {
    for (const cell of cells) {
      const allClients = new Set([...(this._clientsByCell.get(cell) ?? []), ...clients]);
      this._clientsByCell.set(cell, [...allClients].slice(-MAX_CLIENTS));
      this._trackers.forEach(tracker => tracker.restartDwell(cell));
    }
    this._render();
  }

  /** Remove the marks of these cells. */
  remove(cells: readonly string[]): void {
    const removed = cells.filter(cell => this._clientsByCell.delete(cell));
    if (removed.length > 0) {
      this._render();
    }
  }

  clear(): void {
    this.remove([...this._clientsByCell.keys()]);
  }

  /** Show the marks in another view, and track there which cells are viewed. */
  addView(panel: NotebookPanel): void {
    this._trackers.set(panel, new ViewTracker(panel.content, cells => this.remove(cells)));
    const render = (): void => this._renderView(panel);
    const { cells } = panel.context.model;
    // At this time the notebook has created and disposed the widgets of the changed cells.
    cells.changed.connect(render);
    panel.disposed.connect(() => {
      cells.changed.disconnect(render);
      this._trackers.get(panel)?.dispose();
      this._trackers.delete(panel);
    });
    render();
  }

  /** Return whether the user types or scrolls in this view. */
  isBusy(panel: NotebookPanel): boolean {
    return this._trackers.get(panel)?.isBusy === true;
  }

  private _render(): void {
    for (const panel of this._trackers.keys()) {
      this._renderView(panel);
    }
  }

  private _renderView(panel: NotebookPanel): void {
    const tracker = this._trackers.get(panel);
    if (tracker === undefined || (this._clientsByCell.size === 0 && tracker.isIdle)) {
      return;
    }
    const markedCells = new Map<string, CellWidget>();
    for (const cell of panel.content.widgets) {
      const clients = this._clientsByCell.get(getCellId(cell));
      setMark(cell, clients === undefined ? null : describeMark(clients, this._trans));
      if (clients !== undefined) {
        markedCells.set(getCellId(cell), cell);
      }
    }
    tracker.watch(markedCells);
  }

  private readonly _clientsByCell = new Map<string, readonly string[]>();
  private readonly _trackers = new Map<NotebookPanel, ViewTracker>();
}

/** The elements of the marks. */
const markElements = new WeakMap<CellWidget, HTMLElement>();

/** Set the mark of a cell, or remove it. */
function setMark(cell: CellWidget, text: string | null): void {
  let element = markElements.get(cell);
  if (text === null) {
    element?.remove();
    markElements.delete(cell);
    return;
  }
  if (element === undefined) {
    element = document.createElement('div');
    element.className = MARK_CLASS;
    element.setAttribute('role', 'img');
    // At the end, because the cell's layout counts the elements before it.
    cell.node.append(element);
    markElements.set(cell, element);
  }
  if (element.title !== text) {
    element.title = text;
    element.setAttribute('aria-label', text);
  }
}

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

/** Set or remove the mark of a cell that both sides changed. */
export function setConflictMark(cell: CellWidget, isOpen: boolean): void {
  cell.toggleClass(CONFLICT_CLASS, isOpen);
}
