import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';

/** The parts of a notebook's context that JupyterLab keeps to itself. */
interface Internals {
  _updateContentsModel?: unknown;
  _raiseConflict?: unknown;
}

/**
 * Merge a version of the file into an open notebook and make it the version its next save expects.
 *
 * Only what was fetched together with its hash may be taken over: with the hash of a later version
 * the next save would overwrite what that version brought.
 *
 * JupyterLab has no public call that sets the expected version alone. Without the private one it is
 * set by a revert whose content goes through the merge instead of replacing every cell.
 *
 * @param revert The context's own revert.
 * @param mergeIn Merges the content of a file into the model.
 */
export async function takeOver(
  context: DocumentRegistry.IContext<INotebookModel>,
  fetched: Contents.IModel,
  revert: () => Promise<void>,
  mergeIn: (content: unknown) => void
): Promise<void> {
  const internals = context as Internals;
  if (typeof internals._updateContentsModel === 'function') {
    mergeIn(fetched.content);
    internals._updateContentsModel.call(context, { ...context.contentsModel, ...fetched });
    return;
  }
  const model = context.model as { fromJSON?: unknown };
  model.fromJSON = mergeIn;
  try {
    await revert();
  } finally {
    delete model.fromJSON;
  }
}

/**
 * Save, unless the file has become another version since the last one taken over.
 *
 * JupyterLab would ask whether to overwrite or reload it; instead the save is given up without a
 * word, so that it can be tried again after a merge. Where JupyterLab has no such step it asks.
 *
 * @param save The context's own save.
 * @returns Whether it was saved.
 */
export async function saveUnlessStale(
  context: DocumentRegistry.IContext<INotebookModel>,
  save: () => Promise<void>
): Promise<boolean> {
  const internals = context as Internals;
  if (typeof internals._raiseConflict !== 'function') {
    await save();
    return true;
  }
  const stale = new Error('The file has changed on disk.');
  // An error of this name is passed on without a dialog.
  stale.name = 'ModalCancelError';
  internals._raiseConflict = () => Promise.reject(stale);
  try {
    await save();
    return true;
  } catch (error) {
    if (error === stale) {
      return false;
    }
    throw error;
  } finally {
    delete internals._raiseConflict;
  }
}
