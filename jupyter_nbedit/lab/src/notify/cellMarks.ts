import type { Cell as CellWidget } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Gaze } from './viewTracker';
import { markText } from './wording';

const FLASH = 'jp-nbedit-flash';
const CONFLICT = 'jp-nbedit-conflict';

/** How long a flash is shown, in milliseconds. */
const FLASH_TIME = 2500;

/** The class of the element beside a marked cell. */
const MARK = 'jp-nbedit-mark';

/** How many clients a mark names; of more the last ones. */
const CLIENTS = 3;

/**
 * The marks at the cells of one notebook that were changed from outside and not looked at since.
 *
 * They go by the cells' names: a cell that is scrolled out, gets another widget or is seen in a
 * second view has the same mark, and to look at it in one view is enough.
 */
export class Marks {
  constructor(private readonly _trans: TranslationBundle) {}

  /** Mark cells as changed by these clients; who has looked at them before has to look anew. */
  add(cells: readonly string[], clients: readonly string[]): void {
    for (const cell of cells) {
      const all = new Set([...(this._marked.get(cell) ?? []), ...clients]);
      this._marked.set(cell, [...all].slice(-CLIENTS));
      this._gazes.forEach(gaze => gaze.restart(cell));
    }
    this._render();
  }

  /** Take the marks from these cells. */
  remove(cells: readonly string[]): void {
    cells.forEach(cell => this._marked.delete(cell));
    this._render();
  }

  clear(): void {
    this.remove([...this._marked.keys()]);
  }

  /** Show the marks in one more view, and watch there for what is looked at. */
  addView(panel: NotebookPanel): void {
    this._gazes.set(panel, new Gaze(panel.content, cells => this.remove(cells)));
    const render = (): void => this._renderIn(panel);
    const { cells } = panel.context.model;
    // By now the notebook has made and dropped widgets for the cells that came and went.
    cells.changed.connect(render);
    panel.disposed.connect(() => {
      cells.changed.disconnect(render);
      this._gazes.get(panel)?.dispose();
      this._gazes.delete(panel);
    });
    render();
  }

  /** Whether the user types or scrolls in this view just now. */
  isBusy(panel: NotebookPanel): boolean {
    return this._gazes.get(panel)?.isBusy === true;
  }

  private _render(): void {
    for (const panel of this._gazes.keys()) {
      this._renderIn(panel);
    }
  }

  private _renderIn(panel: NotebookPanel): void {
    const gaze = this._gazes.get(panel);
    if (gaze === undefined || (this._marked.size === 0 && gaze.isIdle)) {
      return;
    }
    const marked = new Map<string, CellWidget>();
    for (const cell of panel.content.widgets) {
      const clients = this._marked.get(cell.model.id);
      label(cell, clients === undefined ? null : markText(clients, this._trans));
      if (clients !== undefined) {
        marked.set(cell.model.id, cell);
      }
    }
    gaze.watch(marked);
  }

  private readonly _marked = new Map<string, readonly string[]>();
  private readonly _gazes = new Map<NotebookPanel, Gaze>();
}

/** The elements that are shown. */
const elements = new WeakMap<CellWidget, HTMLElement>();

/** Put a mark with this text beside a cell, or take it away. */
function label(cell: CellWidget, text: string | null): void {
  let element = elements.get(cell);
  if (text === null) {
    element?.remove();
    elements.delete(cell);
    return;
  }
  if (element === undefined) {
    element = document.createElement('div');
    element.className = MARK;
    element.setAttribute('role', 'img');
    // At the end: the cell's layout counts the elements before it.
    cell.node.append(element);
    elements.set(cell, element);
  }
  if (element.title !== text) {
    element.title = text;
    element.setAttribute('aria-label', text);
  }
}

/** Draw the eye to a cell for a moment. */
export function flash(cell: CellWidget): void {
  cell.removeClass(FLASH);
  // The browser starts an animation anew only if it has seen the class gone.
  cell.node.getBoundingClientRect();
  cell.addClass(FLASH);
  setTimeout(() => cell.removeClass(FLASH), FLASH_TIME);
}

/** Mark or unmark a cell as one that both sides changed. */
export function markConflict(cell: CellWidget, isOpen: boolean): void {
  cell.toggleClass(CONFLICT, isOpen);
}
