import type { Contents } from '@jupyterlab/services';
import { applyDelta } from '../merge/delta';
import { readFileContent, readNotebook, type Notebook } from '../merge/notebook';
import { NbEditError, type NbEditClient } from '../server/client';
import type { DiskVersion } from './jupyterlabInternals';

/** Maximum number of reads of a notebook that changes between two reads. */
const MAX_ATTEMPTS = 3;

/** What the Contents API says of a file, without its content. */
type FileModel = Omit<Contents.IModel, 'content'>;

/**
 * Reads the version on disk of an open notebook.
 *
 * Our server sends what has changed since the version that the tab has. The Contents API, which
 * sends the whole notebook, is used where that is not possible: in other drives, with contents
 * managers that store something else than files, and if the server has forgotten the version.
 */
export class NotebookFile {
  constructor(
    private readonly _contents: Contents.IManager,
    private readonly _server: NbEditClient
  ) {}

  /**
   * Return whether the file still is the version that the tab has.
   *
   * @param hash The hash of this version, or null if it is not certain.
   * @param known The version that was last loaded or saved, according to JupyterLab.
   */
  async isCurrent(path: string, hash: string | null, known: FileModel | null): Promise<boolean> {
    const knownHash = hash ?? known?.hash;
    if (knownHash != null && this._isOnOurServer(path)) {
      try {
        return (await this._server.getHash(this._contents.localPath(path))) === knownHash;
      } catch (error) {
        warnUnlessUnknown(path, error);
      }
    }
    return isFileCurrent(this._contents, path, known);
  }

  /**
   * Read the version on disk.
   *
   * @param base The version that the tab has, with all cells in the order of the file.
   * @param hash The hash of this version, or null if it is not certain.
   */
  async fetch(path: string, base: Notebook, hash: string | null): Promise<DiskVersion> {
    const version = hash === null ? null : await this._fetchDelta(path, base, hash);
    if (version !== null) {
      return version;
    }
    const model = await fetchNotebook(this._contents, path, base);
    // Our server gave another hash: it does not store what the Contents API shows.
    this._hasOtherHashes = hash !== null && model.hash === hash;
    return { notebook: readFileContent(model.content), model };
  }

  private async _fetchDelta(
    path: string,
    base: Notebook,
    since: string
  ): Promise<DiskVersion | null> {
    if (!this._isOnOurServer(path)) {
      return null;
    }
    try {
      const delta = await this._server.getDelta(this._contents.localPath(path), since);
      if (delta.since !== since) {
        throw new Error(`Expected the changes since ${since}; found those since ${delta.since}.`);
      }
      const { hash, last_modified } = delta;
      return { notebook: applyDelta(base, delta), model: { hash, last_modified } };
    } catch (error) {
      warnUnlessUnknown(path, error);
      return null;
    }
  }

  private _isOnOurServer(path: string): boolean {
    return !this._hasOtherHashes && this._contents.driveName(path) === '';
  }

  private _hasOtherHashes = false;
}

/** Report why the Contents API is used, unless the server just does not know the version. */
function warnUnlessUnknown(path: string, error: unknown): void {
  if (!(error instanceof NbEditError && error.reason === 'version_unknown')) {
    console.warn(`jupyter-nbedit: ${path} is read through the Contents API.`, error);
  }
}

/** Return whether the file is still the version that was last loaded or saved. */
export async function isFileCurrent(
  contents: Contents.IManager,
  path: string,
  known: FileModel | null
): Promise<boolean> {
  const disk = await contents.get(path, { content: false, hash: true });
  return isSameVersion(disk, known);
}

/**
 * Read a notebook together with its hash.
 *
 * If a file has cells without ids although its format requires them, the server generates new ids
 * at every read. When ids are unknown to `base` and others are missing, a second read shows which
 * ids are in the file; the others are removed.
 */
export async function fetchNotebook(
  contents: Contents.IManager,
  path: string,
  base: Notebook
): Promise<Contents.IModel> {
  let model = await contents.get(path, { type: 'notebook', content: true, hash: true });
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const ids = collectIds(readNotebook(model.content));
    const knownIds = collectIds(base);
    if (isSubset(ids, knownIds) || isSubset(knownIds, ids)) {
      return model;
    }
    const secondRead = await contents.get(path, { type: 'notebook', content: true, hash: true });
    if (isSameVersion(secondRead, model)) {
      return { ...secondRead, content: removeGeneratedIds(secondRead.content, ids) };
    }
    model = secondRead;
  }
  return model;
}

function isSameVersion(a: FileModel, b: FileModel | null): boolean {
  return a.hash != null && b?.hash != null
    ? a.hash === b.hash
    : a.last_modified === b?.last_modified;
}

/** Return the content of a notebook without the ids that another read did not return. */
function removeGeneratedIds(content: unknown, knownIds: ReadonlySet<string>): unknown {
  const notebook = content as { cells: { id?: string }[] };
  return {
    ...notebook,
    cells: notebook.cells.map(({ id, ...cell }) =>
      id !== undefined && knownIds.has(id) ? { id, ...cell } : cell
    )
  };
}

function collectIds(notebook: Notebook): Set<string> {
  return new Set(notebook.cells.flatMap(({ id }) => id ?? []));
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every(item => all.has(item));
}
