import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Signal, type ISignal } from '@lumino/signaling';
import { flashCell } from '../notify/flashCell';
import type { CellDiff } from '../server/models';
import type { CellIdentity } from './cellHistory';
import { goToCell } from '../ui/viewport';

/** Finds and opens notebooks by their paths on the server. */
export class NotebookNavigator {
  constructor(
    private readonly _shell: JupyterFrontEnd.IShell,
    private readonly _tracker: INotebookTracker,
    private readonly _documents: IDocumentManager
  ) {
    _tracker.currentChanged.connect((_, panel) => {
      this._changed.emit();
      // The same handler each time, so that it is connected only once.
      panel?.context.pathChanged.connect(this._emitChanged);
    });
  }

  /** Emitted when another notebook becomes current, or the current notebook gets another path. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The path of the current notebook, or null if none is open. */
  get currentPath(): string | null {
    const panel = this._tracker.currentWidget;
    return panel?.context.localPath ?? null;
  }

  /** The active cell of the current notebook, with its position from 1, or null. */
  get currentCell(): (CellIdentity & { readonly position: number }) | null {
    const notebook = this._tracker.currentWidget?.content;
    const model = notebook?.activeCell?.model;
    if (notebook?.model == null || model === undefined) {
      return null;
    }
    // JupyterLab gives each cell an id, but older formats cannot store it.
    const hasIds = notebook.model.nbformat > 4 || notebook.model.nbformatMinor >= 5;
    return {
      id: hasIds ? model.id : null,
      source: model.sharedModel.getSource(),
      position: notebook.activeCellIndex + 1
    };
  }

  /** Return the MIME type of a notebook's code, or null if the notebook is not loaded. */
  getCodeLanguage(path: string): string | null {
    const panel = this._find(path);
    return panel?.context.isReady === true ? panel.content.codeMimetype : null;
  }

  /**
   * Bring a notebook to the front, opening it if needed, and show a cell.
   *
   * @returns Whether the cell exists.
   */
  async goToCell(path: string, { cell_id: id, index }: CellDiff): Promise<boolean> {
    const panel =
      this._find(path) ??
      // eslint-disable-next-line nbedit/visible-text -- the name of JupyterLab's widget factory
      (this._documents.openOrReveal(path, 'Notebook') as NotebookPanel | undefined);
    if (panel === undefined) {
      return false;
    }
    this._shell.activateById(panel.id);
    await panel.context.ready;
    await panel.revealed;
    const { content } = panel;
    const cellIndex =
      id === null ? (index ?? -1) : content.widgets.findIndex(({ model }) => model.id === id);
    const cell = content.widgets[cellIndex];
    if (cell === undefined) {
      return false;
    }
    content.deselectAll();
    content.activeCellIndex = cellIndex;
    await goToCell(content, cell);
    // A user who looks at a cell may next press keys of the command mode, such as the key of undo.
    content.mode = 'command';
    content.activate();
    flashCell(cell);
    return true;
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _emitChanged = (): void => this._changed.emit();

  private _find(path: string): NotebookPanel | undefined {
    const current = this._tracker.currentWidget;
    return current?.context.localPath === path
      ? current
      : this._tracker.find(({ context }) => context.localPath === path);
  }
}
