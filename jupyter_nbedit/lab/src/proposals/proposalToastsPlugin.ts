import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { BLOCK_COMMANDS, INotebookBlocks } from '../blocks/blocksPlugin';
import type { BlockEntry } from '../blocks/notebookBlocks';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { describeError } from '../notify/wording';
import type { Proposal } from '../server/models';
import { isCellVisible } from '../ui/viewport';
import { isAboutOneNotebook, listPendingParts } from '../server/proposalModel';
import { getPartKey } from './proposalPartView';
import { ProposalToasts } from './proposalToasts';
import { COMMANDS } from './proposalsPlugin';

export const proposalToastsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:proposal-toasts',
  description: 'Tells the user of proposed changes.',
  autoStart: true,
  requires: [INbEditServices, INotebookTracker, INotebookBlocks],
  activate: (
    { commands, restored, shell }: JupyterFrontEnd,
    { proposals: model, settings, trans }: NbEditServices,
    tracker: INotebookTracker,
    notebookBlocks: INotebookBlocks
  ) => {
    /** Return the entry of the first change of these proposals in a view of their notebook. */
    const findFirstEntry = (
      panel: NotebookPanel,
      proposals: readonly Proposal[]
    ): BlockEntry | undefined => {
      const keys = new Set(
        proposals.flatMap(proposal =>
          listPendingParts(proposal).map(part => getPartKey({ proposal, part }))
        )
      );
      const blocks = notebookBlocks.get(panel);
      blocks.update();
      return blocks.entries.find(({ key }) => keys.has(key));
    };
    const isFirstInSight = (panel: NotebookPanel, proposals: readonly Proposal[]): boolean => {
      const entry = findFirstEntry(panel, proposals);
      const cell = panel.content.widgets[entry?.position.cell ?? -1];
      return cell !== undefined && isCellVisible(panel.content, cell.node);
    };
    const shouldAnnounce = (proposals: readonly Proposal[]): boolean => {
      const { toasts } = settings.current;
      const panels = isAboutOneNotebook(proposals)
        ? tracker.filter(({ context }) => context.localPath === proposals[0]?.path)
        : [];
      const isPageVisible = document.visibilityState === 'visible';
      const front = panels.find(panel => panel === shell.currentWidget);
      if (front !== undefined && isPageVisible && isFirstInSight(front, proposals)) {
        return false;
      }
      const isVisible = isPageVisible && panels.some(panel => panel.isVisible);
      return toasts === 'all' || (toasts === 'background' && !isVisible);
    };
    const review = async (proposals: readonly Proposal[]): Promise<void> => {
      if (!isAboutOneNotebook(proposals)) {
        await commands.execute(COMMANDS.review);
        return;
      }
      const panel = (await commands.execute('docmanager:open', {
        path: proposals[0]?.path,
        factory: 'Notebook'
      })) as NotebookPanel;
      shell.activateById(panel.id);
      await panel.context.ready;
      await panel.revealed;
      const entry = findFirstEntry(panel, proposals);
      await (entry === undefined
        ? commands.execute(BLOCK_COMMANDS.next)
        : notebookBlocks.get(panel).goToEntry(entry.key));
    };
    // Such as if the notebook was deleted.
    const showError = (error: unknown): void => {
      Notification.error(describeError(error, trans), { autoClose: false });
    };
    // Before that, the notebooks of the last session are not open.
    void restored.then(
      () =>
        new ProposalToasts(
          model,
          { shouldAnnounce, review: all => void review(all).catch(showError) },
          trans
        )
    );
  }
};
