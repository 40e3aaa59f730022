import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';
import type { INotebookModel } from '@jupyterlab/notebook';
import {
  buildKeys,
  hasCellIds,
  readCell,
  readMetadata,
  readMinor,
  type Cell,
  type Notebook
} from '../merge/notebook';
import { getId } from '../ui/cellIds';
import { getSharedType, observeSharedTypes } from './jupyterlabInternals';

/** A cell as it was read last. */
interface Entry {
  readonly cell: Cell;
  readonly state: string | undefined;
}

/**
 * Reads the content of an open notebook as a value.
 *
 * A cell is read again only after it has changed; until then it is the same object, so that reading
 * and comparing a notebook costs little, whatever its size is.
 */
export class TabReader {
  constructor(private readonly _model: INotebookModel) {
    this._isObserved = observeSharedTypes(_model.sharedModel, types => {
      this._notebook = null;
      for (const type of types) {
        this._entries.delete(type);
      }
    });
  }

  /** Return the content of the notebook. */
  read(): Notebook {
    if (this._notebook === null || !this._isObserved) {
      this._notebook = this._read();
    }
    return this._notebook;
  }

  /** Return the keys of the cells. */
  readKeys(): string[] {
    return this.read().cells.map(({ key }) => key ?? '');
  }

  /** Return the execution state of each cell; undefined before JupyterLab 4.4. */
  readStates(): readonly (string | undefined)[] {
    this.read();
    return this._states;
  }

  private _read(): Notebook {
    const shared: ISharedNotebook = this._model.sharedModel;
    const minor = readMinor(shared.nbformat_minor);
    const hasIds = hasCellIds(minor);
    const keys = buildKeys(shared.cells.map(getId));
    const entries = shared.cells.map((cell, index) => {
      const key = keys[index] ?? null;
      return this._readEntry(cell, key, hasIds ? key : null);
    });
    this._states = entries.map(({ state }) => state);
    const cells = entries.map(({ cell }) => cell);
    return { cells, metadata: readMetadata(shared.metadata), minor };
  }

  private _readEntry(shared: ISharedCell, key: string | null, id: string | null): Entry {
    const type = getSharedType(shared);
    const known = this._isObserved && type !== null ? this._entries.get(type) : undefined;
    if (known?.cell.key === key && known.cell.id === id) {
      return known;
    }
    const { executionState: state } = shared as { executionState?: string };
    const entry = { cell: { ...readCell(shared.toJSON(), id), key }, state };
    if (type !== null) {
      this._entries.set(type, entry);
    }
    return entry;
  }

  private readonly _isObserved: boolean;
  /** The content since the last change, if it was read. */
  private _notebook: Notebook | null = null;
  private _states: readonly (string | undefined)[] = [];
  /** The cells by the objects of Yjs that contain them. */
  private readonly _entries = new WeakMap<object, Entry>();
}
