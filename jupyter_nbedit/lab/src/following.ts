import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry, IDocumentWidget } from '@jupyterlab/docregistry';
import { IEditorTracker, type FileEditor } from '@jupyterlab/fileeditor';
import { INotebookTracker, type INotebookModel, type NotebookPanel } from '@jupyterlab/notebook';
import { ExpectantSaves } from './accept';
import type { FileChange, FileFeed } from './events';
import { IFileFeed } from './feed';
import { RoomNotebook } from './room';
import { RunningCells } from './running';
import { NotebookSync, type Surroundings } from './sync';
import { TextFileSync } from './textfile';
import { Views } from './views';

/** Whatever an open notebook does when its file changes. */
interface Follower {
  /** Hear that the file is said to have changed. */
  heard(change: FileChange): void;
  /** Look at the disk soon; not for notebooks to which all changes come by themselves. */
  request?(): void;
}

export const notebooks: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:notebooks',
  description: 'Open notebooks follow edits made to their files.',
  autoStart: true,
  requires: [IFileFeed, INotebookTracker],
  optional: [IDocumentManager],
  activate: (
    app: JupyterFrontEnd,
    files: FileFeed,
    tracker: INotebookTracker,
    documents: IDocumentManager | null
  ) => {
    const { contents } = app.serviceManager;
    const saves = new ExpectantSaves(contents);
    const running = new RunningCells();
    const around = (context: DocumentRegistry.IContext<INotebookModel>): Surroundings => ({
      contents,
      saves,
      running,
      views: new Views(
        () => tracker.filter(panel => panel.context === context),
        panel => app.shell.activateById(panel.id)
      ),
      autosaveInterval: () =>
        documents?.autosave === true ? documents.autosaveInterval * 1000 : null
    });
    const opened = new Map<DocumentRegistry.IContext<INotebookModel>, Follower>();
    const follow = ({ context }: NotebookPanel): void => {
      if (!opened.has(context)) {
        const Kind = context.model.collaborative ? RoomNotebook : NotebookSync;
        opened.set(context, new Kind(context, around(context)));
        context.disposed.connect(() => opened.delete(context));
      }
    };
    tracker.forEach(follow);
    tracker.widgetAdded.connect((_, panel) => follow(panel));
    files.listen({
      changed: change => {
        for (const [context, follower] of opened) {
          if (contents.localPath(context.path) === change.path) {
            follower.heard(change);
          }
        }
      },
      mayHaveChanged: () => opened.forEach(follower => follower.request?.())
    });
  }
};

export const textFiles: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:text-files',
  description: 'Open text files without unsaved changes follow edits made to their files.',
  autoStart: true,
  requires: [IFileFeed, IEditorTracker],
  activate: (app: JupyterFrontEnd, files: FileFeed, tracker: IEditorTracker) => {
    const { contents } = app.serviceManager;
    const syncs = new Map<DocumentRegistry.Context, TextFileSync>();
    const follow = ({ context }: IDocumentWidget<FileEditor>): void => {
      if (!syncs.has(context) && !context.model.collaborative) {
        const editors = (): FileEditor[] =>
          tracker.filter(widget => widget.context === context).map(({ content }) => content);
        syncs.set(context, new TextFileSync(context, contents, editors));
        context.disposed.connect(() => syncs.delete(context));
      }
    };
    tracker.forEach(follow);
    tracker.widgetAdded.connect((_, widget) => follow(widget));
    files.listen({
      changed: ({ path }) => {
        for (const [context, sync] of syncs) {
          if (contents.localPath(context.path) === path) {
            sync.request();
          }
        }
      },
      mayHaveChanged: () => syncs.forEach(sync => sync.request())
    });
  }
};
