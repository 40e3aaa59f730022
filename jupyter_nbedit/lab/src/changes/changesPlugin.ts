import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { INotebookBlocks } from '../blocks/blocksPlugin';
import { INbEditSettings, type Settings } from '../notify/settings';
import { NbEditClient } from '../server/client';
import { IOpenPage } from '../server/openPage';
import type { TabConnection } from '../server/tabReports';
import { IUnseenModel, type UnseenModel } from '../server/unseenModel';
import { IWriteRight, type WriteRight } from '../server/writeRight';
import { requireUserGesture } from '../ui/userGesture';
import { NotebookChanges } from './notebookChanges';

const KEEP_ALL = 'nbedit:keep-all';
const UNDO_ALL = 'nbedit:undo-all';

export const changesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:changes',
  description: 'Shows at cells what edits have changed, to be kept or undone.',
  autoStart: true,
  requires: [
    IUnseenModel,
    IWriteRight,
    IOpenPage,
    INotebookTracker,
    INotebookBlocks,
    INbEditSettings,
    IEditorLanguageRegistry
  ],
  optional: [IEditorThemeRegistry, ICommandPalette, ITranslator],
  activate: (
    { commands, serviceManager }: JupyterFrontEnd,
    unseen: UnseenModel,
    right: WriteRight,
    page: TabConnection,
    tracker: INotebookTracker,
    blocks: INotebookBlocks,
    settings: Settings,
    languages: IEditorLanguageRegistry,
    themes: IEditorThemeRegistry | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const { contents, serverSettings } = serviceManager;
    const client = new NbEditClient(serverSettings, page);
    const changesByPanel = new Map<NotebookPanel, NotebookChanges>();
    const addPanel = (panel: NotebookPanel): void => {
      const getPath = (): string => contents.localPath(panel.context.path);
      const services = {
        unseen,
        right,
        settings,
        getPath,
        undoEdit: (editId: number) => client.undo(getPath(), editId),
        languages,
        themes,
        trans
      };
      changesByPanel.set(panel, new NotebookChanges(blocks.get(panel), services));
      panel.disposed.connect(() => changesByPanel.delete(panel));
    };
    tracker.forEach(addPanel);
    tracker.widgetAdded.connect((_, panel) => addPanel(panel));

    const getCurrent = (): NotebookChanges | undefined => {
      const panel = tracker.currentWidget;
      return panel === null ? undefined : changesByPanel.get(panel);
    };
    const isEnabled = right.restrict(() => (getCurrent()?.count ?? 0) > 0);
    commands.addCommand(KEEP_ALL, {
      label: trans.__('Keep All Changes of This Notebook'),
      caption: trans.__('Mark everything that agents have changed as seen'),
      isEnabled,
      execute: requireUserGesture(() => getCurrent()?.keepAll())
    });
    commands.addCommand(UNDO_ALL, {
      label: trans.__('Undo All Changes of This Notebook'),
      caption: trans.__('Return all cells to what they were when you last kept them'),
      isEnabled,
      execute: requireUserGesture(() => getCurrent()?.undoAll())
    });
    const category = trans.__('Agent Edits');
    [KEEP_ALL, UNDO_ALL].forEach(command => palette?.addItem({ command, category }));
    unseen.changed.connect(() => commands.notifyCommandChanged());
  }
};
