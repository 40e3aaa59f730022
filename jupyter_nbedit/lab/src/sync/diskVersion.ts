import type { Contents } from '@jupyterlab/services';
import { readNotebook, type Notebook } from '../merge/notebook';

/** Maximum number of reads of a notebook that changes between two reads. */
const MAX_ATTEMPTS = 3;

/** Return whether the file is still the version that was last loaded or saved. */
export async function isFileCurrent(
  contents: Contents.IManager,
  path: string,
  known: Omit<Contents.IModel, 'content'> | null
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

function isSameVersion(
  a: Omit<Contents.IModel, 'content'>,
  b: Omit<Contents.IModel, 'content'> | null
): boolean {
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
