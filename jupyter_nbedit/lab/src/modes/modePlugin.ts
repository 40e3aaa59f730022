import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import type { TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { countUnseen } from '../notify/unseenCounts';
import { describeError } from '../notify/wording';
import { NbEditClient } from '../server/client';
import type { Mode } from '../server/models';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { makeElement } from '../ui/elements';
import { requireUserGesture } from '../ui/userGesture';
import { findChoice, isSelected, isStopped, MODE_CHOICES, type ModeChoice } from './modeChoice';
import { ModeModel } from './modeModel';
import {
  describeResumption,
  describeStop,
  describeChoice,
  getStopReason,
  labelChoice,
  listNotices,
  type ChangeCounts
} from './wording';
import { ModeStatus } from './modeStatus';

/** The ids of the commands; menus in `schema/plugin.json` have the same ids. */
const COMMANDS = {
  setMode: 'nbedit:set-mode',
  notice: 'nbedit:mode-notice',
  resume: 'nbedit:resume-edits'
} as const;

/** The commands of other plugins that the menu of the status item has. */
const LISTED_COMMANDS = [
  'nbedit:next-change',
  'nbedit:review-proposals',
  'nbedit:show-history'
] as const;

const SET_MODE_ARGS = {
  type: 'object',
  properties: {
    scope: {
      type: 'string',
      enum: ['notebook', 'server'],
      description: 'Whether the mode is that of the current notebook, or of all without their own'
    },
    mode: {
      type: ['string', 'null'],
      enum: ['edit', 'review', 'plan', null],
      description: 'Null, for a notebook only: it has the mode of all notebooks'
    }
  },
  required: ['scope', 'mode']
} as const;

const NOTICE_ARGS = {
  type: 'object',
  properties: { line: { type: 'integer', minimum: 0, maximum: 2 } },
  required: ['line']
} as const;

export const modePlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:modes',
  description: 'Shows and changes how edits are taken: at once, after a review, or not at all.',
  autoStart: true,
  requires: [INbEditServices, INotebookTracker],
  optional: [IStatusBar],
  activate: (
    app: JupyterFrontEnd,
    services: NbEditServices,
    tracker: INotebookTracker,
    statusBar: IStatusBar | null
  ) => {
    const { fileChanges, proposals, right, server, trans, unseen } = services;
    const { commands, shell } = app;
    const model = new ModeModel(server, app.serviceManager.events, right, trans);
    let connectionNotice: string | null = null;
    NbEditClient.unconnected.connect(() => {
      if (connectionNotice !== null) {
        Notification.dismiss(connectionNotice);
      }
      connectionNotice = Notification.warning(
        trans.__('This page has no WebSocket to the server, which therefore refuses to undo now.'),
        {
          autoClose: false,
          actions: [{ label: trans.__('What Agents May Do…'), callback: openModeMenu }]
        }
      );
    });
    // The user may have lost the right since it was read.
    NbEditClient.refused.connect(() => model.refresh());
    fileChanges.addListener({ onResync: () => model.refresh() });

    const updatePath = (): void => {
      const panel = tracker.find(each => each === shell.currentWidget);
      model.path = panel === undefined ? null : panel.context.localPath;
    };
    tracker.widgetAdded.connect((_, { context }) => context.pathChanged.connect(updatePath));
    shell.currentChanged?.connect(updatePath);
    updatePath();
    model.refresh();

    const setMode = async (scope: ModeChoice['scope'], mode: Mode | null): Promise<void> => {
      try {
        await model.setMode(scope, mode);
      } catch (error) {
        const message = describeError(error, trans);
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
          actions: [
            ...right.offer([
              { label: trans.__('Resume…'), callback: () => void confirmAndResume() }
            ])
          ]
        });
      } else if (current !== null && notice !== null) {
        Notification.dismiss(notice);
        notice = null;
      }
    });

    const isKnown = ({ scope }: ModeChoice): boolean =>
      model.current !== null && (scope === 'server' || model.current.path !== null);
    commands.addCommand(COMMANDS.setMode, {
      label: args => {
        const choice = findChoice(args);
        if (choice === null) {
          return trans.__('Set What Agents May Do');
        }
        const describe = args.isPalette === true ? describeChoice : labelChoice;
        return describe(choice, model.current, trans);
      },
      caption: trans.__('Set whether edits of agents are made at once, reviewed first, or refused'),
      describedBy: { args: SET_MODE_ARGS },
      isToggleable: true,
      isToggled: args => {
        const choice = findChoice(args);
        return choice !== null && isSelected(choice, model.current);
      },
      isVisible: args => {
        const choice = findChoice(args);
        return choice !== null && isKnown(choice);
      },
      isEnabled: args => {
        const choice = findChoice(args);
        return choice !== null && isKnown(choice) && model.disabledReason === '';
      },
      execute: requireUserGesture(async (args: ReadonlyPartialJSONObject) => {
        const choice = findChoice(args);
        if (choice === null) {
          throw new Error(`There is no mode ${JSON.stringify(args)}.`);
        }
        await setMode(choice.scope, choice.mode);
      })
    });
    const getNotice = ({ line }: { readonly line?: unknown }): string | undefined =>
      listNotices(model.current, model.disabledReason, trans)[Number(line)];
    commands.addCommand(COMMANDS.notice, {
      label: args => getNotice(args) ?? trans.__('Show Why Edits Are Stopped'),
      describedBy: { args: NOTICE_ARGS },
      isVisible: args => getNotice(args) !== undefined,
      isEnabled: () => false,
      execute: () => null
    });
    commands.addCommand(COMMANDS.resume, {
      label: trans.__('Resume Agent Edits…'),
      caption: trans.__('Let agents edit again although the modes of notebooks cannot be read'),
      isVisible: () => isStopped(model.current),
      isEnabled: () => isStopped(model.current) && model.disabledReason === '',
      execute: requireUserGesture(confirmAndResume)
    });
    const menu = new MenuSvg({ commands });
    const openModeMenu = (): void => menu.open(window.innerWidth / 3, window.innerHeight / 3);
    const choices = MODE_CHOICES.map(choice => ({
      command: COMMANDS.setMode,
      args: { ...choice }
    }));
    choices.forEach(({ command, args }) =>
      services.addPaletteItem({ command, args: { ...args, isPalette: true } })
    );
    choices.forEach(item => menu.addItem(item));
    services.addToPalette(COMMANDS.resume);
    model.changed.connect(() => {
      Object.values(COMMANDS).forEach(id => commands.notifyCommandChanged(id));
    });

    if (statusBar !== null) {
      const items = [
        [0, 1, 2].map(line => ({ command: COMMANDS.notice, args: { line } })),
        [{ command: COMMANDS.resume }],
        LISTED_COMMANDS.map(command => ({ command })),
        choices.filter(({ args }) => args.scope === 'notebook'),
        choices.filter(({ args }) => args.scope === 'server')
      ];
      const countChanges = (): ChangeCounts => ({
        ...proposals.count(model.path),
        unseen: model.path === null ? 0 : countUnseen(unseen, model.path)
      });
      const item = new ModeStatus(model, countChanges, commands, items, trans);
      const changed = new Signal<ModeStatus, void>(item);
      const refreshItem = (): void => {
        item.refresh();
        changed.emit();
      };
      model.changed.connect(refreshItem);
      proposals.changed.connect(refreshItem);
      unseen.changed.connect(refreshItem);
      unseen.notebooksChanged.connect(refreshItem);
      statusBar.registerStatusItem(modePlugin.id, {
        item,
        align: 'right',
        rank: 100,
        // Also shown in narrow windows, because it says that changes wait.
        priority: 1,
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
