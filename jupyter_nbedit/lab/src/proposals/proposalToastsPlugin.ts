import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { BLOCK_COMMANDS, INotebookBlocks } from '../blocks/blocksPlugin';
import type { BlockEntry } from '../blocks/notebookBlocks';
import { LiveToast, type ToastContent } from '../notify/liveToast';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { describeError } from '../notify/wording';
import type { Proposal } from '../server/models';
import { isCellVisible } from '../ui/viewport';
import { isAboutOneNotebook, listPendingParts, type ProposalModel } from '../server/proposalModel';
import { getPartKey } from './proposalPartView';
import { COMMANDS } from './proposalsPlugin';
import { describeAnnouncement } from './wording';

/** Maximum number of toasts for one agent and notebook each; all others share one more. */
const MAX_TOASTS = 5;

/** The key of the toast of all other proposals. */
const OTHERS = '';

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

/** What the toasts need from the application. */
interface ProposalToastHost {
  /** Return whether the user should be told of new proposals for a notebook. */
  shouldAnnounce(proposals: readonly Proposal[]): boolean;
  /** Open the notebook of these proposals and go to the first change, or list the proposals. */
  review(proposals: readonly Proposal[]): void;
}

/**
 * The toasts about pending proposals: a toast for each agent and notebook, and a toast for the
 * proposals that were pending when the page was loaded.
 */
class ProposalToasts {
  constructor(
    private readonly _model: ProposalModel,
    private readonly _host: ProposalToastHost,
    private readonly _trans: TranslationBundle
  ) {
    void _model.ready.then(() => {
      _model.pending.forEach(({ proposal_id: id }) => this._keys.set(id, OTHERS));
      this._announce(OTHERS, _model.pending);
      _model.changed.connect(() => this._update());
    });
  }

  /** Announce new proposals, and remove what is decided from the toasts. */
  private _update(): void {
    const { pending } = this._model;
    const newKeys = new Set<string>();
    for (const proposal of pending) {
      if (!this._keys.has(proposal.proposal_id)) {
        const key = this._chooseToast(proposal);
        this._keys.set(proposal.proposal_id, key);
        newKeys.add(key);
      }
    }
    const pendingIds = new Set(pending.map(({ proposal_id: id }) => id));
    for (const id of this._keys.keys()) {
      if (!pendingIds.has(id)) {
        this._keys.delete(id);
      }
    }
    for (const key of new Set([...this._toasts.keys(), ...newKeys])) {
      const proposals = pending.filter(({ proposal_id: id }) => this._keys.get(id) === key);
      const toast = this._toasts.get(key);
      if (proposals.length === 0) {
        toast?.dismiss();
        this._toasts.delete(key);
      } else if (newKeys.has(key)) {
        this._announce(key, proposals);
      } else if (toast !== undefined) {
        toast.change(this._describe(proposals));
      }
    }
  }

  /** Return the key of the toast for a proposal: of its agent and notebook, if there is room. */
  private _chooseToast({ client, user, path }: Proposal): string {
    const key = JSON.stringify([client ?? user, path]);
    const shownToasts = [...this._toasts].filter(
      ([other, toast]) => other !== OTHERS && !toast.isGone
    );
    return this._toasts.has(key) || shownToasts.length < MAX_TOASTS ? key : OTHERS;
  }

  private _announce(key: string, proposals: readonly Proposal[]): void {
    const toast = this._toasts.get(key);
    if (toast !== undefined && !toast.isGone) {
      toast.change(this._describe(proposals));
    } else if (proposals.length > 0 && this._host.shouldAnnounce(proposals)) {
      toast?.dismiss();
      this._toasts.set(key, new LiveToast(this._describe(proposals)));
    }
  }

  private _describe(proposals: readonly Proposal[]): ToastContent {
    return {
      message: describeAnnouncement(proposals, this._trans),
      type: 'info',
      // It waits for a decision, as the agent does.
      autoClose: false,
      actions: [
        {
          label: this._trans.__('Review'),
          caption: this._trans.__('Show what is proposed'),
          callback: () => this._host.review(proposals)
        }
      ]
    };
  }

  /** The key of the toast of each pending proposal. */
  private readonly _keys = new Map<number, string>();
  private readonly _toasts = new Map<string, LiveToast>();
}
