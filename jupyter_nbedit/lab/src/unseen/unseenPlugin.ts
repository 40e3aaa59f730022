import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { INotebookBlocks } from '../blocks/blocksPlugin';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { PanelMap } from '../ui/panelMap';
import { requireUserGesture } from '../ui/userGesture';
import { UnseenBlocks } from './unseenBlocks';

const KEEP_ALL = 'nbedit:keep-all';
const UNDO_ALL = 'nbedit:undo-all';

export const unseenPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:unseen',
  description: 'Shows at cells what edits have changed, to be kept or undone.',
  autoStart: true,
  requires: [INbEditServices, INotebookTracker, INotebookBlocks],
  activate: (
    { commands }: JupyterFrontEnd,
    services: NbEditServices,
    tracker: INotebookTracker,
    blocks: INotebookBlocks
  ) => {
    const { right, trans, unseen } = services;
    const unseenBlocks = new PanelMap(
      tracker,
      panel => new UnseenBlocks(blocks.get(panel), services)
    );
    const isEnabled = right.restrict(() => (unseenBlocks.current?.count ?? 0) > 0);
    commands.addCommand(KEEP_ALL, {
      label: trans.__('Keep All Changes of This Notebook'),
      caption: trans.__('Mark everything that agents have changed as seen'),
      isEnabled,
      execute: requireUserGesture(() => unseenBlocks.current?.keepAll())
    });
    commands.addCommand(UNDO_ALL, {
      label: trans.__('Undo All Changes of This Notebook'),
      caption: trans.__('Return all cells to what they were when you last kept them'),
      isEnabled,
      execute: requireUserGesture(() => unseenBlocks.current?.undoAll())
    });
    services.addToPalette(KEEP_ALL, UNDO_ALL);
    unseen.changed.connect(() => commands.notifyCommandChanged());
  }
};
