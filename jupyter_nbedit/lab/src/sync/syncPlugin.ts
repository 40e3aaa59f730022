import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry, IDocumentWidget } from '@jupyterlab/docregistry';
import { IEditorTracker, type FileEditor } from '@jupyterlab/fileeditor';
import { INotebookTracker, type INotebookModel, type NotebookPanel } from '@jupyterlab/notebook';
import { INotebookBlocks } from '../blocks/blocksPlugin';
import type { FileChange, FileProblem } from '../server/fileChanges';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { forEachPanel } from '../ui/panelMap';
import { NotebookFile } from './diskVersion';
import { ConditionalSaves } from './jupyterlabInternals';
import { NotebookSync } from './notebookSync';
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
  requires: [INbEditServices, INotebookTracker, INotebookBlocks],
  optional: [IDocumentManager],
  activate: (
    app: JupyterFrontEnd,
    services: NbEditServices,
    tracker: INotebookTracker,
    blocks: INotebookBlocks,
    documents: IDocumentManager | null
  ) => {
    const { fileChanges, server, tabs } = services;
    const { contents } = app.serviceManager;
    const saves = new ConditionalSaves(contents);
    const running = new RunningCells();
    const file = new NotebookFile(contents, server);
    const autosaveInterval = (): number | null =>
      documents?.autosave === true ? documents.autosaveInterval * 1000 : null;
    const buildViews = (context: DocumentRegistry.IContext<INotebookModel>): NotebookViews =>
      new NotebookViews(
        () => tracker.filter(panel => panel.context === context),
        {
          reveal: panel => app.shell.activateById(panel.id),
          isCurrent: panel => app.shell.currentWidget === panel
        },
        blocks,
        services
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
        const tab = tabs.open(context.localPath);
        const parts = { file, saves, running, tab, views, autosaveInterval };
        entry = { views, sync: new Kind(context, services, parts) };
        openDocuments.set(context, entry);
        context.pathChanged.connect(() => tab.setPath(context.localPath));
        context.disposed.connect(() => {
          openDocuments.delete(context);
          tabs.close(tab);
        });
      }
      entry.views.addPanel(panel);
    };
    forEachPanel(tracker, addPanel);
    const listSyncs = (path: string): DocumentSync[] =>
      [...openDocuments].flatMap(([context, { sync }]) =>
        context.localPath === path ? [sync] : []
      );
    const requestSyncs = (): void => openDocuments.forEach(({ sync }) => sync.requestSync?.());
    fileChanges.addListener({
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
  requires: [INbEditServices, IEditorTracker],
  activate: (
    app: JupyterFrontEnd,
    { fileChanges, trans }: NbEditServices,
    tracker: IEditorTracker
  ) => {
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
    fileChanges.addListener({
      onFileChange: ({ path }) => {
        for (const [context, sync] of syncs) {
          if (context.localPath === path) {
            sync.requestSync();
          }
        }
      },
      onResync: requestSyncs,
      onCheck: requestSyncs
    });
  }
};
