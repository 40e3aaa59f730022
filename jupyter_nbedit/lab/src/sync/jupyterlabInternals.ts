import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';
import type { Cell, ICellModel, MarkdownCell } from '@jupyterlab/cells';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { readFileContent, type Notebook } from '../merge/notebook';

const CHANGED_MESSAGE = 'The file has changed on disk.';

/** The status of a save that the server refuses because the file has changed. */
const CONFLICT_STATUS = 409;

/** A version of a notebook on disk. */
export interface DiskVersion {
  readonly notebook: Notebook;
  /** Its hash and its time of modification, with what else the Contents API says of the file. */
  readonly model: Partial<Contents.IModel>;
}

/** Private members of a notebook's context. */
interface ContextInternals {
  _updateContentsModel?: unknown;
  _raiseConflict?: unknown;
}

/**
 * Merge a version of the file into an open notebook and make it the version that the next save
 * expects.
 *
 * Adopt only content that was fetched together with its hash: with the hash of a later version, the
 * next save would overwrite the changes of that version.
 *
 * JupyterLab has no public call that sets the expected version alone. If the private one is
 * missing, a revert sets it, with a model that merges the content instead of replacing every cell.
 *
 * @param revert The context's own revert.
 * @param merge Merges the notebook on disk into the model.
 */
export async function adoptVersion(
  context: DocumentRegistry.IContext<INotebookModel>,
  version: DiskVersion,
  revert: () => Promise<void>,
  merge: (disk: Notebook) => void
): Promise<void> {
  const internals = context as ContextInternals;
  if (typeof internals._updateContentsModel === 'function') {
    merge(version.notebook);
    internals._updateContentsModel.call(context, { ...context.contentsModel, ...version.model });
    return;
  }
  const model = context.model as { fromJSON?: unknown };
  model.fromJSON = (content: unknown) => {
    merge(readFileContent(content));
  };
  try {
    await revert();
  } finally {
    delete model.fromJSON;
  }
}

/** Members of a Markdown cell, of which one is private. */
interface MarkdownInternals {
  readonly rendered?: boolean;
  _updateRenderedInput?: () => Promise<void>;
}

/**
 * Render the text of a Markdown cell now; JupyterLab does it a second after the last change, and
 * alone if it has the private method no more.
 */
export function renderMarkdownNow(cell: Cell): void {
  const internals = cell as MarkdownInternals;
  if (internals.rendered === true && typeof internals._updateRenderedInput === 'function') {
    internals._updateRenderedInput().catch((error: unknown) => {
      console.warn('jupyter-nbedit: a Markdown cell could not be rendered.', error);
    });
  }
}

/** Private members of the model of a code cell. */
interface CodeCellModelInternals {
  readonly isDirty?: boolean;
  _executedCode?: string;
  _setDirty?: (isDirty: boolean) => void;
}

/**
 * Return the source of a cell that was run last; null if it is not known.
 *
 * @param source The source of the cell now.
 */
export function readExecutedSource(cell: ICellModel, source: string): string | null {
  const { isDirty, _executedCode: executedSource } = cell as CodeCellModelInternals;
  return isDirty === true ? (executedSource ?? '') || null : source;
}

/**
 * Set which source was run last: a cell with another source is marked as modified since its run.
 *
 * JupyterLab knows this source only for cells that were run since the notebook was opened. It takes
 * other cells for modified after any two changes, and forgets the source when a cell moves.
 *
 * @param executedSource Null if it is unknown, but differs from the source of the cell.
 */
export function writeExecutedSource(cell: ICellModel, executedSource: string | null): void {
  const internals = cell as CodeCellModelInternals;
  if (typeof internals._setDirty !== 'function') {
    return;
  }
  const executedCode = executedSource?.trim();
  const isModified = executedCode !== cell.sharedModel.getSource().trim();
  internals._setDirty(isModified);
  if (executedCode !== undefined) {
    internals._executedCode = executedCode;
  }
}

/** An object of Yjs, by which JupyterLab stores notebooks; its parent is such an object or null. */
interface SharedType {
  readonly parent: SharedType | null;
}

/** What is used of a document of Yjs. */
interface SharedDocument {
  on(
    event: 'beforeObserverCalls',
    listener: (transaction: { readonly changed: ReadonlyMap<SharedType, unknown> }) => void
  ): void;
}

