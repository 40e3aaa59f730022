import type { TranslationBundle } from '@jupyterlab/translation';
import {
  ellipsesIcon,
  HTMLSelect,
  ReactWidget,
  refreshIcon,
  Toolbar,
  ToolbarButton
} from '@jupyterlab/ui-components';
import { createElement, type ReactElement } from 'react';
import { columnsIcon } from '../icons';

/** Of which notebooks edits are listed. */
export type Scope = 'current' | 'all';

/** What the toolbar does. */
export interface ToolbarHost {
  readonly trans: TranslationBundle;
  setScope(scope: Scope): void;
  /** Show texts side by side, or not any more; answers which. */
  toggleColumns(): boolean;
  refresh(): void;
  /** Open the menu below a button. */
  openMenu(below: DOMRect): void;
}

/** Chooses whether to list the edits of the current notebook or of all. */
class ScopeSelect extends ReactWidget {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _choose: (scope: Scope) => void
  ) {
    super();
    this.addClass('jp-nbedit-scope');
  }

  override render(): ReactElement {
    return createElement(HTMLSelect, {
      'aria-label': this._trans.__('Edits of'),
      defaultValue: 'current',
      options: [
        { value: 'current', label: this._trans.__('This notebook') },
        { value: 'all', label: this._trans.__('All notebooks') }
      ],
      onChange: event => this._choose(event.currentTarget.value === 'all' ? 'all' : 'current')
    });
  }
}

/** The panel's toolbar. */
export function makeToolbar(host: ToolbarHost): Toolbar {
  const { trans } = host;
  const toolbar = new Toolbar();
  toolbar.addClass('jp-SidePanel-toolbar');
  toolbar.node.setAttribute('aria-label', trans.__('Edit history'));
  const columns = new ToolbarButton({
    icon: columnsIcon,
    tooltip: trans.__('Compare side by side'),
    pressedTooltip: trans.__('Compare inline'),
    onClick: () => {
      columns.pressed = host.toggleColumns();
    }
  });
  const menu = new ToolbarButton({
    icon: ellipsesIcon,
    tooltip: trans.__('More'),
    onClick: () => host.openMenu(menu.node.getBoundingClientRect())
  });
  const refresh = new ToolbarButton({
    icon: refreshIcon,
    tooltip: trans.__('Refresh'),
    onClick: () => host.refresh()
  });
  toolbar.addItem('scope', new ScopeSelect(trans, scope => host.setScope(scope)));
  toolbar.addItem('spacer', Toolbar.createSpacerItem());
  toolbar.addItem('columns', columns);
  toolbar.addItem('refresh', refresh);
  toolbar.addItem('menu', menu);
  return toolbar;
}
