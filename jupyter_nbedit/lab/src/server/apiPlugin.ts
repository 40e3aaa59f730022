import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';
import { isLinked } from '../ui/userGesture';
import { INbEdit, type EditNotice, type EditOptions } from './api';
import { Server } from './client';
import { IFileFeed, type FileChange, type FileFeed } from './fileChanges';
import type { EditReply } from './models';

const EDIT = 'nbedit:edit';
const UNDO = 'nbedit:undo';

/** What the commands take, beside the options of an edit; names are those of the REST API. */
interface Given extends EditOptions {
  readonly path?: string;
  readonly operations?: readonly object[];
  readonly edit_id?: number;
}

const OPTIONS = {
  path: { type: 'string', description: 'The notebook; the current one, if not given.' },
  client: { type: 'string', description: 'What makes the edit.' },
  message: { type: 'string', description: 'Why it is made.' },
  hash: { type: 'string', description: 'The only version of the notebook the edit is for.' },
  dry_run: { type: 'boolean', description: 'Answer what would be, and write nothing.' },
  wait_tabs: { type: 'integer', description: 'How long to wait for open tabs, in milliseconds.' }
};

export const api: JupyterFrontEndPlugin<INbEdit> = {
  id: 'jupyter-nbedit:api',
  description: 'Edits notebooks for other extensions, and tells them of edits.',
  autoStart: true,
  requires: [IFileFeed],
  optional: [INotebookTracker, ITranslator],
  provides: INbEdit,
  activate: (
    { commands, serviceManager }: JupyterFrontEnd,
    files: FileFeed,
    tracker: INotebookTracker | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const edits = new Edits(new Server(serviceManager.serverSettings), files);
    const read = (args: ReadonlyPartialJSONObject): Given & { readonly path: string } => {
      if (isLinked()) {
        throw new Error(trans.__('What a document shows may not edit notebooks.'));
      }
      const { path, ...rest } = args as Given;
      const current = tracker?.currentWidget?.context.path;
      const meant = path ?? (current && serviceManager.contents.localPath(current));
      if (meant === undefined) {
        throw new Error(trans.__('Expected the path of a notebook; found none.'));
      }
      return { ...rest, path: meant };
    };
    commands.addCommand(EDIT, {
      label: trans.__('Edit Cells of a Notebook'),
      describedBy: {
        args: {
          type: 'object',
          properties: {
            ...OPTIONS,
            operations: { type: 'array', description: 'As in the body of a PATCH.' }
          },
          required: ['operations']
        }
      },
      execute: async args => {
        const { path, operations, ...options } = read(args);
        return edits.edit(path, operations ?? [], options);
      }
    });
    commands.addCommand(UNDO, {
      label: trans.__('Undo an Edit of a Notebook'),
      describedBy: {
        args: {
          type: 'object',
          properties: {
            ...OPTIONS,
            edit_id: { type: 'integer', description: 'The edit; the newest, if not given.' }
          }
        }
      },
      execute: async args => {
        const { path, edit_id, ...options } = read(args);
        return edits.undo(path, edit_id, options);
      }
    });
    return edits;
  }
};

class Edits implements INbEdit {
  constructor(
    private readonly _server: Server,
    files: FileFeed
  ) {
    files.listen({ changed: change => this._heard(change), mayHaveChanged: () => undefined });
  }

  get edited(): ISignal<INbEdit, EditNotice> {
    return this._edited;
  }

  async edit(
    path: string,
    operations: readonly object[],
    options: EditOptions = {}
  ): Promise<EditReply> {
    return this._server.patch(path, operations, options);
  }

  async undo(path: string, editId?: number, options: EditOptions = {}): Promise<EditReply> {
    return this._server.undo(path, editId, options);
  }

  private _heard({ path, edit, hash, client, done, isCut }: FileChange): void {
    // Without a hash it is what another program has saved.
    if (hash !== null) {
      const operations = done.map(({ op, cell, index }) => ({ op, cell_id: cell, index }));
      this._edited.emit({ path, edit_id: edit, hash, client, operations, truncated: isCut });
    }
  }

  private readonly _edited = new Signal<INbEdit, EditNotice>(this);
}
