import {
  ellipsesIcon,
  HTMLSelect,
  ReactWidget,
  refreshIcon,
  Toolbar
} from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';
import { createElement } from 'react';
import { describeError } from '../notify/wording';
import type { HistoryEdit } from '../server/models';
import type { DiffLayout } from '../ui/codeMirrorDiff';
import { HISTORY_PANEL } from '../ui/commands';
import { makeButton, makeElement, makeIconButton, showAlert } from '../ui/elements';
import { columnsIcon, historyIcon } from '../ui/icons';
import { CellHistory, type CellIdentity } from './cellHistory';
import { showDetail, type DetailHost } from './editDetail';
import { selectEdits } from './editFilter';
import { EditList } from './editList';
import { FilterBar } from './filterBar';
import { getEditAction } from './historyModel';
import { getAuthorKey } from './editGroups';
import type { RowHost } from './listRow';
import { describeAuthor, describeEdit, describeUndoError } from './wording';

/** Which notebooks' edits are listed. */
type Scope = 'current' | 'all';

/** What the panel needs. */
export interface HistoryPanelHost extends DetailHost {
  /** Open the menu below a button. */
  readonly openMenu: (below: DOMRect) => void;
  /** Show how agents are connected. */
  connectAgent(): void;
}

/** A cell whose history is shown. */
interface ShownCell {
  readonly path: string;
  readonly history: CellHistory;
}

/** The edit history of the current notebook or of all, in the right sidebar. */
export class HistoryPanel extends Widget {
  constructor(private readonly _host: HistoryPanelHost) {
    super();
    const { services, model } = _host;
    const { trans } = services;
    this.id = HISTORY_PANEL;
    this.addClass('jp-nbedit-history');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Edit history'));
    this.title.icon = historyIcon;
    this.title.caption = trans.__('Edit History');

    const body = this._body;
    body.addClass('jp-nbedit-history-body');
    body.node.tabIndex = -1;
    this._list = new EditList(trans.__('Edits, newest first'), () => this._makeRowHost());
    this._announcement.setAttribute('role', 'status');
    this._failure.append(
      this._failureText,
      makeButton(trans.__('Try again'), () => void model.refresh())
    );
    this._failure.hidden = true;
    this._emptyState.hidden = true;
    this._connectButton = makeButton(trans.__('Connect an Agent…'), () => _host.connectAgent());
    this._clearButton = makeButton(trans.__('Show all edits'), () => this._clearFilters());
    this._filterBar = new FilterBar(
      trans,
      () => this._onFilter(),
      () => this._showCell(null)
    );
    this._emptyState.append(this._emptyText, this._connectButton, this._clearButton);
    body.node.append(
      this._failure,
      this._emptyState,
      this._list.node,
      this._listEnd,
      this._announcement
    );
    const layout = (this.layout = new PanelLayout());
    const heading = makeElement('h2', 'jp-nbedit-history-title', trans.__('Edit History'));
    layout.addWidget(new Widget({ node: heading }));
    layout.addWidget(this._makeToolbar());
    layout.addWidget(new Widget({ node: this._filterBar.node }));
    layout.addWidget(body);
    model.changed.connect((_, newEdits) => this._update(newEdits));
    services.right.changed.connect(() => this._redraw());
    const { navigator } = _host;
    navigator.changed.connect(() => this._updateFilter());
    // Load one page ahead, so that scrolling does not wait.
    new IntersectionObserver(
      entries => {
        this._isNearEnd = entries.some(({ isIntersecting }) => isIntersecting);
        this._loadOlderNearEnd();
      },
      { root: body.node, rootMargin: '600px' }
    ).observe(this._listEnd);
    this._update([]);
  }

  /** Refresh after an edit, or when the panel is shown. */
  onEdit(path: string): void {
    const subject = this._host.model.filter;
    if (subject !== null && (subject.path === null || subject.path === path)) {
      this.resync();
    }
  }

  /** Refresh because events may have been missed. */
  resync(): void {
    if (this.isVisible) {
      this._host.model.scheduleRefresh();
    } else {
      this._isStale = true;
    }
  }

  /**
   * List only the edits that changed one cell of a notebook.
   *
   * @param name The name of the cell, as users see it.
   */
  showCellHistory(path: string, cell: CellIdentity, name: string): void {
    const { server } = this._host.services;
    const history = new CellHistory(cell, async ({ edit_id: id }) => server.getEdit(path, id));
    this._filterBar.clear();
    this._showCell({ path, history }, name);
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._updateFilter();
    if (this._isStale) {
      this._isStale = false;
      void this._host.model.refresh();
    }
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (!this._list.focus()) {
      this._body.node.focus();
    }
  }

