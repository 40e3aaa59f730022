import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg, redoIcon, undoIcon } from '@jupyterlab/ui-components';
import { describeError } from '../notify/wording';
import { isUndoCancelled } from '../server/client';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { cleanName } from '../ui/displayText';
import { CONNECT } from '../ui/commands';
import { historyIcon } from '../ui/icons';
import { requireUserGesture } from '../ui/userGesture';
import { HistoryModel } from './historyModel';
import { HistoryPanel } from './historyPanel';
import { NotebookNavigator } from './notebookNavigator';
import { describeUndoError, describeUndoReply } from './wording';

const SHOW = 'nbedit:show-history';
const SHOW_CELL = 'nbedit:show-cell-history';
const UNDO = 'nbedit:undo-last';
const REDO = 'nbedit:redo-last';
const FORGET = 'nbedit:forget-history';

/** How long a toast about an action of the user is shown, in milliseconds. */
const TOAST_TIME = 3000;

export const historyPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:history',
  description: 'Shows the history of edits, and takes them back.',
  autoStart: true,
  requires: [INbEditServices, INotebookTracker, IDocumentManager],
  optional: [ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    services: NbEditServices,
    tracker: INotebookTracker,
    documents: IDocumentManager,
    restorer: ILayoutRestorer | null
  ) => {
    const { fileChanges, right, server, trans } = services;
    const { commands, shell } = app;
    const model = new HistoryModel(server);
    const navigator = new NotebookNavigator(shell, tracker, documents);
    const menu = new MenuSvg({ commands });
    const panel = new HistoryPanel({
      services,
      model,
      navigator,
      openMenu: ({ right, bottom }) => menu.open(right, bottom, { horizontalAlignment: 'right' }),
      connectAgent: () => void commands.execute(CONNECT)
    });
    shell.add(panel, 'right', { rank: 850, type: 'Edit History' });
    restorer?.add(panel, panel.id);
    fileChanges.addListener({
      onFileChange: ({ path, editId, client }) => {
        // Saves by other programs are not in the history.
        if (editId !== null || client !== null) {
          panel.onEdit(path);
        }
      },
      onResync: () => panel.resync()
    });

    const canChange = right.restrict(() => navigator.currentPath !== null);
    commands.addCommand(SHOW, {
      label: trans.__('Show Edit History'),
      caption: trans.__('Show who edited this notebook, and what'),
      icon: historyIcon,
      execute: () => shell.activateById(panel.id)
    });
    commands.addCommand(SHOW_CELL, {
      label: trans.__('Show Edit History of This Cell'),
      caption: trans.__('Show who edited this cell, and what'),
      icon: historyIcon,
      isEnabled: () => navigator.currentCell !== null,
      execute: () => {
        const { currentCell: cell, currentPath: path } = navigator;
        if (cell !== null && path !== null) {
          shell.activateById(panel.id);
          panel.showCellHistory(path, cell, trans.__('Cell %1', cell.position));
        }
      }
    });
    commands.addCommand(UNDO, {
      label: trans.__('Undo Last Agent Edit'),
      caption: trans.__('Undo the last edit of this notebook that an agent made'),
      icon: undoIcon,
      isEnabled: canChange,
      execute: requireUserGesture(async () => undoOrRedo('undo'))
    });
    commands.addCommand(REDO, {
      label: trans.__('Redo Last Agent Edit'),
      caption: trans.__('Redo the edit that was undone last'),
      icon: redoIcon,
      isEnabled: canChange,
      execute: requireUserGesture(async () => undoOrRedo('redo'))
    });
    commands.addCommand(FORGET, {
      label: trans.__('Forget the Edit History of This Notebook…'),
      isEnabled: canChange,
      execute: async () => {
        const path = navigator.currentPath;
        if (path !== null && (await confirmForget(path, trans))) {
          try {
            await server.purgeHistory(path);
          } catch (error) {
            Notification.error(describeError(error, trans), { autoClose: false });
          }
          await model.refresh();
        }
      }
    });
    [UNDO, REDO].forEach(command => menu.addItem({ command }));
    menu.addItem({ type: 'separator' });
    menu.addItem({ command: FORGET });
    services.addToPalette(SHOW, SHOW_CELL, UNDO, REDO, FORGET);

    const undoOrRedo = async (command: 'undo' | 'redo'): Promise<void> => {
      const path = navigator.currentPath;
      if (path === null) {
        return;
      }
      try {
        const reply = await server[command](path, undefined, { whose: 'all' });
        Notification.success(describeUndoReply(reply, command, trans), { autoClose: TOAST_TIME });
      } catch (error) {
        if (isUndoCancelled(error)) {
          return;
        }
        Notification.warning(describeUndoError(error, command, trans).join(' '), {
          autoClose: false,
          actions: [
            { label: trans.__('Show History'), callback: () => void commands.execute(SHOW) }
          ]
        });
      }
    };
  }
};

async function confirmForget(path: string, trans: TranslationBundle): Promise<boolean> {
  const { button } = await showDialog({
    title: trans.__('Forget the edit history?'),
    body: trans.__(
      'The history of %1 is deleted. The notebook does not change, but its earlier edits cannot be undone any more.',
      cleanName(path)
    ),
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Forget') })]
  });
  return button.accept;
}
