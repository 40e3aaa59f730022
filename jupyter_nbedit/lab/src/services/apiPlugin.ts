import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';
import { INbEdit, type EditNotice, type EditOptions } from '../server/api';
import { NbEditClient } from '../server/client';
import type { FileChange, FileChangeEvents } from '../server/fileChanges';
import type { EditReply } from '../server/models';
import { isCommandLinkClick } from '../ui/userGesture';
import { INbEditServices, type NbEditServices } from './servicesPlugin';

const EDIT = 'nbedit:edit';
const UNDO = 'nbedit:undo';

/** Arguments of the commands besides the options of a change; names as in the REST API. */
interface CommandArguments extends EditOptions {
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

export const apiPlugin: JupyterFrontEndPlugin<INbEdit> = {
  id: 'jupyter-nbedit:api',
  description: 'Edits notebooks for other extensions, and tells them of edits.',
  autoStart: true,
  requires: [INbEditServices],
  optional: [INotebookTracker],
  provides: INbEdit,
  activate: (
    { commands, serviceManager }: JupyterFrontEnd,
    { fileChanges, trans }: NbEditServices,
    tracker: INotebookTracker | null
  ) => {
    // What other extensions ask for counts as a program's: it has no id of the page.
    const nbEdit = new NbEditAPI(new NbEditClient(serviceManager.serverSettings), fileChanges);
    const parseArguments = (
      args: ReadonlyPartialJSONObject
    ): CommandArguments & { readonly path: string } => {
      if (isCommandLinkClick()) {
        throw new Error(trans.__('The content of a document may not edit notebooks.'));
      }
      const { path, ...rest } = args as CommandArguments;
      const targetPath = path ?? tracker?.currentWidget?.context.localPath;
      if (targetPath === undefined) {
        throw new Error(trans.__('Expected the path of a notebook; found none.'));
      }
      return { ...rest, path: targetPath };
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
        const { path, operations, ...options } = parseArguments(args);
        return nbEdit.edit(path, operations ?? [], options);
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
        const { path, edit_id, ...options } = parseArguments(args);
        return nbEdit.undo(path, edit_id, options);
      }
    });
    return nbEdit;
  }
};

class NbEditAPI implements INbEdit {
  constructor(
    private readonly _client: NbEditClient,
    fileChanges: FileChangeEvents
  ) {
    fileChanges.addListener({ onFileChange: change => this._onFileChange(change) });
  }

  get edited(): ISignal<INbEdit, EditNotice> {
    return this._edited;
  }

  async edit(
    path: string,
    operations: readonly object[],
    options: EditOptions = {}
  ): Promise<EditReply> {
    return this._client.edit(path, operations, options);
  }

  async undo(path: string, editId?: number, options: EditOptions = {}): Promise<EditReply> {
    return this._client.undo(path, editId, options);
  }

  private _onFileChange({ path, editId, hash, client, operations, isTruncated }: FileChange): void {
    // A change without a hash was saved by another program.
    if (hash !== null) {
      this._edited.emit({
        path,
        edit_id: editId,
        hash,
        client,
        operations,
        truncated: isTruncated
      });
    }
  }

  private readonly _edited = new Signal<INbEdit, EditNotice>(this);
}
