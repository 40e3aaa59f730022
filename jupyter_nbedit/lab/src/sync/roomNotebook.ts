import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import { isApplied, summarizeOperations } from '../notify/attribution';
import type { FileChange } from '../server/fileChanges';
import type { NbEditServices } from '../services/servicesPlugin';
import type { SyncParts } from './notebookSync';
import { OpenNotebook } from './openNotebook';

/** Maximum time between the event of an edit and its arrival in the room, in milliseconds. */
const MAX_WAIT = 5000;

/**
 * Time that the edit, which comes by another socket, may take longer than its event if the room
 * does not report what it saved, in milliseconds.
 */
const SOCKET_DELAY = 250;

/**
 * An open notebook that a room on the server keeps in sync with its file.
 *
 * The room applies edits to the model and saves it; here they are only shown and reported.
 */
export class RoomNotebook {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    services: NbEditServices,
    private readonly _parts: SyncParts
  ) {
    this._notebook = new OpenNotebook(_context, services, _parts);
  }

  /** Show and report a change of the file. */
  onFileChange(change: FileChange): void {
    if (change.operations.length > 0) {
      void this._announce(change);
      void this._report(change);
    }
  }

  private async _announce(change: FileChange): Promise<void> {
    await this._waitUntil(() => isApplied(change.operations, this._notebook.getKeys()));
    if (!this._context.isDisposed) {
      const keys = this._notebook.getKeys();
      const incomingChange = {
        ...summarizeOperations(change.operations, keys),
        isTruncated: change.isTruncated,
        bypassedMode: change.bypassedMode
      };
      void this._notebook.showIncomingChange(incomingChange, [change], keys, null);
    }
  }

  /** Report the edit when it is in the model; a tab of a room has no unsaved changes of its own. */
  private async _report(change: FileChange): Promise<void> {
    const isPresent = (): boolean =>
      isApplied(change.operations, this._notebook.getKeys()) && this._hasVersion(change.hash);
    await this._waitUntil(isPresent);
    if (this._getSavedHash() === null) {
      await new Promise(resolve => setTimeout(resolve, SOCKET_DELAY));
    }
    const editedIds = new Set(change.operations.flatMap(({ cell_id: id }) => id ?? []));
    const isShown =
      !this._context.isDisposed &&
      isApplied(change.operations, this._notebook.getKeys()) &&
      this._notebook.views.hasCurrentText(editedIds);
    if (isShown) {
      this._parts.tab.markApplied([change]);
      this._parts.tab.report(null, 'shown');
    }
  }

  /**
   * Return whether the room last saved this version: its content has arrived before.
   *
   * If the room does not report its saves, the cells' ids decide.
   */
  private _hasVersion(hash: string | null): boolean {
    const savedHash = this._getSavedHash();
    return savedHash === null || savedHash === hash;
  }

  /** Return the version that the room last saved, or null if it does not report it. */
  private _getSavedHash(): string | null {
    const sharedModel = this._context.model.sharedModel as { getState?: (key: string) => unknown };
    const savedHash = sharedModel.getState?.('hash');
    return typeof savedHash === 'string' ? savedHash : null;
  }

  /** Wait until a condition holds, with a timeout because the event may be wrong. */
  private _waitUntil(isPresent: () => boolean): Promise<void> {
    const { cells, sharedModel } = this._context.model;
    return new Promise(resolve => {
      const finish = (): void => {
        clearTimeout(timer);
        cells.changed.disconnect(check);
        sharedModel.changed.disconnect(check);
        this._context.disposed.disconnect(finish);
        resolve();
      };
      const check = (): void => {
        if (isPresent()) {
          finish();
        }
      };
      const timer = setTimeout(finish, MAX_WAIT);
      cells.changed.connect(check);
      sharedModel.changed.connect(check);
      this._context.disposed.connect(finish);
      check();
    });
  }

  private readonly _notebook: OpenNotebook;
}
