import { Time } from '@jupyterlab/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';
import {
  addIcon,
  caretDownIcon,
  caretRightIcon,
  redoIcon,
  undoIcon,
  type LabIcon
} from '@jupyterlab/ui-components';
import type { HistoryEdit } from '../server/models';
import { describeAge } from '../ui/age';
import { makeElement, makeIcon, makeIconButton, showAlert } from '../ui/elements';
import type { EditAction } from './historyModel';
import type { ListItem } from './listItem';
import {
  describeAuthor,
  describeEdit,
  describeLines,
  formatLineCounts,
  formatMessage,
  formatPath,
  formatSnippet
} from './wording';

/** What a row needs from its list. */
export interface EditRowHost {
  readonly trans: TranslationBundle;
  /** Whether each row shows the path of its notebook. */
  readonly showsPath: boolean;
  /** Return the time to compute the age of an edit from, in milliseconds. */
  getTime(): number;
  /**
   * Show the cell diffs of an edit in an element; return a function that removes them.
   *
   * @param onShown Called when they are shown.
   */
  showDetail(edit: HistoryEdit, element: HTMLElement, onShown: () => void): () => void;
  /** Return what the user can do to an edit, or null. */
  findAction(edit: HistoryEdit): EditAction;
  /**
   * Undo or redo an edit. Return null if that succeeded, or else the reasons, one in each line; none
   * if the user has cancelled it.
   */
  undoOrRedo(edit: HistoryEdit, action: 'undo' | 'redo'): Promise<readonly string[] | null>;
}

const ICONS: Readonly<Partial<Record<HistoryEdit['kind'], LabIcon>>> = {
  create: addIcon,
  undo: undoIcon,
  redo: redoIcon
};

let rowCount = 0;

/** One edit of the list. A click opens it and shows its cell diffs. */
export class EditRow implements ListItem {
  readonly node = makeElement('li', 'jp-nbedit-edit');

  constructor(
    private _edit: HistoryEdit,
    private readonly _host: EditRowHost
  ) {
    const id = `nbedit-edit-${++rowCount}`;
    this.toggle = makeElement('button', 'jp-nbedit-edit-toggle');
    this.toggle.type = 'button';
    this.toggle.tabIndex = -1;
    this.toggle.addEventListener('click', () => this.setOpen(!this.isOpen));
    this._detail.id = id;
    this._detail.hidden = true;
    this.toggle.setAttribute('aria-controls', id);
    const { trans } = _host;
    this._undo = makeIconButton(undoIcon, trans.__('Undo'), () => void this.undoOrRedo());
    this._redo = makeIconButton(redoIcon, trans.__('Redo'), () => void this.undoOrRedo());
    const head = makeElement('div', 'jp-nbedit-edit-head');
    head.append(this.toggle, this._undo, this._redo);
    this.node.append(head, this._problem, this._detail);
    this._render();
  }

  /** Opens and closes the row. */
  readonly toggle: HTMLButtonElement;

  get edit(): HistoryEdit {
    return this._edit;
  }

  set edit(edit: HistoryEdit) {
    // Each reply makes new objects for the same edits.
    if (JSON.stringify(edit) !== JSON.stringify(this._edit)) {
      this._edit = edit;
      this._render();
    }
  }

  get isOpen(): boolean {
    return this._closeDetail !== null;
  }

  setOpen(isOpen: boolean): void {
    if (isOpen !== this.isOpen) {
      this._closeDetail?.();
      this._closeDetail = isOpen ? this._openDetail() : null;
      this._detail.hidden = !isOpen;
      this._render();
    }
  }

  /** Put this row into the tab order, or remove it. */
  setReachable(isReachable: boolean): void {
    for (const control of [this.toggle, this._undo, this._redo]) {
      control.tabIndex = isReachable ? 0 : -1;
    }
  }

  /** Undo the edit, or redo it if it is undone. */
  async undoOrRedo(): Promise<void> {
    const action = this._host.findAction(this._edit);
    if (action === null || this._isBusy) {
      return;
    }
    this._isBusy = true;
    showAlert(this._problem, []);
    this.node.setAttribute('aria-busy', 'true');
    const problems = await this._host.undoOrRedo(this._edit, action);
    this.node.removeAttribute('aria-busy');
    this._isBusy = false;
    showAlert(this._problem, problems ?? []);
  }

