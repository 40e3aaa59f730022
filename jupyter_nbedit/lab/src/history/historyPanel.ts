import type { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { PanelLayout, Widget } from '@lumino/widgets';
import { explain } from '../notify/wording';
import type { Server } from '../server/client';
import type { Edit } from '../server/models';
import type { Layout } from '../ui/codeMirrorDiff';
import { button, make } from '../ui/elements';
import { historyIcon } from '../ui/icons';
import { showDetail } from './editDetail';
import { EditList } from './editList';
import type { RowHost } from './editRow';
import type { HistoryModel, News } from './historyModel';
import type { OpenNotebooks } from './notebookNavigator';
import { makeToolbar, type Scope } from './toolbar';
import { hindrances, titleOf, whoOf } from './wording';

/** What the panel works with. */
export interface PanelHost {
  readonly trans: TranslationBundle;
  readonly server: Server;
  readonly model: HistoryModel;
  readonly notebooks: OpenNotebooks;
  readonly languages: IEditorLanguageRegistry;
  readonly themes: IEditorThemeRegistry | null;
  openMenu(below: DOMRect): void;
}

/** The history of edits, of the current notebook or of all, in the right sidebar. */
export class HistoryPanel extends Widget {
  constructor(private readonly _host: PanelHost) {
    super();
    const { trans, model } = _host;
    this.id = 'nbedit-history';
    this.addClass('jp-nbedit-history');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Edit history'));
    this.title.icon = historyIcon;
    this.title.caption = trans.__('Edit History');

    const body = this._body;
    body.addClass('jp-nbedit-history-body');
    body.node.tabIndex = -1;
    this._list = new EditList(trans.__('Edits, newest first'), () => this._rowHost());
    this._spoken.setAttribute('role', 'status');
    this._failure.setAttribute('role', 'alert');
    body.node.append(this._failure, this._empty, this._list.node, this._more, this._spoken);
    const layout = (this.layout = new PanelLayout());
    layout.addWidget(
      makeToolbar({
        trans,
        setScope: scope => this._setScope(scope),
        toggleColumns: () => this._toggleColumns(),
        refresh: () => void model.refresh(),
        openMenu: below => _host.openMenu(below)
      })
    );
    layout.addWidget(body);
    model.changed.connect((_, news) => this._update(news));
    const { notebooks } = _host;
    notebooks.changed.connect(() => this._follow());
    // A page ahead: scrolling does not wait for it, and 1,000 edits are not asked for at once.
    new IntersectionObserver(
      entries => {
        this._isNearEnd = entries.some(({ isIntersecting }) => isIntersecting);
        this._extend();
      },
      { root: body.node, rootMargin: '600px' }
    ).observe(this._more);
  }

  /** Something was edited: ask for it, or when somebody looks. */
  heard(path: string): void {
    const subject = this._host.model.subject;
    if (subject !== null && (subject.path === null || subject.path === path)) {
      this.resync();
    }
  }

  /** Anything may have been edited. */
  resync(): void {
    if (this.isVisible) {
      this._host.model.request();
    } else {
      this._isStale = true;
    }
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._follow();
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

  /** List the edits of the notebook in front, if it is not all that are listed. */
  private _follow(): void {
    if (this.isVisible) {
      const { model, notebooks } = this._host;
      const { current } = notebooks;
      model.setSubject(
        this._scope === 'all' ? { path: null } : current === null ? null : { path: current }
      );
    }
  }

  private _setScope(scope: Scope): void {
    this._scope = scope;
    this._list.clear();
    this._follow();
  }

  private _toggleColumns(): boolean {
    this._arrangement = this._arrangement === 'inline' ? 'side-by-side' : 'inline';
    this._list.reopen();
    return this._arrangement === 'side-by-side';
  }

  private _extend(): void {
    const { model } = this._host;
    if (this._isNearEnd && model.hasMore && model.failure === null) {
      void model.extend();
    }
  }

  private _update({ arrived }: News): void {
    const { model, trans } = this._host;
    const { edits, failure, isNew, subject } = model;
    this._list.show(edits);
    if (document.activeElement === this._body.node) {
      this._list.focus();
    }
    this._more.hidden = !model.hasMore;
    this._failure.replaceChildren();
    if (failure !== null) {
      this._failure.append(
        make('p', '', explain(failure, trans)),
        button(trans.__('Try again'), () => void model.refresh())
      );
    }
    const isEmpty = failure === null && edits.length === 0 && !(isNew && subject !== null);
    this._empty.hidden = !isEmpty;
    if (isEmpty) {
      this._empty.textContent =
        subject === null
          ? trans.__('Open a notebook to see its edits.')
          : trans.__('No edits yet. Edits that agents make are listed here.');
    }
    if (arrived.length > 0) {
      this._say(arrived);
    }
    // The end may still be in sight, of which no observer tells again.
    this._extend();
  }

  /** Tell a screen reader of new edits, without a word to others. */
  private _say(arrived: readonly Edit[]): void {
    const { trans } = this._host;
    const [newest] = arrived;
    if (newest !== undefined) {
      this._spoken.textContent =
        arrived.length === 1
          ? trans.__('New edit, %1: %2', whoOf(newest, trans), titleOf(newest, trans))
          : trans.__('%1 new edits', arrived.length);
    }
  }

  private _rowHost(): Omit<RowHost, 'now'> {
    const { trans, server, model, notebooks, languages, themes } = this._host;
    return {
      trans,
      namesNotebooks: this._scope === 'all',
      detail: ({ path, edit_id: id }, element) =>
        showDetail(element, {
          trans,
          languages,
          themes,
          layout: this._arrangement,
          fetch: async () => server.edit(path, id),
          language: async () => notebooks.codeOf(path) ?? languageOnDisk(server, path),
          goTo: async part =>
            (await notebooks.goTo(path, part)) ? null : trans.__('This cell is gone.'),
          explain: error => explain(error, trans)
        }),
      act: async (edit, action) => {
        try {
          await (action === 'undo'
            ? server.undo(edit.path, edit.edit_id)
            : server.redo(edit.path, edit.undone_by ?? edit.edit_id));
          return [];
        } catch (error) {
          return hindrances(error, trans);
        } finally {
          await model.refresh();
        }
      }
    };
  }

  private readonly _body = new Widget();
  private readonly _list: EditList;
  private readonly _failure = make('div', 'jp-nbedit-problem');
  private readonly _empty = make('p', 'jp-nbedit-empty');
  private readonly _more = make('div', 'jp-nbedit-more');
  private readonly _spoken = make('div', 'jp-nbedit-spoken');
  private _scope: Scope = 'current';
  private _arrangement: Layout = 'inline';
  private _isStale = false;
  private _isNearEnd = false;
}

/** A notebook that cannot be read now has no language that is known. */
async function languageOnDisk(server: Server, path: string): Promise<string> {
  try {
    return (await server.language(path)) ?? 'text/plain';
  } catch {
    return 'text/plain';
  }
}
