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
import { getSharedType, observeSharedTypes } from './jupyterlabInternals';

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
        this._cells.delete(type);
      }
    });
  }

  /** Return the content of the notebook. */
  read(): Notebook {
    const notebook = this._notebook ?? this._read();
    this._notebook = this._isObserved ? notebook : null;
    return notebook;
  }

  /** Return the keys of the cells. */
  readKeys(): string[] {
    return this.read().cells.map(({ key }) => key ?? '');
  }

  private _read(): Notebook {
    const shared: ISharedNotebook = this._model.sharedModel;
    const minor = readMinor(shared.nbformat_minor);
    const hasIds = hasCellIds(minor);
    const keys = buildKeys(shared.cells.map(({ id }) => id));
    const cells = shared.cells.map((cell, index) => {
      const key = keys[index] ?? null;
      return this._readCell(cell, key, hasIds ? key : null);
    });
    return { cells, metadata: readMetadata(shared.metadata), minor };
  }

  private _readCell(shared: ISharedCell, key: string | null, id: string | null): Cell {
    const type = getSharedType(shared);
    const known = this._isObserved && type !== null ? this._cells.get(type) : undefined;
    if (known?.key === key && known.id === id) {
      return known;
    }
    const cell = { ...readCell(shared.toJSON(), id), key };
    if (type !== null) {
      this._cells.set(type, cell);
    }
    return cell;
  }

  private readonly _isObserved: boolean;
  /** The content since the last change, if it was read. */
  private _notebook: Notebook | null = null;
  /** The cells by the objects of Yjs that contain them. */
  private readonly _cells = new WeakMap<object, Cell>();
}
