import { MenuSvg } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Widget, type Menu } from '@lumino/widgets';
import type { Mode } from '../answers';
import { make } from '../elements';
import { MODE_ICONS } from './icons';
import { choicesOf, nameOf, type Choice, type Modes } from './modes';
import { counted } from './wording';

/** What can be done from the status bar. */
export interface StatusActions {
  /** Change a mode; tells by itself if that is refused. */
  readonly set: (scope: Choice['scope'], mode: Mode | null) => void;
  /** Show what is proposed. */
  readonly review: () => void;
}

/** Shows in the status bar how edits are taken, and lets the user change it. */
export class ModeStatus extends Widget {
  /** @param _count How many changes wait for somebody's word. */
  constructor(
    private readonly _modes: Modes,
    private readonly _count: () => number,
    private readonly _actions: StatusActions
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
    const mode = now?.mode ?? 'edit';
    const count = this._count();
    const waiting = count > 0 ? `${counted(count, 'change')} proposed` : '';
    const shown = [...(mode === 'edit' ? [] : [nameOf(mode)]), ...(waiting ? [waiting] : [])];
    const where = now?.path == null ? 'all notebooks' : 'this notebook';
    const what = [
      `Agents in ${where}: ${nameOf(mode).toLowerCase()}`,
      ...(waiting ? [waiting] : [])
    ];
    this._button.title = what.join(', ');
    this._button.setAttribute('aria-label', what.join(', '));
    this._button.dataset.mode = mode;
    this._text.textContent = shown.join(' · ');
    this._text.hidden = shown.length === 0;
    this._icon.replaceChildren();
    MODE_ICONS[mode].element({ container: this._icon, stylesheet: 'statusBar' });
  }

  private _open(): void {
    const { now } = this._modes;
    if (now === null) {
      return;
    }
    this._menu?.dispose();
    const menu = menuOf(choicesOf(now), this._modes.obstacle, this._count(), this._actions);
    this._menu = menu;
    menu.aboutToClose.connect(() => this._button.focus());
    const { left, top } = this._button.getBoundingClientRect();
    menu.open(left, top);
  }

  override dispose(): void {
    this._menu?.dispose();
    super.dispose();
  }

  private readonly _button = make('button', 'jp-nbedit-status-button');
  private readonly _icon = make('span', 'jp-nbedit-status-icon');
  private readonly _text = make('span', 'jp-StatusBar-TextItem');
  private _menu: Menu | null = null;
}

function menuOf(
  choices: readonly Choice[],
  obstacle: string,
  count: number,
  { set, review }: StatusActions
): Menu {
  // Of its own, so that its lines are no commands of the palette.
  const commands = new CommandRegistry();
  const menu = new MenuSvg({ commands });
  menu.addClass('jp-nbedit-mode-menu');
  if (count > 0) {
    commands.addCommand('review', {
      label: `Review ${counted(count, 'change')}…`,
      execute: review
    });
    menu.addItem({ command: 'review' });
    menu.addItem({ type: 'separator' });
  }
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
