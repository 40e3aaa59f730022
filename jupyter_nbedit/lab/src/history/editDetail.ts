import type { CellDiff, DetailedEdit } from '../server/models';
import type { WriteRight } from '../server/writeRight';
import { makeButton, makeElement, showAlert } from '../ui/elements';
import { CellDiffList, type CellDiffListOptions } from './cellDiffList';

/** What is needed to show the cell diffs of an edit. */
export interface DetailHost extends CellDiffListOptions {
  readonly right: WriteRight;
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
  let list: CellDiffList | null = null;
  let isOpen = true;
  element.setAttribute('aria-busy', 'true');
  void Promise.all([host.fetchEdit(), host.getCodeLanguage()])
    .then(([edit, code]) => {
      if (!isOpen) {
        return;
      }
      element.append(...host.right.offer([makeRestoreAction(host)]));
      list = new CellDiffList(edit.parts, code, host);
      element.append(list.node);
      return list.ready.then(() => {
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
    list?.dispose();
    element.replaceChildren();
  };
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
