import { Dialog, showDialog } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';
import { describeError } from '../notify/wording';
import type { NbEditClient } from '../server/client';
import type { HistoryEdit } from '../server/models';
import type { NbEditServices } from '../services/servicesPlugin';
import type { DiffLayout } from '../ui/codeMirrorDiff';
import { makeButton, makeElement, showAlert } from '../ui/elements';
import { CellDiffList, type CellDiffListOptions } from './cellDiffList';
import type { HistoryModel } from './historyModel';
import type { NotebookNavigator } from './notebookNavigator';
import { describeRestore, describeUndoError } from './wording';

/** What is needed to show the cell diffs of an edit. */
export interface DetailHost {
  readonly services: NbEditServices;
  readonly model: HistoryModel;
  readonly navigator: NotebookNavigator;
}

/**
 * Show the cell diffs of an edit in an element.
 *
 * @param onShown Called when they are shown.
 * @returns A function that removes them.
 */
export function showDetail(
  element: HTMLElement,
  edit: HistoryEdit,
  layout: DiffLayout,
  { services, model, navigator }: DetailHost,
  onShown: () => void
): () => void {
  const { languages, right, server, themes, trans } = services;
  const { path, edit_id: id } = edit;
  const options = { trans, languages, themes, layout, path };
  const getCodeLanguage = async (): Promise<string> =>
    navigator.getCodeLanguage(path) ?? readLanguage(server, path);
  const restore = async (): Promise<string> => {
    try {
      return await restoreNotebook(edit, server, await getCodeLanguage(), options);
    } catch (error) {
      return describeUndoError(error, 'undo', trans).join(' ');
    } finally {
      await model.refresh();
    }
  };
  let list: CellDiffList | null = null;
  let isOpen = true;
  element.setAttribute('aria-busy', 'true');
  void Promise.all([server.getEdit(path, id), getCodeLanguage()])
    .then(([{ parts }, code]) => {
      if (!isOpen) {
        return;
      }
      element.append(...right.offer([makeRestoreAction(restore, services)]));
      list = new CellDiffList(parts, code, {
        ...options,
        goToCell: async part =>
          (await navigator.goToCell(path, part)) ? null : trans.__('This cell is gone.')
      });
      element.append(list.node);
      return list.ready.then(() => {
        if (isOpen) {
          onShown();
        }
      });
    })
    .catch((error: unknown) => {
      if (isOpen) {
        const problem = makeElement('div', 'jp-nbedit-error');
        showAlert(problem, [describeError(error, trans)]);
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

/**
 * Make the button that restores the notebook, with the place for a problem.
 *
 * @param restore Returns what the user should know, or ''.
 */
function makeRestoreAction(restore: () => Promise<string>, { trans }: NbEditServices): HTMLElement {
  const node = makeElement('div', 'jp-nbedit-restore-action');
  const problem = makeElement('div', 'jp-nbedit-error');
  const button = makeButton(trans.__('Restore to here…'), () => {
    showAlert(problem, []);
    void restore().then(text => showAlert(problem, [text]));
  });
  button.title = trans.__('Show what restores the notebook to how it was after this edit');
  node.append(button, problem);
  return node;
}

/**
 * Show what would change if a notebook was again as it was after an edit, and restore it if the
 * user confirms.
 *
 * The notebook is not changed if it has changed since it was shown.
 *
 * @param codeLanguage The language of the notebook's code.
 * @returns What the user should know, or '' if the notebook is restored or the user has cancelled.
 */
async function restoreNotebook(
  edit: HistoryEdit,
  server: NbEditClient,
  codeLanguage: string,
  options: CellDiffListOptions
): Promise<string> {
  const { path, edit_id: id } = edit;
  const { trans } = options;
  const preview = await server.restore(path, id, { dry_run: true });
  if (preview.hash === preview.hash_before) {
    return trans.__('The notebook is as it was after this edit.');
  }
  const cells = new CellDiffList(preview.parts, codeLanguage, options);
  // Drawn before they are shown, so that the dialog does not grow.
  await cells.ready;
  const box = makeElement('div', 'jp-nbedit-restore-cells');
  // It can be scrolled with the keyboard.
  box.tabIndex = 0;
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', trans.__('What will change'));
  box.append(cells.node);
  const body = new Widget();
  body.addClass('jp-nbedit-restore');
  body.node.append(
    makeElement('p', '', describeRestore(edit, trans)),
    makeElement('p', '', trans.__('The restore is one edit, which you can undo.')),
    box
  );
  const { button } = await showDialog({
    title: trans.__('Restore the notebook?'),
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({ label: trans.__('Restore') })
    ]
  });
  cells.dispose();
  if (button.accept) {
    const { hash_before: hash } = preview;
    await server.restore(path, id, hash === null ? {} : { hash });
  }
  return '';
}

/** If the notebook cannot be read, the language is unknown. */
async function readLanguage(server: NbEditClient, path: string): Promise<string> {
  try {
    return (await server.getLanguage(path)) ?? 'text/plain';
  } catch {
    return 'text/plain';
  }
}
