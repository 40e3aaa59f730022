import type { IDisposable } from '@lumino/disposable';
import type { CellDiff, CellState } from '../server/models';
import type { DiffLayout, DiffServices, TextPair } from '../ui/codeMirrorDiff';
import { DiffView, getCellLanguage } from '../ui/diffView';
import { makeButton, makeElement, showAlert } from '../ui/elements';
import { describeChanges, describePosition } from './wording';

/** Number of cells that are shown at first. */
const MAX_SHOWN_CELLS = 20;

/** What is needed to show cell diffs. */
export interface CellDiffListOptions extends DiffServices {
  readonly layout: DiffLayout;
  /** The path of the notebook. */
  readonly path: string;
  /** Bring the notebook to the front and show a cell; return why it cannot be shown, or null. */
  readonly goToCell?: (part: CellDiff) => Promise<string | null>;
}

/** Cells before and after a change, one below the other. */
export class CellDiffList implements IDisposable {
  readonly node = makeElement('div', 'jp-nbedit-cell-diffs');

  /** @param _codeLanguage The language of the notebook's code. */
  constructor(
    parts: readonly CellDiff[],
    private readonly _codeLanguage: string,
    private readonly _options: CellDiffListOptions
  ) {
    this._show(parts);
    this.ready = Promise.all(this._diffViews.map(({ ready }) => ready)).then(() => undefined);
  }

  /** Resolves when the cells that are shown at first are drawn. */
  readonly ready: Promise<void>;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._diffViews.forEach(diffView => diffView.dispose());
    this.node.remove();
  }

  private _show(parts: readonly CellDiff[]): void {
    this.node.append(...parts.slice(0, MAX_SHOWN_CELLS).map(part => this._makeSection(part)));
    const rest = parts.slice(MAX_SHOWN_CELLS);
    if (rest.length > 0) {
      this.node.append(this._makeMoreButton(rest));
    }
  }

  private _makeMoreButton(rest: readonly CellDiff[]): HTMLButtonElement {
    const { trans } = this._options;
    const { length: count } = rest;
    const label = trans._n('Show %1 more cell', 'Show %1 more cells', count, count);
    const button = makeButton(label, () => {
      const hadFocus = button === document.activeElement;
      const shownCount = this._diffViews.length;
      button.remove();
      this._show(rest);
      if (hadFocus) {
        void focusDiff(this._diffViews[shownCount]);
      }
    });
    return button;
  }

  /** Make the section of one cell, or of the notebook's metadata. */
  private _makeSection(part: CellDiff): HTMLElement {
    const { trans } = this._options;
    const position = describePosition(part, trans);
    const node = makeElement('div', 'jp-nbedit-cell-diff');
    node.setAttribute('role', 'group');
    node.setAttribute('aria-label', position);
    const { before, after } = part;
    node.append(...this._makeHead(part, position));
    const source = { before: before?.source ?? null, after: after?.source ?? null };
    if (source.before !== source.after) {
      const type = (after ?? before)?.cell_type ?? null;
      const language = getCellLanguage(type, this._codeLanguage);
      node.append(this._draw({ ...source, language, label: position }));
    }
    const metadata = { before: formatMetadata(before), after: formatMetadata(after) };
    if (metadata.before !== metadata.after) {
      const hasCell = (after ?? before)?.cell_type != null;
      if (hasCell) {
        node.append(makeElement('div', 'jp-nbedit-cell-diff-label', trans.__('Metadata')));
      }
      const label = hasCell ? trans.__('Metadata of %1', position) : position;
      const language = getCellLanguage(null, this._codeLanguage);
      node.append(this._draw({ ...metadata, language, label }));
    }
    return node;
  }

  private _makeHead(part: CellDiff, position: string): HTMLElement[] {
    const { trans, goToCell } = this._options;
    const head = makeElement('div', 'jp-nbedit-cell-diff-head');
    head.append(
      makeElement('h4', 'jp-nbedit-cell-diff-position', position),
      makeElement('span', 'jp-nbedit-cell-diff-changes', describeChanges(part, trans).join(', '))
    );
    const problem = makeElement('div', 'jp-nbedit-error');
    if (goToCell !== undefined && part.index !== null && part.after !== null) {
      const go = makeButton(trans.__('Go to cell'), () => {
        showAlert(problem, []);
        void goToCell(part).then(text => showAlert(problem, [text ?? '']));
      });
      go.setAttribute('aria-label', trans.__('Go to %1', position));
      head.append(go);
    }
    return [head, problem];
  }

  private _draw(texts: TextPair): HTMLElement {
    const { layout, languages, themes, path, trans } = this._options;
    const diffView = new DiffView({ texts, layout, languages, themes, trans, path });
    this._diffViews.push(diffView);
    return diffView.node;
  }

  private readonly _diffViews: DiffView[] = [];
  private _isDisposed = false;
}

/** Move the focus to the text of a diff when it is drawn. */
async function focusDiff(diffView: DiffView | undefined): Promise<void> {
  await diffView?.ready;
  diffView?.focus();
}

/** Return metadata as text, or null if there is none. */
function formatMetadata(version: CellState | null): string | null {
  const metadata = version?.metadata ?? {};
  return Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata, null, 2);
}
