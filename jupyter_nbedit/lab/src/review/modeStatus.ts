import type { TranslationBundle } from '@jupyterlab/translation';
import { editIcon, MenuSvg, type LabIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Widget, type Menu } from '@lumino/widgets';
import type { Mode, ModeReply } from '../server/models';
import { make } from '../ui/elements';
import { pausedIcon, reviewIcon } from '../ui/icons';
import {
  choicesOf,
  describeStatus,
  describeStop,
  isStopped,
  reasonOf,
  type Choice,
  type Modes,
  type ProposalCounts
} from './modeModel';
import { countChanges } from './wording';

/** What stands for each mode. */
const MODE_ICONS: Readonly<Record<Mode, LabIcon>> = {
  edit: editIcon,
  review: reviewIcon,
  plan: pausedIcon
};

/** What can be done from the status bar. */
export interface StatusActions {
  /** Change a mode; tells by itself if that is refused. */
  readonly set: (scope: Choice['scope'], mode: Mode | null) => void;
  /** Show what is proposed. */
  readonly review: () => void;
  /** Let agents edit again although the notebooks' own modes cannot be read, after a question. */
  readonly resume: () => void;
}

/** Shows in the status bar how edits are taken, and lets the user change it. */
export class ModeStatus extends Widget {
  constructor(
    private readonly _modes: Modes,
    private readonly _count: () => ProposalCounts,
    private readonly _actions: StatusActions,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-nbedit-status');
    this.addClass('jp-mod-highlighted');
    this._button.type = 'button';
    this._button.setAttribute('aria-haspopup', 'menu');
    this._button.addEventListener('click', () => this._open());
    this._button.append(this._icon, this._text);
    this.node.append(this._button);
    this.refresh();
  }

  /** Show what holds by now. */
  refresh(): void {
    const { now } = this._modes;
    const { label, name } = describeStatus(now, this._count(), this._trans);
    const mode = isStopped(now) ? 'plan' : (now?.mode ?? 'edit');
    this._button.title = name;
    this._button.setAttribute('aria-label', name);
    this._button.dataset.mode = mode;
    this._text.textContent = label;
    this._text.hidden = label === '';
    this._icon.replaceChildren();
    MODE_ICONS[mode].element({ container: this._icon, stylesheet: 'statusBar' });
  }

  private _open(): void {
    const { now } = this._modes;
    if (now === null) {
      return;
    }
    this._menu?.dispose();
    const menu = this._makeMenu(now);
    this._menu = menu;
    menu.aboutToClose.connect(() => this._button.focus());
    const { left, top } = this._button.getBoundingClientRect();
    menu.open(left, top);
  }

  override dispose(): void {
    this._menu?.dispose();
    super.dispose();
  }

  private _makeMenu(now: ModeReply): Menu {
    const trans = this._trans;
    const { obstacle } = this._modes;
    const { here, elsewhere } = this._count();
    const { set, review, resume } = this._actions;
    // Of its own, so that its lines are no commands of the palette.
    const commands = new CommandRegistry();
    const menu = new MenuSvg({ commands });
    menu.addClass('jp-nbedit-mode-menu');
    if (isStopped(now)) {
      const lines = { stopped: describeStop(trans), reason: reasonOf(now) };
      for (const [command, label] of Object.entries(lines)) {
        commands.addCommand(command, { label, isEnabled: () => false, execute: () => null });
        menu.addItem({ command });
      }
      commands.addCommand('resume', {
        label: trans.__('Resume Agent Edits…'),
        isEnabled: () => obstacle === '',
        execute: resume
      });
      menu.addItem({ command: 'resume' });
      menu.addItem({ type: 'separator' });
    }
    if (here + elsewhere > 0) {
      commands.addCommand('review', {
        label: trans.__('Review %1…', countChanges(here + elsewhere, trans)),
        execute: review
      });
      menu.addItem({ command: 'review' });
      menu.addItem({ type: 'separator' });
    }
    const choices = choicesOf(now, trans);
    choices.forEach(({ scope, mode, label, isChosen }, index) => {
      const command = `${scope}:${mode}`;
      commands.addCommand(command, {
        label,
        isToggleable: true,
        isToggled: () => isChosen,
        isEnabled: () => obstacle === '',
        execute: () => set(scope, mode)
      });
      if (index > 0 && choices[index - 1]?.scope !== scope) {
        menu.addItem({ type: 'separator' });
      }
      menu.addItem({ command });
    });
    if (obstacle !== '') {
      commands.addCommand('obstacle', {
        label: obstacle,
        isEnabled: () => false,
        execute: () => null
      });
      menu.addItem({ type: 'separator' });
      menu.addItem({ command: 'obstacle' });
    }
    return menu;
  }

  private readonly _button = make('button', 'jp-nbedit-status-button');
  private readonly _icon = make('span', 'jp-nbedit-status-icon');
  private readonly _text = make('span', 'jp-StatusBar-TextItem');
  private _menu: Menu | null = null;
}
