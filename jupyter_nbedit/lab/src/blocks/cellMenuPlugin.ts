import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { requireUserGesture } from '../ui/userGesture';
import { INotebookBlocks } from './blocksPlugin';
import type { BlockEntry, NotebookBlocks } from './notebookBlocks';

/** The ids of the commands; the context menu of cells in `schema/plugin.json` has the same ids. */
const COMMANDS = {
  show: 'nbedit:show-change',
  keep: 'nbedit:keep-cell',
  undo: 'nbedit:undo-cell'
} as const;

export const cellMenuPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:cell-menu',
  description: 'Lets the user decide on what waits at the active cell, from its context menu.',
  autoStart: true,
  requires: [INbEditServices, INotebookTracker, INotebookBlocks],
  activate: (
    { commands }: JupyterFrontEnd,
    services: NbEditServices,
    tracker: INotebookTracker,
    blocks: INotebookBlocks
  ) => {
    const { right, trans } = services;
    const find = (): { readonly notebook: NotebookBlocks; readonly entry: BlockEntry } | null => {
      const panel = tracker.currentWidget;
      if (panel === null) {
        return null;
      }
      const notebook = blocks.get(panel);
      const index = panel.content.activeCellIndex;
      const entry = notebook.entries.find(
        ({ position, isAboutCell }) => isAboutCell && position.cell === index
      );
      return entry === undefined ? null : { notebook, entry };
    };
    const show = async (): Promise<NotebookBlocks | undefined> => {
      const found = find();
      await found?.notebook.goToEntry(found.entry.key);
      return found?.notebook;
    };
    // Elsewhere these entries would only lengthen the menu.
    const isVisible = (): boolean => find() !== null;
    const mayChange = right.restrict(isVisible);
    const canDecide = (): boolean => mayChange() || find()?.entry.isLocal === true;

    commands.addCommand(COMMANDS.show, {
      label: trans.__('Show What Changed'),
      caption: trans.__('Show the change of the active cell, before and after'),
      isVisible,
      execute: async () => {
        await show();
      }
    });
    commands.addCommand(COMMANDS.keep, {
      label: () => find()?.entry.commandLabels?.[0] ?? trans.__('Keep or Accept This Change'),
      caption: trans.__('Keep the change of the active cell, or accept what is proposed for it'),
      isVisible: canDecide,
      isEnabled: canDecide,
      execute: requireUserGesture(async () => (await show())?.runAction('accept'))
    });
    commands.addCommand(COMMANDS.undo, {
      label: () => find()?.entry.commandLabels?.[1] ?? trans.__('Undo or Reject This Change'),
      caption: trans.__('Undo the change of the active cell, or reject what is proposed for it'),
      isVisible: canDecide,
      isEnabled: canDecide,
      execute: requireUserGesture(async () => (await show())?.runAction('reject'))
    });
    services.addToPalette(...Object.values(COMMANDS));
  }
};
