import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import { isThere, told } from './done';
import type { FileChange } from './events';
import type { Surroundings } from './sync';
import { OpenNotebook } from './tab';

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
    { running, views }: Pick<Surroundings, 'running' | 'views'>
  ) {
    this._notebook = new OpenNotebook(_context, running, views);
  }

  /** Hear that the file is said to have changed. */
  heard(change: FileChange): void {
    if (change.done.length > 0) {
      void this._tell(change);
    }
  }

  private async _tell({ client, done, isCut }: FileChange): Promise<void> {
    await this._arrival(() => isThere(done, this._notebook.keys()));
    if (this._context.isDisposed) {
      return;
    }
    const { cells, removed, isOfNotebook } = told(done, this._notebook.keys());
    if (cells.length > 0 || removed > 0 || isOfNotebook) {
      const clients = client === null ? [] : [client];
      this._notebook.tell({ cells, removed, clients, isCut });
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