  /** List the edits of the current notebook, unless all notebooks are listed. */
  private _updateFilter(): void {
    if (this.isVisible) {
      const { model, navigator } = this._host;
      const path = this._scope === 'all' ? null : navigator.currentPath;
      if (this._shownCell !== null && path !== null && path !== this._shownCell.path) {
        this._shownCell = null;
        this._filterBar.showCell('');
      }
      if (this._shownCell !== null) {
        model.setFilter({ path: this._shownCell.path });
      } else {
        model.setFilter(this._scope === 'current' && path === null ? null : { path });
      }
    }
  }

  private _makeToolbar(): Toolbar {
    const { services, model, openMenu } = this._host;
    const { trans } = services;
    const toolbar = new Toolbar();
    toolbar.addClass('jp-SidePanel-toolbar');
    toolbar.node.setAttribute('aria-label', trans.__('Edit history'));
    const scope = ReactWidget.create(
      createElement(HTMLSelect, {
        'aria-label': trans.__('Edits of'),
        defaultValue: 'current',
        options: [
          { value: 'current', label: trans.__('This notebook') },
          { value: 'all', label: trans.__('All notebooks') }
        ],
        onChange: event => this._setScope(event.currentTarget.value === 'all' ? 'all' : 'current')
      })
    );
    scope.addClass('jp-nbedit-history-scope');
    // JupyterLab's own toggle buttons set an ARIA attribute that is not valid for their element.
    const columns = makeIconButton(columnsIcon, trans.__('Compare side by side'), () =>
      columns.setAttribute('aria-pressed', `${this._toggleColumns()}`)
    );
    columns.setAttribute('aria-pressed', 'false');
    const refresh = makeIconButton(refreshIcon, trans.__('Refresh'), () => void model.refresh());
    const menu = makeIconButton(ellipsesIcon, trans.__('More'), () =>
      openMenu(menu.getBoundingClientRect())
    );
    menu.setAttribute('aria-haspopup', 'menu');
    toolbar.addItem('scope', scope);
    toolbar.addItem('spacer', Toolbar.createSpacerItem());
    toolbar.addItem('columns', new Widget({ node: columns }));
    toolbar.addItem('refresh', new Widget({ node: refresh }));
    toolbar.addItem('menu', new Widget({ node: menu }));
    return toolbar;
  }

  private _setScope(scope: Scope): void {
    this._scope = scope;
    this._list.clear();
    this._showCell(null);
  }

  /** Show the edits of one cell, or of all (null). */
  private _showCell(cell: ShownCell | null, name = ''): void {
    this._shownCell = cell;
    this._filterBar.showCell(name);
    this._updateFilter();
    this._onFilter();
  }

  private _clearFilters(): void {
    this._filterBar.clear();
    this._showCell(null);
    this._list.focus();
  }

  private _onFilter(): void {
    void this._showEdits().then(count => {
      if (count !== null && this._filterBar.isActive) {
        const { trans } = this._host.services;
        this._announcement.textContent = trans._n('%1 edit', '%1 edits', count, count);
      }
    });
  }

  /** Show the rows with the actions that the user has now. */
  private _redraw(): void {
    const hadFocus = this._list.node.contains(document.activeElement);
    this._list.clear();
    if (hadFocus) {
      this._body.node.focus();
    }
    void this._showEdits();
  }

  /** Toggle between one and two columns; return whether there are two. */
  private _toggleColumns(): boolean {
    this._diffLayout = this._diffLayout === 'inline' ? 'side-by-side' : 'inline';
    this._list.redrawOpenRows();
    return this._diffLayout === 'side-by-side';
  }

  private _loadOlderNearEnd(): void {
    const { model } = this._host;
    if (this._isNearEnd && model.hasMore && model.failure === null) {
      void model.loadOlder();
    }
  }

  private _update(newEdits: readonly HistoryEdit[]): void {
    const { model } = this._host;
    const { trans } = this._host.services;
    const { edits } = model;
    const authors = new Map(edits.map(edit => [getAuthorKey(edit), edit]));
    this._filterBar.showAuthors(
      [...authors].map(([key, edit]) => ({ key, name: describeAuthor(edit, trans) }))
    );
    if (newEdits.length > 0) {
      this._announce(newEdits);
    }
    void this._showEdits();
  }

