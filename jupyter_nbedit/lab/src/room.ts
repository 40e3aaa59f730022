import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import { isThere, told } from './done';
import type { FileChange } from './events';
import { OpenNotebook, type Around } from './tab';

/** How long an edit may take to come through the room after its event, in milliseconds. */
const PATIENCE = 5000;

/**
 * An open notebook that a room on the server keeps together with its file.
 *
 * Edits come into its model by themselves, and its saves are the room's: here they are only told of.
 */
export class RoomNotebook {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    around: Around
  ) {
    this._notebook = new OpenNotebook(_context, around);
  }

  /** Hear that the file is said to have changed. */
  heard(change: FileChange): void {
    if (change.done.length > 0) {
      void this._tell(change);
    }
  }

  private async _tell(change: FileChange): Promise<void> {
    await this._arrival(() => isThere(change.done, this._notebook.keys()));
    if (!this._context.isDisposed) {
      const keys = this._notebook.keys();
      const arrived = { ...told(change.done, keys), isCut: change.isCut };
      void this._notebook.tell(arrived, [change], keys);
    }
  }

  /** Wait until what is looked for is in the notebook, but not for ever: an event may be wrong. */
  private _arrival(isHere: () => boolean): Promise<void> {
    const { cells } = this._context.model;
    return new Promise(resolve => {
      const settle = (): void => {
        clearTimeout(timer);
        cells.changed.disconnect(look);
        this._context.disposed.disconnect(settle);
        resolve();
      };
      const look = (): void => {
        if (isHere()) {
          settle();
        }
      };
      const timer = setTimeout(settle, PATIENCE);
      cells.changed.connect(look);
      this._context.disposed.connect(settle);
      look();
    });
  }

  private readonly _notebook: OpenNotebook;
}
