import type { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CellDiff, CellState, DetailedEdit } from '../server/models';
import type { DiffLayout, TextPair } from '../ui/codeMirrorDiff';
import { DiffView, getCellLanguage } from '../ui/diffView';
import { makeButton, makeElement, showAlert } from '../ui/elements';
import { describeChanges, describePosition } from './wording';

/** Number of cell diffs that are shown at first. */
const MAX_SHOWN_CELLS = 20;

/** What is needed to show the cell diffs of an edit. */
export interface DetailHost {
  readonly trans: TranslationBundle;
  readonly languages: IEditorLanguageRegistry;
  readonly themes: IEditorThemeRegistry | null;
  readonly layout: DiffLayout;
  /** The path of the notebook. */
  readonly path: string;
  /** Request the edit with its cell diffs. */
  fetchEdit(): Promise<DetailedEdit>;
  /** Return the language of the notebook's code, by its MIME type or its name. */
  getCodeLanguage(): Promise<string>;
  /** Bring the notebook to the front and show a cell; return why it cannot be shown, or null. */
  goToCell(part: CellDiff): Promise<string | null>;
  /**
   * Let the user restore the notebook to what it was after the edit.
   *
   * @returns What the user should know, or ''.
   */
  restore(): Promise<string>;
  /** Called when the cell diffs are shown. */
  onShown(): void;
  /** Describe in words why something failed. */
  describeError(error: unknown): string;
}

/**
 * Show the cell diffs of an edit in an element.
 *
 * @returns A function that removes them.
 */
export function showDetail(element: HTMLElement, host: DetailHost): () => void {
  const diffViews: DiffView[] = [];
  let isOpen = true;
  const show = (parts: readonly CellDiff[], code: string): void => {
    element.append(
      ...parts.slice(0, MAX_SHOWN_CELLS).map(part => makeSection(part, code, host, diffViews))
    );
    const rest = parts.slice(MAX_SHOWN_CELLS);
    if (rest.length > 0) {
      const label = host.trans._n(
        'Show %1 more cell',
        'Show %1 more cells',
        rest.length,
        rest.length
      );
      const more = makeButton(label, () => {
        const hadFocus = more === document.activeElement;
        const shownCount = diffViews.length;
        more.remove();
        show(rest, code);
        if (hadFocus) {
          void focusDiff(diffViews[shownCount]);
        }
      });
      element.append(more);
    }
  };
  element.setAttribute('aria-busy', 'true');
  void Promise.all([host.fetchEdit(), host.getCodeLanguage()])
    .then(([edit, code]) => {
      if (!isOpen) {
        return;
      }
      element.append(makeRestoreAction(host));
      show(edit.parts, code);
      return Promise.all(diffViews.map(({ ready }) => ready)).then(() => {
        if (isOpen) {
          host.onShown();
        }
      });
    })
    .catch((error: unknown) => {
      if (isOpen) {
        const problem = makeElement('div', 'jp-nbedit-error');
        showAlert(problem, [host.describeError(error)]);
        element.append(problem);
      }
    })
    .finally(() => element.removeAttribute('aria-busy'));
  return () => {
    isOpen = false;
    diffViews.forEach(comparison => comparison.dispose());
    element.replaceChildren();
  };
}

/** Move the focus to the text of a diff when it is drawn. */
async function focusDiff(diffView: DiffView | undefined): Promise<void> {
  await diffView?.ready;
  diffView?.focus();
}

/** Make the button that restores the notebook, with the place for a problem. */
function makeRestoreAction(host: DetailHost): HTMLElement {
  const { trans } = host;
  const node = makeElement('div', 'jp-nbedit-restore-action');
  const problem = makeElement('div', 'jp-nbedit-error');
  const button = makeButton(trans.__('Restore to here…'), () => {
    showAlert(problem, []);
    void host.restore().then(text => showAlert(problem, [text]));
  });
  button.title = trans.__('Show what restores the notebook to how it was after this edit');
  node.append(button, problem);
  return node;
}

/** Make the section of one cell, or of the notebook's metadata. */
function makeSection(
  part: CellDiff,
  code: string,
  host: DetailHost,
  diffViews: DiffView[]
): HTMLElement {
  const { trans } = host;
  const position = describePosition(part, trans);
  const node = makeElement('div', 'jp-nbedit-cell-diff');
  node.setAttribute('role', 'group');
  node.setAttribute('aria-label', position);
  const head = makeElement('div', 'jp-nbedit-cell-diff-head');
  head.append(
    makeElement('h4', 'jp-nbedit-cell-diff-position', position),
    makeElement('span', 'jp-nbedit-cell-diff-changes', describeChanges(part, trans).join(', '))
  );
  const problem = makeElement('div', 'jp-nbedit-error');
  if (part.index !== null && part.after !== null) {
    const go = makeButton(trans.__('Go to cell'), () => {
      showAlert(problem, []);
      void host.goToCell(part).then(text => showAlert(problem, [text ?? '']));
    });
    go.setAttribute('aria-label', trans.__('Go to %1', position));
    head.append(go);
  }
  node.append(head, problem);
  const { before, after } = part;
  const addDiff = (texts: TextPair): void => {
    const { layout, languages, themes, path } = host;
    const diffView = new DiffView({ texts, layout, languages, themes, trans, path });
    diffViews.push(diffView);
    node.append(diffView.node);
  };
  const source = { before: before?.source ?? null, after: after?.source ?? null };
  if (source.before !== source.after) {
    const type = (after ?? before)?.cell_type ?? null;
    addDiff({ ...source, language: getCellLanguage(type, code), label: position });
  }
  const metadata = { before: formatMetadata(before), after: formatMetadata(after) };
  if (metadata.before !== metadata.after) {
    const hasCell = (after ?? before)?.cell_type != null;
    if (hasCell) {
      node.append(makeElement('div', 'jp-nbedit-cell-diff-label', trans.__('Metadata')));
    }
    const label = hasCell ? trans.__('Metadata of %1', position) : position;
    addDiff({ ...metadata, language: getCellLanguage(null, code), label });
  }
  return node;
}

/** Return metadata as text, or null if there is none. */
function formatMetadata(version: CellState | null): string | null {
  const metadata = version?.metadata ?? {};
  return Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata, null, 2);
}
