import type { TranslationBundle } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Widget, type Menu } from '@lumino/widgets';
import type { Mode } from '../answers';
import { make } from '../elements';
import { MODE_ICONS } from './icons';
import { choicesOf, nameOf, type Choice, type Modes } from './modes';
import { countChanges } from './wording';

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
    const mode = now?.mode ?? 'edit';
    const count = this._count();
    const trans = this._trans;
    const waiting = count > 0 ? [trans.__('%1 proposed', countChanges(count, trans))] : [];
    const shown = [...(mode === 'edit' ? [] : [nameOf(mode, trans)]), ...waiting];
    const what = [describeMode(mode, now?.path != null, trans), ...waiting];
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
    const menu = this._makeMenu(choicesOf(now, this._trans));
    this._menu = menu;
    menu.aboutToClose.connect(() => this._button.focus());
    const { left, top } = this._button.getBoundingClientRect();
    menu.open(left, top);
  }

  override dispose(): void {
    this._menu?.dispose();
    super.dispose();
  }

  private _makeMenu(choices: readonly Choice[]): Menu {
    const trans = this._trans;
    const { obstacle } = this._modes;
    const count = this._count();
    const { set, review } = this._actions;
    // Of its own, so that its lines are no commands of the palette.
    const commands = new CommandRegistry();
    const menu = new MenuSvg({ commands });
    menu.addClass('jp-nbedit-mode-menu');
    if (count > 0) {
      commands.addCommand('review', {
        label: trans.__('Review %1…', countChanges(count, trans)),
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

  private readonly _button = make('button', 'jp-nbedit-status-button');
  private readonly _icon = make('span', 'jp-nbedit-status-icon');
  private readonly _text = make('span', 'jp-StatusBar-TextItem');
  private _menu: Menu | null = null;
}

/** Say what agents may do, in a text that begins with whose mode it is. */
function describeMode(mode: Mode, isOfNotebook: boolean, trans: TranslationBundle): string {
  const name = modeInText(mode, trans);
  return isOfNotebook
    ? trans.__('Agents in this notebook: %1', name)
    : trans.__('Agents in all notebooks: %1', name);
}

/** Return what a mode is called within a sentence. */
function modeInText(mode: Mode, trans: TranslationBundle): string {
  switch (mode) {
    case 'edit':
      return trans.__('edits allowed');
    case 'review':
      return trans.__('review first');
    case 'plan':
      return trans.__('paused');
  }
}
