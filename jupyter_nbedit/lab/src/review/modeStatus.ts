import type { TranslationBundle } from '@jupyterlab/translation';
import { editIcon, MenuSvg, type LabIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Widget, type Menu } from '@lumino/widgets';
import type { Mode, ModeReply } from '../server/models';
import { makeElement } from '../ui/elements';
import { pausedIcon, reviewIcon } from '../ui/icons';
import {
  describeStatus,
  describeStop,
  getStopReason,
  isStopped,
  listModeChoices,
  type ModeChoice,
  type ModeModel,
  type ProposalCounts
} from './modeModel';
import { formatChangeCount } from './wording';

/** The icon of each mode. */
const MODE_ICONS: Readonly<Record<Mode, LabIcon>> = {
  edit: editIcon,
  review: reviewIcon,
  plan: pausedIcon
};

/** The actions of the status item. */
export interface StatusActions {
  /** Change a mode, and show an error if that fails. */
  readonly setMode: (scope: ModeChoice['scope'], mode: Mode | null) => void;
  /** Show the list of proposals. */
  readonly review: () => void;
  /** Let agents edit again although the modes of notebooks cannot be read, after confirmation. */
  readonly resume: () => void;
}

/** Shows the mode in the status bar, and lets the user change it. */
export class ModeStatus extends Widget {
  constructor(
    private readonly _model: ModeModel,
    private readonly _countProposals: () => ProposalCounts,
    private readonly _actions: StatusActions,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-nbedit-mode-status');
    this.addClass('jp-mod-highlighted');
    this._button.type = 'button';
    this._button.setAttribute('aria-haspopup', 'menu');
    this._button.addEventListener('click', () => this._openMenu());
    this._button.append(this._icon, this._text);
    this.node.append(this._button);
    this.refresh();
  }

  /** Show the current mode. */
  refresh(): void {
    const { current } = this._model;
    const { label, name } = describeStatus(current, this._countProposals(), this._trans);
    const mode = isStopped(current) ? 'plan' : (current?.mode ?? 'edit');
    this._button.title = name;
    this._button.setAttribute('aria-label', name);
    this._button.dataset.mode = mode;
    this._text.textContent = label;
    this._text.hidden = label === '';
    this._icon.replaceChildren();
    MODE_ICONS[mode].element({ container: this._icon, stylesheet: 'statusBar' });
  }

  private _openMenu(): void {
    const { current } = this._model;
    if (current === null) {
      return;
    }
    this._menu?.dispose();
    const menu = this._makeMenu(current);
    this._menu = menu;
    menu.aboutToClose.connect(() => this._button.focus());
    const { left, top } = this._button.getBoundingClientRect();
    menu.open(left, top);
  }

  override dispose(): void {
    this._menu?.dispose();
    super.dispose();
  }

  private _makeMenu(reply: ModeReply): Menu {
    const trans = this._trans;
    const { disabledReason } = this._model;
    const { currentNotebook, otherNotebooks } = this._countProposals();
    const { setMode, review, resume } = this._actions;
    // A separate registry keeps the entries out of the command palette.
    const commands = new CommandRegistry();
    const menu = new MenuSvg({ commands });
    menu.addClass('jp-nbedit-mode-menu');
    if (isStopped(reply)) {
      const lines = { stopped: describeStop(trans), reason: getStopReason(reply) };
      for (const [command, label] of Object.entries(lines)) {
        commands.addCommand(command, { label, isEnabled: () => false, execute: () => null });
        menu.addItem({ command });
      }
      commands.addCommand('resume', {
        label: trans.__('Resume Agent Edits…'),
        isEnabled: () => disabledReason === '',
        execute: resume
      });
      menu.addItem({ command: 'resume' });
      menu.addItem({ type: 'separator' });
    }
    if (currentNotebook + otherNotebooks > 0) {
      commands.addCommand('review', {
        label: trans.__('Review %1…', formatChangeCount(currentNotebook + otherNotebooks, trans)),
        execute: review
      });
      menu.addItem({ command: 'review' });
      menu.addItem({ type: 'separator' });
    }
    const choices = listModeChoices(reply, trans);
    choices.forEach(({ scope, mode, label, isSelected }, index) => {
      const command = `${scope}:${mode}`;
      commands.addCommand(command, {
        label,
        isToggleable: true,
        isToggled: () => isSelected,
        isEnabled: () => disabledReason === '',
        execute: () => setMode(scope, mode)
      });
      if (index > 0 && choices[index - 1]?.scope !== scope) {
        menu.addItem({ type: 'separator' });
      }
      menu.addItem({ command });
    });
    if (disabledReason !== '') {
      commands.addCommand('obstacle', {
        label: disabledReason,
        isEnabled: () => false,
        execute: () => null
      });
      menu.addItem({ type: 'separator' });
      menu.addItem({ command: 'obstacle' });
    }
    return menu;
  }

  private readonly _button = makeElement('button', 'jp-nbedit-mode-status-button');
  private readonly _icon = makeElement('span', 'jp-nbedit-mode-status-icon');
  private readonly _text = makeElement('span', 'jp-StatusBar-TextItem');
  private _menu: Menu | null = null;
}
