import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import { IWriteRight, type WriteRight } from '../server/writeRight';
import { requireUserGesture } from '../ui/userGesture';
import { NotebookBlocks } from './notebookBlocks';

/** The ids of the commands. */
export const BLOCK_COMMANDS = {
  next: 'nbedit:next-change',
  previous: 'nbedit:previous-change',
  accept: 'nbedit:keep-or-accept',
  reject: 'nbedit:undo-or-reject'
} as const;

/** What waits for the user in the open notebooks. */
export interface INotebookBlocks {
  /** Return what waits in a view of a notebook. */
  get(panel: NotebookPanel): NotebookBlocks;
}

export const INotebookBlocks = new Token<INotebookBlocks>(
  'jupyter-nbedit:INotebookBlocks',
  'What waits for the user at the cells of open notebooks.'
);

export const blocksPlugin: JupyterFrontEndPlugin<INotebookBlocks> = {
  id: 'jupyter-nbedit:blocks',
  description: 'Shows at cells what waits for the user.',
  autoStart: true,
  provides: INotebookBlocks,
  requires: [INotebookTracker, IWriteRight],
  optional: [ICommandPalette, ITranslator],
  activate: (
    { commands }: JupyterFrontEnd,
    tracker: INotebookTracker,
    right: WriteRight,
    palette: ICommandPalette | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const blocksByPanel = new Map<NotebookPanel, NotebookBlocks>();
    const get = (panel: NotebookPanel): NotebookBlocks => {
      let blocks = blocksByPanel.get(panel);
      if (blocks === undefined) {
        blocks = new NotebookBlocks(panel, commands, trans);
        blocks.changed.connect(() => commands.notifyCommandChanged());
        blocksByPanel.set(panel, blocks);
        panel.disposed.connect(() => blocksByPanel.delete(panel));
      }
      return blocks;
    };
    right.changed.connect(() => {
      blocksByPanel.forEach(({ requestUpdate }) => requestUpdate());
      commands.notifyCommandChanged();
    });
    const getCurrent = (): NotebookBlocks | undefined => {
      const panel = tracker.currentWidget;
      return panel === null ? undefined : blocksByPanel.get(panel);
    };
    const isEnabled = (): boolean => (getCurrent()?.entries.length ?? 0) > 0;
    commands.addCommand(BLOCK_COMMANDS.next, {
      label: trans.__('Go to Next Change'),
      caption: trans.__('Go to the next change by an agent'),
      isEnabled,
      execute: () => getCurrent()?.goTo('next')
    });
    commands.addCommand(BLOCK_COMMANDS.previous, {
      label: trans.__('Go to Previous Change'),
      caption: trans.__('Go to the previous change by an agent'),
      isEnabled,
      execute: () => getCurrent()?.goTo('previous')
    });
    commands.addCommand(BLOCK_COMMANDS.accept, {
      label: trans.__('Keep or Accept the Change'),
      caption: trans.__('Keep or accept the change in which the focus is'),
      isEnabled: () => getCurrent()?.hasAction('accept') ?? false,
      execute: requireUserGesture(() => getCurrent()?.runAction('accept'))
    });
    commands.addCommand(BLOCK_COMMANDS.reject, {
      label: trans.__('Undo or Reject the Change'),
      caption: trans.__('Undo or reject the change in which the focus is'),
      isEnabled: () => getCurrent()?.hasAction('reject') ?? false,
      execute: requireUserGesture(() => getCurrent()?.runAction('reject'))
    });
    const category = trans.__('Agent Edits');
    for (const command of [BLOCK_COMMANDS.next, BLOCK_COMMANDS.previous]) {
      palette?.addItem({ command, category });
    }
    return { get };
  }
};
