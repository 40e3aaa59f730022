import type { Contents } from '@jupyterlab/services';
import { readNotebook, type Notebook } from '../merge/notebook';

/** How often a notebook is read again because it changed between two reads. */
const ATTEMPTS = 3;

/** Whether the file is still the version that was loaded or saved last. */
export async function isCurrent(
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
 * Where a file has cells without ids although its format has them, the server invents new ones for
 * every read. If there are ids that `base` does not know, and it has some that are gone, a second
 * read shows which are real; the others are left out.
 */
export async function fetchNotebook(
  contents: Contents.IManager,
  path: string,
  base: Notebook
): Promise<Contents.IModel> {
  let fetched = await contents.get(path, { type: 'notebook', content: true, hash: true });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const ids = idsOf(readNotebook(fetched.content));
    const known = idsOf(base);
    if (isSubset(ids, known) || isSubset(known, ids)) {
      return fetched;
    }
    const again = await contents.get(path, { type: 'notebook', content: true, hash: true });
    if (isSameVersion(again, fetched)) {
      return { ...again, content: withoutInvented(again.content, ids) };
    }
    fetched = again;
  }
  return fetched;
}

function isSameVersion(
  a: Omit<Contents.IModel, 'content'>,
  b: Omit<Contents.IModel, 'content'> | null
): boolean {
  return a.hash != null && b?.hash != null
    ? a.hash === b.hash
    : a.last_modified === b?.last_modified;
}

/** The content of a notebook without the ids that were not there when it was read before. */
function withoutInvented(content: unknown, before: ReadonlySet<string>): unknown {
  const notebook = content as { cells: { id?: string }[] };
  return {
    ...notebook,
    cells: notebook.cells.map(({ id, ...cell }) =>
      id !== undefined && before.has(id) ? { id, ...cell } : cell
    )
  };
}

function idsOf(notebook: Notebook): Set<string> {
  return new Set(notebook.cells.flatMap(({ id }) => id ?? []));
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every(item => all.has(item));
}
