import type { TranslationBundle } from '@jupyterlab/translation';
import { type LabIcon, MenuSvg } from '@jupyterlab/ui-components';
import type { CommandRegistry } from '@lumino/commands';
import { Widget, type Menu } from '@lumino/widgets';
import type { Mode, ModeReply } from '../server/models';
import { makeElement } from '../ui/elements';
import { agentIcon, pausedIcon, readOnlyIcon, reviewIcon } from '../ui/icons';
import { isStopped } from './modeChoice';
import type { ModeModel } from './modeModel';
import { describeStatus, type ChangeCounts } from './wording';

/** The icon of each mode. */
const MODE_ICONS: Readonly<Record<Mode, LabIcon>> = {
  edit: agentIcon,
  review: reviewIcon,
  plan: pausedIcon
};

/** Shows in the status bar what agents may do and what waits for the user, and has a menu. */
export class ModeStatus extends Widget {
  /** @param items The commands of the menu, in groups. */
  constructor(
    private readonly _model: ModeModel,
    private readonly _countChanges: () => ChangeCounts,
    commands: CommandRegistry,
    items: readonly (readonly Menu.IItemOptions[])[],
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-nbedit-mode-status');
    this.addClass('jp-mod-highlighted');
    this._button.type = 'button';
    this._button.setAttribute('aria-haspopup', 'menu');
    this._button.addEventListener('click', () => this._openMenu());
    this._button.append(this._icon, this._mode, this._waiting, this._count);
    this.node.append(this._button);
    this._menu = new MenuSvg({ commands });
    this._menu.addClass('jp-nbedit-mode-menu');
    this._menu.aboutToClose.connect(() => this._button.focus());
    for (const group of items) {
      this._menu.addItem({ type: 'separator' });
      group.forEach(item => this._menu.addItem(item));
    }
    this.refresh();
  }

  /** Show the current mode and the current numbers. */
  refresh(): void {
    const { current } = this._model;
    const counts = this._countChanges();
    const { mode, waiting, name } = describeStatus(current, counts, this._trans);
    const icon = chooseIcon(current);
    this._button.title = name;
    this._button.setAttribute('aria-label', name);
    this._mode.textContent = mode;
    this._waiting.textContent = waiting;
    this._waiting.hidden = waiting === '';
    const count = counts.currentNotebook + counts.otherNotebooks + counts.unseen;
    this._count.textContent = count === 0 ? '' : `${count}`;
    this._icon.replaceChildren();
    icon.element({ container: this._icon, stylesheet: 'statusBar' });
  }

  private _openMenu(): void {
    const { left, top } = this._button.getBoundingClientRect();
    this._menu.open(left, top);
  }

  override dispose(): void {
    this._menu.dispose();
    super.dispose();
  }

  private readonly _button = makeElement('button', 'jp-nbedit-mode-status-button');
  private readonly _icon = makeElement('span', 'jp-nbedit-mode-status-icon');
  private readonly _mode = makeElement('span', 'jp-StatusBar-TextItem');
  private readonly _waiting = makeElement('span', 'jp-StatusBar-TextItem jp-mod-waiting');
  /** For narrow windows. */
  private readonly _count = makeElement('span', 'jp-mod-count');
  private readonly _menu: Menu;
}

function chooseIcon(reply: ModeReply | null): LabIcon {
  if (reply !== null && !reply.writable) {
    return readOnlyIcon;
  }
  return MODE_ICONS[isStopped(reply) ? 'plan' : (reply?.mode ?? 'edit')];
}
