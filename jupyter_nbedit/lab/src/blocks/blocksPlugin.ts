import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { Token } from '@lumino/coreutils';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { PanelMap } from '../ui/panelMap';
import { requireUserGesture } from '../ui/userGesture';
import { NotebookBlocks } from './notebookBlocks';

/** The ids of the commands. */
export const BLOCK_COMMANDS = {
  next: 'nbedit:next-change',
  previous: 'nbedit:previous-change',
  accept: 'nbedit:keep-or-accept',
  reject: 'nbedit:undo-or-reject'
} as const;

/** What waits for the user in each view of a notebook. */
export type INotebookBlocks = PanelMap<NotebookBlocks>;

export const INotebookBlocks = new Token<INotebookBlocks>(
  'jupyter-nbedit:INotebookBlocks',
  'What waits for the user at the cells of open notebooks.'
);

export const blocksPlugin: JupyterFrontEndPlugin<INotebookBlocks> = {
  id: 'jupyter-nbedit:blocks',
  description: 'Shows at cells what waits for the user.',
  autoStart: true,
  provides: INotebookBlocks,
  requires: [INbEditServices, INotebookTracker],
  activate: (
    { commands }: JupyterFrontEnd,
    services: NbEditServices,
    tracker: INotebookTracker
  ) => {
    const { right, trans } = services;
    const blocks = new PanelMap(tracker, panel => {
      const notebookBlocks = new NotebookBlocks(panel, commands, trans);
      notebookBlocks.changed.connect(() => commands.notifyCommandChanged());
      return notebookBlocks;
    });
    right.changed.connect(() => {
      blocks.forEach(({ requestUpdate }) => requestUpdate());
      commands.notifyCommandChanged();
    });
    const isEnabled = (): boolean => (blocks.current?.entries.length ?? 0) > 0;
    commands.addCommand(BLOCK_COMMANDS.next, {
      label: trans.__('Go to Next Change'),
      caption: trans.__('Go to the next change by an agent'),
      isEnabled,
      execute: () => blocks.current?.goTo('next')
    });
    commands.addCommand(BLOCK_COMMANDS.previous, {
      label: trans.__('Go to Previous Change'),
      caption: trans.__('Go to the previous change by an agent'),
      isEnabled,
      execute: () => blocks.current?.goTo('previous')
    });
    commands.addCommand(BLOCK_COMMANDS.accept, {
      label: trans.__('Keep or Accept the Change'),
      caption: trans.__('Keep or accept the change in which the focus is'),
      isEnabled: () => blocks.current?.hasAction('accept') ?? false,
      execute: requireUserGesture(() => blocks.current?.runAction('accept'))
    });
    commands.addCommand(BLOCK_COMMANDS.reject, {
      label: trans.__('Undo or Reject the Change'),
      caption: trans.__('Undo or reject the change in which the focus is'),
      isEnabled: () => blocks.current?.hasAction('reject') ?? false,
      execute: requireUserGesture(() => blocks.current?.runAction('reject'))
    });
    services.addToPalette(BLOCK_COMMANDS.next, BLOCK_COMMANDS.previous);
    return blocks;
  }
};
