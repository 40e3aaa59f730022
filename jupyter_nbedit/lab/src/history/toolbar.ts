import type { TranslationBundle } from '@jupyterlab/translation';
import {
  ellipsesIcon,
  HTMLSelect,
  ReactWidget,
  refreshIcon,
  Toolbar
} from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import { createElement, type ReactElement } from 'react';
import { iconButton } from '../ui/elements';
import { columnsIcon } from '../ui/icons';

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
  // JupyterLab's own buttons claim a state by an attribute that their element may not have.
  const columns = iconButton(columnsIcon, trans.__('Compare side by side'), () =>
    columns.setAttribute('aria-pressed', `${host.toggleColumns()}`)
  );
  columns.setAttribute('aria-pressed', 'false');
  const refresh = iconButton(refreshIcon, trans.__('Refresh'), () => host.refresh());
  const menu = iconButton(ellipsesIcon, trans.__('More'), () =>
    host.openMenu(menu.getBoundingClientRect())
  );
  menu.setAttribute('aria-haspopup', 'menu');
  toolbar.addItem('scope', new ScopeSelect(trans, scope => host.setScope(scope)));
  toolbar.addItem('spacer', Toolbar.createSpacerItem());
  toolbar.addItem('columns', new Widget({ node: columns }));
  toolbar.addItem('refresh', new Widget({ node: refresh }));
  toolbar.addItem('menu', new Widget({ node: menu }));
  return toolbar;
}
