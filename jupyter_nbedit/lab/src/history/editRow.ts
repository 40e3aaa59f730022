import { addIcon, redoIcon, undoIcon, type LabIcon } from '@jupyterlab/ui-components';
import type { HistoryEdit } from '../server/models';
import { makeElement, makeIcon, makeIconButton } from '../ui/elements';
import { ListRow, type RowHost } from './listRow';
import {
  describeAuthor,
  describeEdit,
  describeLines,
  formatLineCounts,
  formatMessage,
  formatPath,
  formatSnippet
} from './wording';

const ICONS: Readonly<Partial<Record<HistoryEdit['kind'], LabIcon>>> = {
  create: addIcon,
  undo: undoIcon,
  redo: redoIcon
};

let rowCount = 0;

/** One edit of the list. A click opens it and shows its cell diffs. */
export class EditRow extends ListRow {
  constructor(edit: HistoryEdit, host: RowHost) {
    super([edit], host);
    this._detail.id = `nbedit-edit-${++rowCount}`;
    this._detail.hidden = true;
    this.toggle.setAttribute('aria-controls', this._detail.id);
    this.build(this._detail);
  }

  override get isOpen(): boolean {
    return this._closeDetail !== null;
  }

  override setOpen(isOpen: boolean): void {
    if (isOpen !== this.isOpen) {
      this._closeDetail?.();
      this._closeDetail = isOpen ? this._openDetail() : null;
      this._detail.hidden = !isOpen;
      this.render();
    }
  }

  override dispose(): void {
    this._closeDetail?.();
    this._closeDetail = null;
    this.node.remove();
  }

  protected override render(): void {
    const { trans, showsPath } = this.host;
    const [edit] = this.edits;
    const isUndone = edit.undone_by !== null;
    this.node.classList.toggle('jp-mod-undone', isUndone);
    this.node.dataset.edit = `${edit.edit_id}`;
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
    const age = this.makeAge();
    const second = makeElement('span', 'jp-nbedit-edit-line');
    if (snippet !== '' || counts.length > 0) {
      second.append(makeElement('code', 'jp-nbedit-edit-snippet', snippet), ...counts, age);
    } else {
      first.append(age);
    }
    const message = formatMessage(edit);
    const lines = [first, second];
    if (message !== '') {
      const messageLine = makeElement('span', 'jp-nbedit-edit-message', message);
      messageLine.title = message;
      lines.push(messageLine);
    }
    if (showsPath) {
      const path = makeElement('span', 'jp-nbedit-edit-path', formatPath(edit));
      path.title = path.textContent;
      lines.push(path);
    }
    // The heading of the group shows it; who moves from row to row does not hear the heading.
    const author = ` ${describeAuthor(edit, trans)}`;
    this.renderToggle(...lines, makeElement('span', 'jp-nbedit-visually-hidden', author));
    const action = this.host.findAction(edit);
    const hadFocus = this.actions.some(node => node === document.activeElement);
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
    return this.host.showDetail(this.edits[0], this._detail, () => {
      if (scroller?.scrollTop === position) {
        this.node.scrollIntoView({ block: 'nearest' });
      }
    });
  }

  private _makeLineCounts(): HTMLElement[] {
    const counts = formatLineCounts(this.edits[0]);
    if (counts === null) {
      return [];
    }
    const visible = makeElement('span', 'jp-nbedit-edit-counts');
    visible.setAttribute('aria-hidden', 'true');
    visible.append(
      makeElement('span', 'jp-mod-added', counts.added),
      makeElement('span', 'jp-mod-removed', counts.removed)
    );
    const spoken = describeLines(this.edits[0], this.host.trans);
    return [visible, makeElement('span', 'jp-nbedit-visually-hidden', ` ${spoken} `)];
  }

  /** Undo the edit, or redo it if it is undone. */
  private readonly _run = (): void => {
    const [edit] = this.edits;
    const action = this.host.findAction(edit);
    if (action !== null) {
      void this.undoOrRedo([edit], action);
    }
  };

  private readonly _detail = makeElement('div', 'jp-nbedit-edit-detail');
  private readonly _undo = makeIconButton(undoIcon, this.host.trans.__('Undo'), this._run);
  private readonly _redo = makeIconButton(redoIcon, this.host.trans.__('Redo'), this._run);
  protected override readonly actions = [this._undo, this._redo];
  private _closeDetail: (() => void) | null = null;
}
