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
import { makeIconButton } from '../ui/elements';
import { columnsIcon } from '../ui/icons';

/** Which notebooks' edits are listed. */
export type Scope = 'current' | 'all';

/** The actions of the toolbar. */
export interface ToolbarHost {
  readonly trans: TranslationBundle;
  setScope(scope: Scope): void;
  /** Toggle between one and two columns; return whether there are two. */
  toggleColumns(): boolean;
  refresh(): void;
  /** Open the menu below a button. */
  openMenu(below: DOMRect): void;
}

/** Selects whether the edits of the current notebook or of all are listed. */
class ScopeSelect extends ReactWidget {
  constructor(
    private readonly _trans: TranslationBundle,
    private readonly _onChoice: (scope: Scope) => void
  ) {
    super();
    this.addClass('jp-nbedit-history-scope');
  }

  override render(): ReactElement {
    return createElement(HTMLSelect, {
      'aria-label': this._trans.__('Edits of'),
      defaultValue: 'current',
      options: [
        { value: 'current', label: this._trans.__('This notebook') },
        { value: 'all', label: this._trans.__('All notebooks') }
      ],
      onChange: event => this._onChoice(event.currentTarget.value === 'all' ? 'all' : 'current')
    });
  }
}

/** Make the toolbar of the panel. */
export function makeToolbar(host: ToolbarHost): Toolbar {
  const { trans } = host;
  const toolbar = new Toolbar();
  toolbar.addClass('jp-SidePanel-toolbar');
  toolbar.node.setAttribute('aria-label', trans.__('Edit history'));
  // JupyterLab's own toggle buttons set an ARIA attribute that is not valid for their element.
  const columns = makeIconButton(columnsIcon, trans.__('Compare side by side'), () =>
    columns.setAttribute('aria-pressed', `${host.toggleColumns()}`)
  );
  columns.setAttribute('aria-pressed', 'false');
  const refresh = makeIconButton(refreshIcon, trans.__('Refresh'), () => host.refresh());
  const menu = makeIconButton(ellipsesIcon, trans.__('More'), () =>
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
