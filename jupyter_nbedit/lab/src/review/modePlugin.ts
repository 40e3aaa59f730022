import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, Notification, showDialog } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { Server } from '../server/client';
import { FileFeed, IFileFeed } from '../server/fileChanges';
import type { Mode } from '../server/models';
import { make } from '../ui/elements';
import { notLinked } from '../ui/userGesture';
import {
  describeResumption,
  describeStop,
  isStopped,
  Modes,
  reasonOf,
  type Choice
} from './modeModel';
import { ModeStatus } from './modeStatus';
import type { Proposals } from './proposalModel';
import { Commands, IProposals } from './reviewPlugin';

export const modes: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:modes',
  description: 'Shows and changes how edits are taken: at once, after a review, or not at all.',
  autoStart: true,
  requires: [IFileFeed, IProposals, INotebookTracker],
  optional: [ICommandPalette, IStatusBar, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    files: FileFeed,
    pending: Proposals,
    tracker: INotebookTracker,
    palette: ICommandPalette | null,
    statusBar: IStatusBar | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');
    const { commands, serviceManager, shell } = app;
    const { contents, events, serverSettings } = serviceManager;
    const known = new Modes(new Server(serverSettings), events, trans);
    files.listen({ changed: () => undefined, mayHaveChanged: () => known.refresh() });

    const look = (): void => {
      const panel = tracker.find(each => each === shell.currentWidget);
      known.path = panel === undefined ? null : contents.localPath(panel.context.path);
    };
    tracker.widgetAdded.connect((_, { context }) => context.pathChanged.connect(look));
    shell.currentChanged?.connect(look);
    look();
    known.refresh();

    const set = async (scope: Choice['scope'], mode: Mode | null): Promise<void> => {
      try {
        await known.set(scope, mode);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        Notification.error(trans.__('The mode was not changed. %1', message), { autoClose: 8000 });
      }
    };
    const resume = async (): Promise<void> => {
      const { now } = known;
      if (isStopped(now) && (await isSure([reasonOf(now), describeResumption(trans)], trans))) {
        await set('server', null);
      }
    };
    // Told once each time that it happens, however often it is read.
    let notice: string | null = null;
    known.changed.connect(() => {
      const { now } = known;
      if (isStopped(now)) {
        notice ??= Notification.error(describeStop(trans), {
          autoClose: false,
          actions: [{ label: trans.__('Resume…'), callback: () => void resume() }]
        });
      } else if (now !== null && notice !== null) {
        Notification.dismiss(notice);
        notice = null;
      }
    });

    // They give the notebook in front a mode of its own, or take it away.
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
        isToggled: () => known.now?.own === mode,
        isEnabled: () => known.now?.path != null && known.obstacle === '',
        execute: notLinked(async () => set('notebook', known.now?.own === mode ? null : mode))
      });
      palette?.addItem({ command: id, category: trans.__('Agent Edits') });
    }
    known.changed.connect(() => {
      toggles.forEach(({ id }) => commands.notifyCommandChanged(id));
    });

    if (statusBar !== null) {
      const item = new ModeStatus(
        known,
        () => pending.count(known.path),
        {
          set: (scope, mode) => void set(scope, mode),
          review: () => void commands.execute(Commands.review),
          resume: () => void resume()
        },
        trans
      );
      const changed = new Signal<ModeStatus, void>(item);
      const show = (): void => {
        item.refresh();
        changed.emit();
      };
      known.changed.connect(show);
      pending.changed.connect(show);
      statusBar.registerStatusItem(modes.id, {
        item,
        align: 'right',
        rank: 100,
        isActive: () => known.now !== null,
        activeStateChanged: changed
      });
    }
  }
};

/** Ask whether agents may edit again; the texts say what has happened and what would follow. */
async function isSure(texts: readonly string[], trans: TranslationBundle): Promise<boolean> {
  const body = new Widget();
  body.node.append(...texts.map(text => make('p', '', text)));
  const { button } = await showDialog({
    title: trans.__('Resume agent edits?'),
    body,
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Resume') })]
  });
  return button.accept;
}
