import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents, Event } from '@jupyterlab/services';

const CHANGED = 'The file has changed on disk.';

/** The status by which a server refuses to overwrite. */
const CONFLICT = 409;

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

/** What a save tells our server, beside what the contents API has: the version it is to replace. */
const EXPECTED_HASH = 'nbedit_expected_hash';

/** A save was given up because the file has become another version. */
class StaleError extends Error {
  // An error of this name JupyterLab passes on without a dialog.
  override readonly name = 'ModalCancelError';
}

/**
 * Saves that say which version of the file they are to replace.
 *
 * JupyterLab looks at the file's hash and saves after that, in a request of its own; what another
 * writes between the two would be overwritten. Told the hash, our server refuses such a save.
 */
export class ExpectantSaves {
  constructor(contents: Contents.IManager) {
    const save = contents.save.bind(contents);
    contents.save = async (path, options) => {
      const hash = this._expected.get(path)?.();
      if (hash == null) {
        return save(path, options);
      }
      const expectant = { ...options, [EXPECTED_HASH]: hash };
      try {
        return await save(path, expectant);
      } catch (error) {
        const { response } = error as { response?: Response };
        throw response?.status === CONFLICT ? new StaleError(CHANGED) : error;
      }
    };
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
  async saveUnlessStale(
    context: DocumentRegistry.IContext<INotebookModel>,
    save: () => Promise<void>
  ): Promise<boolean> {
    const internals = context as Internals;
    const { path } = context;
    this._expected.set(path, () => context.contentsModel?.hash);
    if (typeof internals._raiseConflict === 'function') {
      internals._raiseConflict = () => Promise.reject(new StaleError(CHANGED));
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
      this._expected.delete(path);
      delete internals._raiseConflict;
    }
  }

  private readonly _expected = new Map<string, () => string | undefined>();
}

/**
 * The socket by which events come, or null if it is not to be seen.
 *
 * The event manager keeps it to itself and has no signal for a new one.
 */
export function socketOf(events: Event.IManager): WebSocket | null {
  return (events as { _socket?: WebSocket | null })._socket ?? null;
}
