import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, Notification, showDialog } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { NbEditClient } from '../server/client';
import { FileChangeFeed, IFileChangeFeed } from '../server/fileChanges';
import type { Mode } from '../server/models';
import { makeElement } from '../ui/elements';
import { requireUserGesture } from '../ui/userGesture';
import {
  describeResumption,
  describeStop,
  getStopReason,
  isStopped,
  ModeModel,
  type ModeChoice
} from './modeModel';
import { ModeStatus } from './modeStatus';
import type { ProposalModel } from './proposalModel';
import { COMMANDS, IProposalModel } from './reviewPlugin';

export const modePlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:modes',
  description: 'Shows and changes how edits are taken: at once, after a review, or not at all.',
  autoStart: true,
  requires: [IFileChangeFeed, IProposalModel, INotebookTracker],
  optional: [ICommandPalette, IStatusBar, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    files: FileChangeFeed,
    proposals: ProposalModel,
    tracker: INotebookTracker,
    palette: ICommandPalette | null,
    statusBar: IStatusBar | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const { commands, serviceManager, shell } = app;
    const { contents, events, serverSettings } = serviceManager;
    const model = new ModeModel(new NbEditClient(serverSettings), events, trans);
    files.addListener({ onFileChange: () => undefined, onResync: () => model.refresh() });

    const updatePath = (): void => {
      const panel = tracker.find(each => each === shell.currentWidget);
      model.path = panel === undefined ? null : contents.localPath(panel.context.path);
    };
    tracker.widgetAdded.connect((_, { context }) => context.pathChanged.connect(updatePath));
    shell.currentChanged?.connect(updatePath);
    updatePath();
    model.refresh();

    const setMode = async (scope: ModeChoice['scope'], mode: Mode | null): Promise<void> => {
      try {
        await model.setMode(scope, mode);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        Notification.error(trans.__('The mode was not changed. %1', message), { autoClose: 8000 });
      }
    };
    const confirmAndResume = async (): Promise<void> => {
      const { current } = model;
      if (
        isStopped(current) &&
        (await confirmResume([getStopReason(current), describeResumption(trans)], trans))
      ) {
        await setMode('server', null);
      }
    };
    // Shown once each time it happens, even if the mode is read several times.
    let notice: string | null = null;
    model.changed.connect(() => {
      const { current } = model;
      if (isStopped(current)) {
        notice ??= Notification.error(describeStop(trans), {
          autoClose: false,
          actions: [{ label: trans.__('Resume…'), callback: () => void confirmAndResume() }]
        });
      } else if (current !== null && notice !== null) {
        Notification.dismiss(notice);
        notice = null;
      }
    });

    // Commands that set the mode of the current notebook, or remove it.
    const toggles: readonly { readonly id: string; readonly label: string; readonly mode: Mode }[] =
      [
        {
          id: 'nbedit:pause-notebook',
          label: trans.__('Pause Agent Edits for This Notebook'),
          mode: 'plan'
        },
        {
          id: 'nbedit:review-notebook',
          label: trans.__('Review Agent Edits of This Notebook'),
          mode: 'review'
        }
      ];
    for (const { id, label, mode } of toggles) {
      commands.addCommand(id, {
        label,
        isToggleable: true,
        isToggled: () => model.current?.own === mode,
        isEnabled: () => model.current?.path != null && model.disabledReason === '',
        execute: requireUserGesture(async () =>
          setMode('notebook', model.current?.own === mode ? null : mode)
        )
      });
      palette?.addItem({ command: id, category: trans.__('Agent Edits') });
    }
    model.changed.connect(() => {
      toggles.forEach(({ id }) => commands.notifyCommandChanged(id));
    });

    if (statusBar !== null) {
      const item = new ModeStatus(
        model,
        () => proposals.count(model.path),
        {
          setMode: (scope, mode) => void setMode(scope, mode),
          review: () => void commands.execute(COMMANDS.review),
          resume: () => void confirmAndResume()
        },
        trans
      );
      const changed = new Signal<ModeStatus, void>(item);
      const refreshItem = (): void => {
        item.refresh();
        changed.emit();
      };
      model.changed.connect(refreshItem);
      proposals.changed.connect(refreshItem);
      statusBar.registerStatusItem(modePlugin.id, {
        item,
        align: 'right',
        rank: 100,
        isActive: () => model.current !== null,
        activeStateChanged: changed
      });
    }
  }
};

/** Ask whether agents may edit again. */
async function confirmResume(texts: readonly string[], trans: TranslationBundle): Promise<boolean> {
  const body = new Widget();
  body.node.append(...texts.map(text => makeElement('p', '', text)));
  const { button } = await showDialog({
    title: trans.__('Resume agent edits?'),
    body,
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Resume') })]
  });
  return button.accept;
}
