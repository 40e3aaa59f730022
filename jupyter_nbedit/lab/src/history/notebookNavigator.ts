import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';
import { flash } from '../notify/cellMarks';
import type { Part } from '../server/models';
import { goToCell } from '../ui/viewport';

/** The notebooks of this page, by the paths that the server has for them. */
export class OpenNotebooks {
  constructor(
    private readonly _shell: JupyterFrontEnd.IShell,
    private readonly _contents: Contents.IManager,
    private readonly _tracker: INotebookTracker,
    private readonly _documents: IDocumentManager
  ) {
    _tracker.currentChanged.connect((_, panel) => {
      this._changed.emit();
      // One handler for each, however often the notebook comes to the front.
      panel?.context.pathChanged.connect(this._emit);
    });
  }

  /** Emitted when another notebook is in front, or the one in front has another path. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The path of the notebook that was in front last, or null if none is open. */
  get current(): string | null {
    const panel = this._tracker.currentWidget;
    return panel === null ? null : this._pathOf(panel);
  }

  /** The MIME type of a notebook's code, or null if the notebook is not open, or not loaded yet. */
  codeOf(path: string): string | null {
    const panel = this._find(path);
    return panel?.context.isReady === true ? panel.content.codeMimetype : null;
  }

  /**
   * Bring a notebook to the front, opened if it was not, and show a cell.
   *
   * @returns Whether the cell is there.
   */
  async goTo(path: string, { cell_id: id, index }: Part): Promise<boolean> {
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
    const found =
      id === null ? (index ?? -1) : content.widgets.findIndex(({ model }) => model.id === id);
    const cell = content.widgets[found];
    if (cell === undefined) {
      return false;
    }
    content.deselectAll();
    content.activeCellIndex = found;
    await goToCell(content, cell);
    flash(cell);
    return true;
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _emit = (): void => this._changed.emit();

  private _find(path: string): NotebookPanel | undefined {
    const current = this._tracker.currentWidget;
    return current !== null && this._pathOf(current) === path
      ? current
      : this._tracker.find(panel => this._pathOf(panel) === path);
  }

  private _pathOf({ context }: NotebookPanel): string {
    return this._contents.localPath(context.path);
  }
}
