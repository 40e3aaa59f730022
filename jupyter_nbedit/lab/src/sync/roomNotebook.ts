import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import { isThere, told } from '../notify/attribution';
import type { FileChange } from '../server/fileChanges';
import type { Surroundings } from './notebookSync';
import { OpenNotebook, type Around } from './openNotebook';

/** How long an edit may take to come through the room after its event, in milliseconds. */
const PATIENCE = 5000;

/**
 * How long the edit itself, which comes by another socket, may be behind its event where the room
 * does not say what it saved, in milliseconds.
 */
const BEHIND = 250;

/**
 * An open notebook that a room on the server keeps together with its file.
 *
 * Edits come into its model by themselves, and its saves are the room's: here they are only told of.
 */
export class RoomNotebook {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    private readonly _around: Around & Pick<Surroundings, 'tab'>
  ) {
    this._notebook = new OpenNotebook(_context, _around);
  }

  /** Hear that the file is said to have changed. */
  heard(change: FileChange): void {
    this._notebook.withdrawUndone(change);
    if (change.done.length > 0) {
      void this._tell(change);
      void this._report(change);
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

  /** Tell the server once the edit is here: in a room nobody has changes to themselves. */
  private async _report(change: FileChange): Promise<void> {
    const isHere = (): boolean =>
      isThere(change.done, this._notebook.keys()) && this._hasVersion(change.hash);
    await this._arrival(isHere);
    if (this._saved() === null) {
      await new Promise(resolve => setTimeout(resolve, BEHIND));
    }
    const edited = new Set(change.done.flatMap(({ cell }) => cell ?? []));
    const isShown =
      !this._context.isDisposed &&
      isThere(change.done, this._notebook.keys()) &&
      this._notebook.views.hasText(edited);
    if (isShown) {
      this._around.tab.took([change]);
      this._around.tab.shows(null, 'shown');
    }
  }

  /**
   * Whether the room's last save was that of a version: what is saved has come here before that.
   * Where it is not said, cells' names have to do.
   */
  private _hasVersion(hash: string | null): boolean {
    const saved = this._saved();
    return saved === null || saved === hash;
  }

  /** The version that the room saved last; null where the back end does not say. */
  private _saved(): string | null {
    const shared = this._context.model.sharedModel as { getState?: (key: string) => unknown };
    const saved = shared.getState?.('hash');
    return typeof saved === 'string' ? saved : null;
  }

  /** Wait until what is looked for is in the notebook, but not for ever: an event may be wrong. */
  private _arrival(isHere: () => boolean): Promise<void> {
    const { cells, sharedModel } = this._context.model;
    return new Promise(resolve => {
      const settle = (): void => {
        clearTimeout(timer);
        cells.changed.disconnect(look);
        sharedModel.changed.disconnect(look);
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
      sharedModel.changed.connect(look);
      this._context.disposed.connect(settle);
      look();
    });
  }

  private readonly _notebook: OpenNotebook;
}
