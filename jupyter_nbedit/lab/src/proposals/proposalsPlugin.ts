import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { BLOCK_COMMANDS, INotebookBlocks } from '../blocks/blocksPlugin';
import { drawCellDiff } from '../blocks/cellDiffView';
import type { Proposal } from '../server/models';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { reviewIcon } from '../ui/icons';
import { PanelMap } from '../ui/panelMap';
import { requireUserGesture } from '../ui/userGesture';
import { ProposalBlocks } from './proposalBlocks';
import { ProposalList } from './proposalList';

/** The ids of the commands; all of them are in the palette. */
export const COMMANDS = {
  review: 'nbedit:review-proposals',
  next: 'nbedit:next-proposal',
  acceptAll: 'nbedit:accept-proposals',
  rejectAll: 'nbedit:reject-proposals',
  undo: 'nbedit:undo-decision'
} as const;

/** JupyterLab's command that shows new files in the file browser. */
const REFRESH_FILES = 'filebrowser:refresh';

/** The language of code in a new notebook that does not name one. */
const DEFAULT_LANGUAGE = 'text/x-python';

export const proposalsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:proposals',
  description: 'Shows proposed changes at their cells, to be accepted or rejected.',
  autoStart: true,
  requires: [INbEditServices, INotebookTracker, INotebookBlocks],
  optional: [ILayoutRestorer],
  activate: (
    { commands, shell }: JupyterFrontEnd,
    services: NbEditServices,
    tracker: INotebookTracker,
    blocks: INotebookBlocks,
    restorer: ILayoutRestorer | null
  ) => {
    const { proposals, right, trans } = services;
    const reviews = new PanelMap(tracker, panel => new ProposalBlocks(blocks.get(panel), services));

    const openNotebook = ({ path }: Proposal): void => {
      void commands.execute('docmanager:open', { path, factory: 'Notebook' });
    };
    const showNewNotebook = (proposal: Proposal): void => {
      if (commands.hasCommand(REFRESH_FILES)) {
        void commands.execute(REFRESH_FILES);
      }
      openNotebook(proposal);
    };
    const list = new ProposalList(services, {
      open: openNotebook,
      showNew: showNewNotebook,
      draw: (part, { language }) => drawCellDiff(part, language ?? DEFAULT_LANGUAGE, services)
    });
    list.id = 'jp-nbedit-proposals';
    list.title.icon = reviewIcon;
    list.title.caption = trans.__('Proposed Changes');
    restorer?.add(list, list.id);

    const isEnabled = (): boolean => (reviews.current?.count ?? 0) > 0;
    const canDecide = right.restrict(isEnabled);
    commands.addCommand(COMMANDS.review, {
      label: trans.__('Review Proposals'),
      caption: trans.__('List all changes that are proposed'),
      execute: () => {
        if (!list.isAttached) {
          shell.add(list, 'right', { rank: 1000 });
        }
        shell.activateById(list.id);
      }
    });
    commands.addCommand(COMMANDS.next, {
      label: trans.__('Go to Next Proposed Change'),
      isEnabled,
      execute: () => commands.execute(BLOCK_COMMANDS.next)
    });
    commands.addCommand(COMMANDS.acceptAll, {
      label: trans.__('Accept All Proposed Changes of This Notebook'),
      isEnabled: canDecide,
      execute: requireUserGesture(() => reviews.current?.decideAll(true))
    });
    commands.addCommand(COMMANDS.rejectAll, {
      label: trans.__('Reject All Proposed Changes of This Notebook'),
      isEnabled: canDecide,
      execute: requireUserGesture(() => reviews.current?.decideAll(false))
    });
    commands.addCommand(COMMANDS.undo, {
      label: trans.__('Undo the Last Accept or Reject'),
      caption: trans.__('Undo what was decided last on changes proposed for this notebook'),
      isEnabled: right.restrict(() => reviews.current?.canUndo ?? false),
      execute: requireUserGesture(() => reviews.current?.undoDecision())
    });
    services.addToPalette(...Object.values(COMMANDS));
    proposals.changed.connect(() => commands.notifyCommandChanged());
  }
};
