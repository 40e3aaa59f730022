import { Dialog, showDialog } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';
import type { NbEditClient } from '../server/client';
import type { HistoryEdit } from '../server/models';
import { makeElement } from '../ui/elements';
import { CellDiffList, type CellDiffListOptions } from './cellDiffList';
import { describeRestore } from './wording';

/**
 * Show what would change if a notebook was again as it was after an edit, and restore it if the
 * user confirms.
 *
 * The notebook is not changed if it has changed since it was shown.
 *
 * @param codeLanguage The language of the notebook's code.
 * @returns What the user should know, or '' if the notebook is restored or the user has cancelled.
 */
export async function restoreNotebook(
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