  /** Update the age of the edit. */
  updateTime(): void {
    this._time.textContent = describeAge(this._edit.time, this._host.getTime());
  }

  dispose(): void {
    this._closeDetail?.();
    this._closeDetail = null;
    this.node.remove();
  }

  private _render(): void {
    const { trans, showsPath } = this._host;
    const edit = this._edit;
    const isUndone = edit.undone_by !== null;
    this.node.classList.toggle('jp-mod-undone', isUndone);
    this.node.classList.toggle('jp-mod-open', this.isOpen);
    this.node.dataset.edit = `${edit.edit_id}`;
    this.toggle.setAttribute('aria-expanded', `${this.isOpen}`);
    this._time.dateTime = edit.time;
    this._time.title = Time.format(new Date(edit.time));
    this.updateTime();

    const first = makeElement('span', 'jp-nbedit-edit-line');
    const title = makeElement('span', 'jp-nbedit-edit-title', describeEdit(edit, trans));
    title.title = title.textContent;
    const icon = ICONS[edit.kind];
    first.append(...(icon === undefined ? [] : [makeIcon(icon)]), title);
    if (isUndone) {
      first.append(makeElement('span', 'jp-nbedit-edit-state', trans.__('undone')));
    }
    const snippet = formatSnippet(edit);
    const counts = this._makeLineCounts();
    const second = makeElement('span', 'jp-nbedit-edit-line');
    if (snippet !== '' || counts.length > 0) {
      second.append(makeElement('code', 'jp-nbedit-edit-snippet', snippet), ...counts, this._time);
    } else {
      first.append(this._time);
    }
    const message = formatMessage(edit);
    const lines = makeElement('span', 'jp-nbedit-edit-lines');
    lines.append(first, second);
    if (message !== '') {
      const messageLine = makeElement('span', 'jp-nbedit-edit-message', message);
      messageLine.title = message;
      lines.append(messageLine);
    }
    if (showsPath) {
      const path = makeElement('span', 'jp-nbedit-edit-path', formatPath(edit));
      path.title = path.textContent;
      lines.append(path);
    }
    // The heading of the group shows it; who moves from row to row does not hear the heading.
    lines.append(
      makeElement('span', 'jp-nbedit-visually-hidden', ` ${describeAuthor(edit, trans)}`)
    );
    const caret = makeIcon(this.isOpen ? caretDownIcon : caretRightIcon);
    this.toggle.replaceChildren(caret, lines);
    const action = this._host.findAction(edit);
    const hadFocus = [this._undo, this._redo].some(node => node === document.activeElement);
    this._undo.hidden = action !== 'undo';
    this._redo.hidden = action !== 'redo';
    if (hadFocus) {
      const next = { undo: this._undo, redo: this._redo, none: this.toggle };
      next[action ?? 'none'].focus();
    }
  }

  /** Show the cell diffs, and scroll them into view when they are there. */
  private _openDetail(): () => void {
    const scroller = this.node.closest('.jp-nbedit-history-body');
    const position = scroller?.scrollTop;
    return this._host.showDetail(this._edit, this._detail, () => {
      if (scroller?.scrollTop === position) {
        this.node.scrollIntoView({ block: 'nearest' });
      }
    });
  }

  private _makeLineCounts(): HTMLElement[] {
    const counts = formatLineCounts(this._edit);
    if (counts === null) {
      return [];
    }
    const visible = makeElement('span', 'jp-nbedit-edit-counts');
    visible.setAttribute('aria-hidden', 'true');
    visible.append(
      makeElement('span', 'jp-mod-added', counts.added),
      makeElement('span', 'jp-mod-removed', counts.removed)
    );
    const spoken = describeLines(this._edit, this._host.trans);
    return [visible, makeElement('span', 'jp-nbedit-visually-hidden', ` ${spoken} `)];
  }

  private readonly _time = makeElement('time', 'jp-nbedit-edit-time');
  private readonly _problem = makeElement('div', 'jp-nbedit-error');
  private readonly _detail = makeElement('div', 'jp-nbedit-edit-detail');
  private readonly _undo: HTMLButtonElement;
  private readonly _redo: HTMLButtonElement;
  private _closeDetail: (() => void) | null = null;
  private _isBusy = false;
}
