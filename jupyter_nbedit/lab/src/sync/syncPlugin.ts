import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry, IDocumentWidget } from '@jupyterlab/docregistry';
import { IEditorTracker, type FileEditor } from '@jupyterlab/fileeditor';
import { INotebookTracker, type INotebookModel, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { INbEditSettings, type Settings } from '../notify/settings';
import { Refusal, Server } from '../server/client';
import { IFileFeed, type FileChange, type FileFeed } from '../server/fileChanges';
import { OpenTabs, type OpenTab } from '../server/tabReports';
import { ExpectantSaves } from './jupyterlabInternals';
import { NotebookSync, type Surroundings } from './notebookSync';
import { Views } from './notebookViews';
import { RoomNotebook } from './roomNotebook';
import { RunningCells } from './runningCells';
import { TextFileSync } from './textFileSync';

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
  requires: [IFileFeed, INotebookTracker, INbEditSettings],
  optional: [IDocumentManager, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    files: FileFeed,
    tracker: INotebookTracker,
    settings: Settings,
    documents: IDocumentManager | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const { contents } = app.serviceManager;
    const saves = new ExpectantSaves(contents);
    const running = new RunningCells();
    const { serverSettings } = app.serviceManager;
    const server = new Server(serverSettings);
    const tabs = new OpenTabs(serverSettings, async () => isThere(server));
    const around = (views: Views, tab: OpenTab): Surroundings => ({
      contents,
      saves,
      running,
      tab,
      views,
      settings,
      trans,
      undo: (path, edit) => server.undo(contents.localPath(path), edit),
      findUndone: async (path, edit) => {
        const { edits } = await server.history(contents.localPath(path), edit + 1, 1);
        return edits.find(({ edit_id }) => edit_id === edit)?.undoes ?? null;
      },
      autosaveInterval: () =>
        documents?.autosave === true ? documents.autosaveInterval * 1000 : null
    });
    const viewsOf = (context: DocumentRegistry.IContext<INotebookModel>): Views =>
      new Views(
        () => tracker.filter(panel => panel.context === context),
        {
          reveal: panel => app.shell.activateById(panel.id),
          isCurrent: panel => app.shell.currentWidget === panel
        },
        settings,
        trans
      );
    const opened = new Map<
      DocumentRegistry.IContext<INotebookModel>,
      { readonly follower: Follower; readonly views: Views }
    >();
    const follow = (panel: NotebookPanel): void => {
      const { context } = panel;
      let known = opened.get(context);
      if (known === undefined) {
        const views = viewsOf(context);
        const Kind = context.model.collaborative ? RoomNotebook : NotebookSync;
        const tab = tabs.open(contents.localPath(context.path));
        known = { views, follower: new Kind(context, around(views, tab)) };
        opened.set(context, known);
        context.pathChanged.connect((_, path) => tab.moved(contents.localPath(path)));
        context.disposed.connect(() => {
          opened.delete(context);
          tabs.close(tab);
          views.dispose();
        });
      }
      known.views.add(panel);
    };
    tracker.forEach(follow);
    tracker.widgetAdded.connect((_, panel) => follow(panel));
    files.listen({
      changed: change => {
        for (const [context, { follower }] of opened) {
          if (contents.localPath(context.path) === change.path) {
            follower.heard(change);
          }
        }
      },
      mayHaveChanged: () => opened.forEach(({ follower }) => follower.request?.())
    });
  }
};

export const textFiles: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:text-files',
  description: 'Open text files without unsaved changes follow edits made to their files.',
  autoStart: true,
  requires: [IFileFeed, IEditorTracker],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    files: FileFeed,
    tracker: IEditorTracker,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const { contents } = app.serviceManager;
    const syncs = new Map<DocumentRegistry.Context, TextFileSync>();
    const follow = ({ context }: IDocumentWidget<FileEditor>): void => {
      if (!syncs.has(context) && !context.model.collaborative) {
        const editors = (): FileEditor[] =>
          tracker.filter(widget => widget.context === context).map(({ content }) => content);
        syncs.set(context, new TextFileSync(context, contents, editors, trans));
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

/** Whether the server has our routes; a server that does not answer may have them. */
async function isThere(server: Server): Promise<boolean> {
  try {
    await server.about();
    return true;
  } catch (error) {
    return !(error instanceof Refusal && error.status === 404);
  }
}
