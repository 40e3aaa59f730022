/**
 * What the user is told. Texts come from files and agents and are only ever set as text.
 *
 * Selectors that stay the same for tests and themes:
 * - `.jp-Cell.jp-nbedit-flash`: a cell that was just changed from outside
 * - `.jp-Cell.jp-nbedit-conflict`: a cell that both sides changed, until somebody has chosen
 * - `.jp-nbedit-compare`: the body of the dialog "Show both", with
 *   `.jp-nbedit-mine pre` and `.jp-nbedit-theirs pre`
 * - `.jp-nbedit-mark` in a cell: it was changed from outside, and not looked at since
 * - toasts are JupyterLab's (`.Toastify__toast`), their buttons are called `View` and `Undo`, and
 *   for a conflict `Keep mine`, `Take theirs` and `Show both`
 */
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { Cell as CellWidget } from '@jupyterlab/cells';
import { Widget } from '@lumino/widgets';
import type { ConflictKind } from './cell';
import { clean } from './names';
import { TOAST_TIME } from './toast';
import { conflictText, names, type Choice } from './wording';

const FLASH = 'jp-nbedit-flash';
const CONFLICT = 'jp-nbedit-conflict';

/** How long a flash is shown, in milliseconds. */
const FLASH_TIME = 2500;

/** A cell that both sides changed, as it is shown to the one who has to choose. */
export interface Question {
  readonly file: string;
  readonly clients: readonly string[];
  readonly kind: ConflictKind;
  /** The cell's position, from 0. */
  readonly position: number;
  readonly mine: string | null;
  readonly theirs: string | null;
}

/**
 * Ask which side of a conflict to keep.
 *
 * @returns Takes the question back.
 */
export function ask(question: Question, choose: (choice: Choice) => void): () => void {
  const { clients, file, kind, position } = question;
  let id = '';
  let open = true;
  const close = (): void => {
    open = false;
    Notification.dismiss(id);
  };
  const show = (): void => {
    id = Notification.warning(conflictText(clients, file, kind, position, null), {
      autoClose: false,
      actions: [
        { label: 'Keep mine', callback: () => choose('mine') },
        { label: 'Take theirs', callback: () => choose('theirs') },
        { label: 'Show both', callback: () => void compareAndChoose() }
      ]
    });
  };
  const compareAndChoose = async (): Promise<void> => {
    const choice = await compare(question);
    if (open && choice !== null) {
      choose(choice);
    } else if (open) {
      show();
    }
  };
  show();
  return close;
}

/** Tell what was chosen for the user, as he has set it. */
export function tellChoice(question: Question, choice: Choice, view: () => void): void {
  const { clients, file, kind, position } = question;
  Notification.info(conflictText(clients, file, kind, position, choice), {
    autoClose: TOAST_TIME,
    actions: [{ label: 'View', caption: 'Show the cell', callback: view }]
  });
}

/** Tell once that a text file with unsaved changes has changed on disk. */
export function warnAboutFile(file: string): void {
  Notification.warning(
    `${clean(file)} changed on disk. You have unsaved changes: saving will ask which to keep.`,
    { autoClose: false }
  );
}

/** Draw the eye to a cell for a moment. */
export function flash(cell: CellWidget): void {
  cell.removeClass(FLASH);
  // The browser starts an animation anew only if it has seen the class gone.
  cell.node.getBoundingClientRect();
  cell.addClass(FLASH);
  setTimeout(() => cell.removeClass(FLASH), FLASH_TIME);
}

/** Mark or unmark a cell as one that both sides changed. */
export function markConflict(cell: CellWidget, isOpen: boolean): void {
  cell.toggleClass(CONFLICT, isOpen);
}

async function compare(question: Question): Promise<Choice | null> {
  const body = new Widget();
  body.addClass('jp-nbedit-compare');
  body.node.append(
    side('jp-nbedit-mine', 'Yours', question.mine),
    side('jp-nbedit-theirs', names(question.clients) || 'On disk', question.theirs)
  );
  const { button } = await showDialog({
    title: `Cell ${question.position + 1} of ${clean(question.file)}`,
    body,
    buttons: [
      Dialog.cancelButton({ label: 'Decide later' }),
      Dialog.createButton({ label: 'Take theirs', actions: ['theirs'] }),
      Dialog.okButton({ label: 'Keep mine', actions: ['mine'] })
    ]
  });
  const choice = button.actions[0];
  return choice === 'mine' || choice === 'theirs' ? choice : null;
}

function side(className: string, title: string, source: string | null): HTMLElement {
  const section = document.createElement('section');
  section.className = className;
  const heading = document.createElement('h3');
  heading.textContent = title;
  const text = document.createElement('pre');
  text.textContent = source ?? '(deleted)';
  text.tabIndex = 0;
  section.append(heading, text);
  return section;
}