  /**
   * Show the loaded edits that the filters select.
   *
   * @returns Their number, or null if they have changed meanwhile.
   */
  private async _showEdits(): Promise<number | null> {
    const { model } = this._host;
    const { trans } = this._host.services;
    const cell = this._shownCell;
    let { failure }: { failure: unknown } = model;
    let { edits } = model;
    if (cell !== null) {
      const loaded = edits;
      try {
        edits = await cell.history.select(loaded);
      } catch (error) {
        failure = error;
        edits = [];
      }
      if (cell !== this._shownCell || loaded !== model.edits) {
        return null;
      }
    }
    edits = selectEdits(edits, this._filterBar.filter, trans);
    this._list.show(edits, model.hasMore);
    this._showFailure(failure);
    if (document.activeElement === this._body.node) {
      this._list.focus();
    }
    this._listEnd.hidden = !model.hasMore;
    const isWaiting = model.isInitial && model.filter !== null;
    this._showEmptyState(failure === null && edits.length === 0 && !isWaiting);
    // The end may still be visible, and the observer does not report that again.
    this._loadOlderNearEnd();
    return edits.length;
  }

  private _showFailure(failure: unknown): void {
    const { trans } = this._host.services;
    const hadFocus = this._failure.contains(document.activeElement);
    showAlert(this._failureText, failure === null ? [] : [describeError(failure, trans)]);
    this._failure.hidden = failure === null;
    if (hadFocus && failure === null) {
      this._body.node.focus();
    }
  }

  private _showEmptyState(isEmpty: boolean): void {
    const { model } = this._host;
    const { trans } = this._host.services;
    this._emptyState.hidden = !isEmpty;
    const isFiltered = this._filterBar.isActive && model.edits.length > 0;
    this._clearButton.hidden = !isFiltered;
    this._connectButton.hidden = isFiltered;
    if (!isEmpty) {
      return;
    }
    if (isFiltered) {
      this._emptyText.textContent = model.hasMore
        ? trans.__('Looking in older edits…')
        : trans.__('No edit matches.');
    } else {
      this._emptyText.textContent =
        model.filter === null
          ? trans.__('Open a notebook to see its edits.')
          : trans.__(
              'No edits yet. Edits that agents make are listed here, and can be undone. An agent can edit your notebooks as soon as it is connected.'
            );
    }
  }

  /** Announce new edits to screen readers. */
  private _announce(newEdits: readonly HistoryEdit[]): void {
    const { trans } = this._host.services;
    const [newest] = newEdits;
    if (newest !== undefined) {
      this._announcement.textContent =
        newEdits.length === 1
          ? trans.__('New edit, %1: %2', describeAuthor(newest, trans), describeEdit(newest, trans))
          : trans.__('%1 new edits', newEdits.length);
    }
  }

  private _makeRowHost(): RowHost {
    const { services, model } = this._host;
    const { trans, right, server } = services;
    return {
      trans,
      showsPath: this._scope === 'all',
      findAction: edit => right.offer([getEditAction(edit)])[0] ?? null,
      showDetail: (edit, element, onShown) =>
        showDetail(element, edit, this._diffLayout, this._host, onShown),
      undoOrRedo: async (edit, action) => {
        try {
          await (action === 'undo'
            ? server.undo(edit.path, edit.edit_id)
            : server.redo(edit.path, edit.undone_by ?? edit.edit_id));
          return null;
        } catch (error) {
          return describeUndoError(error, action, trans);
        } finally {
          await model.refresh();
        }
      }
    };
  }

  private readonly _body = new Widget();
  private readonly _list: EditList;
  private readonly _filterBar: FilterBar;
  private readonly _connectButton: HTMLButtonElement;
  private readonly _clearButton: HTMLButtonElement;
  private readonly _failure = makeElement('div', 'jp-nbedit-error');
  private readonly _failureText = makeElement('div', '');
  private readonly _emptyState = makeElement('div', 'jp-nbedit-history-empty');
  private readonly _emptyText = makeElement('p', '');
  private readonly _listEnd = makeElement('div', 'jp-nbedit-history-end');
  private readonly _announcement = makeElement('div', 'jp-nbedit-visually-hidden');
  private _scope: Scope = 'current';
  private _shownCell: ShownCell | null = null;
  private _diffLayout: DiffLayout = 'inline';
  private _isStale = false;
  private _isNearEnd = false;
}
