import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry, IDocumentWidget } from '@jupyterlab/docregistry';
import { IEditorTracker, type FileEditor } from '@jupyterlab/fileeditor';
import { INotebookTracker, type INotebookModel, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { INotebookBlocks } from '../blocks/blocksPlugin';
import { INbEditSettings, type Settings } from '../notify/settings';
import { NbEditClient } from '../server/client';
import {
  IFileChangeFeed,
  type FileChange,
  type FileChangeFeed,
  type FileProblem
} from '../server/fileChanges';
import { IOpenPage } from '../server/openPage';
import type { OpenTab, TabConnection } from '../server/tabReports';
import { IUnseenModel, type UnseenModel } from '../server/unseenModel';
import { IWriteRight, type WriteRight } from '../server/writeRight';
import { NotebookFile } from './diskVersion';
import { ConditionalSaves } from './jupyterlabInternals';
import { NotebookSync, type SyncServices } from './notebookSync';
import { NotebookViews } from './notebookViews';
import { RoomNotebook } from './roomNotebook';
import { RunningCells } from './runningCells';
import { TextFileSync } from './textFileSync';

/** Keeps an open document in sync with its file. */
interface DocumentSync {
  /** Handle a reported change of the file. */
  onFileChange(change: FileChange): void;
  /** Handle that the file is missing or unreadable; not for notebooks in rooms. */
  onFileProblem?(problem: FileProblem): void;
  /** Schedule a sync with the disk; not for notebooks that a room keeps in sync. */
  requestSync?(): void;
}

export const notebookSyncPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:notebooks',
  description: 'Open notebooks follow edits made to their files.',
  autoStart: true,
  requires: [
    IFileChangeFeed,
    INotebookTracker,
    INotebookBlocks,
    INbEditSettings,
    IWriteRight,
    IOpenPage,
    IEditorLanguageRegistry
  ],
  optional: [IEditorThemeRegistry, IUnseenModel, IDocumentManager, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    files: FileChangeFeed,
    tracker: INotebookTracker,
    blocks: INotebookBlocks,
    settings: Settings,
    right: WriteRight,
    tabs: TabConnection,
    languages: IEditorLanguageRegistry,
    themes: IEditorThemeRegistry | null,
    unseen: UnseenModel | null,
    documents: IDocumentManager | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const { contents } = app.serviceManager;
    const saves = new ConditionalSaves(contents);
    const running = new RunningCells();
    const { serverSettings } = app.serviceManager;
    const server = new NbEditClient(serverSettings, tabs);
    const buildServices = (views: NotebookViews, tab: OpenTab): Omit<SyncServices, 'getPath'> => ({
      file: new NotebookFile(contents, server),
      saves,
      running,
      tab,
      views,
      settings,
      trans,
      undo: (path, edit) => server.undo(contents.localPath(path), edit),
      unseen,
      right,
      autosaveInterval: () =>
        documents?.autosave === true ? documents.autosaveInterval * 1000 : null
    });
    const buildViews = (context: DocumentRegistry.IContext<INotebookModel>): NotebookViews =>
      new NotebookViews(
        () => tracker.filter(panel => panel.context === context),
        {
          reveal: panel => app.shell.activateById(panel.id),
          isCurrent: panel => app.shell.currentWidget === panel
        },
        settings,
        panel => blocks.get(panel),
        { languages, themes, trans }
      );
    const openDocuments = new Map<
      DocumentRegistry.IContext<INotebookModel>,
      { readonly sync: DocumentSync; readonly views: NotebookViews }
    >();
    const addPanel = (panel: NotebookPanel): void => {
      const { context } = panel;
      let entry = openDocuments.get(context);
      if (entry === undefined) {
        const views = buildViews(context);
        const Kind = context.model.collaborative ? RoomNotebook : NotebookSync;
        const tab = tabs.open(contents.localPath(context.path));
        const getPath = (): string => contents.localPath(context.path);
        entry = { views, sync: new Kind(context, { ...buildServices(views, tab), getPath }) };
        openDocuments.set(context, entry);
        context.pathChanged.connect((_, path) => tab.setPath(contents.localPath(path)));
        context.disposed.connect(() => {
          openDocuments.delete(context);
          tabs.close(tab);
        });
      }
      entry.views.addPanel(panel);
    };
    tracker.forEach(addPanel);
    tracker.widgetAdded.connect((_, panel) => addPanel(panel));
    const listSyncs = (path: string): DocumentSync[] =>
      [...openDocuments].flatMap(([context, { sync }]) =>
        contents.localPath(context.path) === path ? [sync] : []
      );
    const requestSyncs = (): void => openDocuments.forEach(({ sync }) => sync.requestSync?.());
    files.addListener({
      onFileChange: change => listSyncs(change.path).forEach(sync => sync.onFileChange(change)),
      onFileProblem: problem =>
        listSyncs(problem.path).forEach(sync => sync.onFileProblem?.(problem)),
      onResync: requestSyncs,
      onCheck: requestSyncs
    });
  }
};

export const textFileSyncPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:text-files',
  description: 'Open text files without unsaved changes follow edits made to their files.',
  autoStart: true,
  requires: [IFileChangeFeed, IEditorTracker],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    files: FileChangeFeed,
    tracker: IEditorTracker,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const { contents } = app.serviceManager;
    const syncs = new Map<DocumentRegistry.Context, TextFileSync>();
    const addWidget = ({ context }: IDocumentWidget<FileEditor>): void => {
      if (!syncs.has(context) && !context.model.collaborative) {
        const editors = (): FileEditor[] =>
          tracker.filter(widget => widget.context === context).map(({ content }) => content);
        syncs.set(context, new TextFileSync(context, contents, editors, trans));
        context.disposed.connect(() => syncs.delete(context));
      }
    };
    tracker.forEach(addWidget);
    tracker.widgetAdded.connect((_, widget) => addWidget(widget));
    const requestSyncs = (): void => syncs.forEach(sync => sync.requestSync());
    files.addListener({
      onFileChange: ({ path }) => {
        for (const [context, sync] of syncs) {
          if (contents.localPath(context.path) === path) {
            sync.requestSync();
          }
        }
      },
      onResync: requestSyncs,
      onCheck: requestSyncs
    });
  }
};