/**
 * Call the listener at each change of a notebook with the objects that have changed and those that
 * contain them, before any other listener can read the notebook.
 *
 * The signals of the shared model do not report all changes: JupyterLab stores the outputs of a
 * running cell without one.
 *
 * @returns Whether the model consists of such objects, as JupyterLab's own does.
 */
export function observeSharedTypes(
  model: ISharedNotebook,
  listener: (types: ReadonlySet<object>) => void
): boolean {
  const { ydoc } = model as { ydoc?: SharedDocument };
  ydoc?.on('beforeObserverCalls', ({ changed }) => {
    const types = new Set<object>();
    for (const type of changed.keys()) {
      for (let each: SharedType | null = type; each !== null; each = each.parent) {
        types.add(each);
      }
    }
    listener(types);
  });
  return ydoc !== undefined;
}

/** Return the object of Yjs that contains a cell, or null if there is none. */
export function getSharedType(cell: ISharedCell): object | null {
  return (cell as { ymodel?: object }).ymodel ?? null;
}

/** The field of a save request with the hash of the version to replace; our server checks it. */
const EXPECTED_HASH = 'nbedit_expected_hash';

/** The field of the reply with the hash of the file, if the file has exactly what was sent. */
const SAVED_HASH = 'nbedit_hash';

/** A save was cancelled because the file has changed. */
class StaleError extends Error {
  // JupyterLab passes on errors of this name without a dialog.
  override readonly name = 'ModalCancelError';
}

/**
 * Saves with the hash of the version that they replace.
 *
 * JupyterLab checks the file's hash and then saves in a separate request; a change between the two
 * would be overwritten. Our server refuses a save whose hash is not current.
 */
export class ConditionalSaves {
  constructor(contents: Contents.IManager) {
    const save = contents.save.bind(contents);
    contents.save = async (path, options) => {
      this._savedHashes.delete(path);
      const hash = this._expectedHashes.get(path)?.();
      if (hash == null) {
        return save(path, options);
      }
      const conditionalOptions = { ...options, [EXPECTED_HASH]: hash };
      try {
        const model = await save(path, conditionalOptions);
        const { [SAVED_HASH]: savedHash } = model as { [SAVED_HASH]?: string };
        if (savedHash !== undefined) {
          this._savedHashes.set(path, savedHash);
        }
        return model;
      } catch (error) {
        const { response } = error as { response?: Response };
        throw response?.status === CONFLICT_STATUS ? new StaleError(CHANGED_MESSAGE) : error;
      }
    };
  }

  /**
   * Save, unless the file has changed since the last version was adopted.
   *
   * JupyterLab would ask whether to overwrite or reload; instead the save is cancelled silently, so
   * that it can be repeated after a merge. If JupyterLab has no such private method, it asks.
   *
   * @param save The context's own save.
   * @returns Whether it was saved.
   */
  async saveIfCurrent(
    context: DocumentRegistry.IContext<INotebookModel>,
    save: () => Promise<void>
  ): Promise<boolean> {
    const internals = context as ContextInternals;
    const { path } = context;
    this._expectedHashes.set(path, () => context.contentsModel?.hash);
    if (typeof internals._raiseConflict === 'function') {
      internals._raiseConflict = () => Promise.reject(new StaleError(CHANGED_MESSAGE));
    }
    try {
      await save();
      return true;
    } catch (error) {
      if (error instanceof StaleError) {
        return false;
      }
      throw error;
    } finally {
      this._expectedHashes.delete(path);
      delete internals._raiseConflict;
    }
  }

  /**
   * Return the hash of the file that the last save of this path has written; null if it is unknown.
   *
   * JupyterLab asks for the hash in another request, when the file may have changed again.
   */
  getSavedHash(path: string): string | null {
    return this._savedHashes.get(path) ?? null;
  }

  private readonly _expectedHashes = new Map<string, () => string | undefined>();
  private readonly _savedHashes = new Map<string, string>();
}

/**
 * Parse the headings of a Markdown cell, which `headingInfo` returns.
 *
 * JupyterLab 4.2 lacks the method: it parses them when they are read.
 */
export async function parseHeadings(cell: MarkdownCell): Promise<void> {
  await (cell as Partial<Pick<MarkdownCell, 'getHeadings'>>).getHeadings?.();
}
