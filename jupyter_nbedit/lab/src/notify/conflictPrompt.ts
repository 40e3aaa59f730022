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
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { ConflictKind } from '../merge/cellMerge';
import { clean } from '../ui/displayText';
import { TOAST_TIME } from './toasts';
import { conflictText, names, type Choice } from './wording';

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
export function ask(
  question: Question,
  choose: (choice: Choice) => void,
  trans: TranslationBundle
): () => void {
  const { clients, file, kind, position } = question;
  let id = '';
  let open = true;
  const close = (): void => {
    open = false;
    Notification.dismiss(id);
  };
  const show = (): void => {
    id = Notification.warning(conflictText(clients, file, kind, position, null, trans), {
      autoClose: false,
      actions: [
        { label: trans.__('Keep mine'), callback: () => choose('mine') },
        { label: trans.__('Take theirs'), callback: () => choose('theirs') },
        { label: trans.__('Show both'), callback: () => void compareAndChoose() }
      ]
    });
  };
  const compareAndChoose = async (): Promise<void> => {
    const choice = await compare(question, trans);
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
export function tellChoice(
  question: Question,
  choice: Choice,
  view: () => void,
  trans: TranslationBundle
): void {
  const { clients, file, kind, position } = question;
  Notification.info(conflictText(clients, file, kind, position, choice, trans), {
    autoClose: TOAST_TIME,
    actions: [{ label: trans.__('View'), caption: trans.__('Show the cell'), callback: view }]
  });
}

async function compare(question: Question, trans: TranslationBundle): Promise<Choice | null> {
  const body = new Widget();
  body.addClass('jp-nbedit-compare');
  body.node.append(
    side('jp-nbedit-mine', trans.__('Yours'), question.mine, trans),
    side(
      'jp-nbedit-theirs',
      names(question.clients, trans) || trans.__('On disk'),
      question.theirs,
      trans
    )
  );
  const { button } = await showDialog({
    title: trans.__('Cell %1 of %2', question.position + 1, clean(question.file)),
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Decide later') }),
      Dialog.createButton({ label: trans.__('Take theirs'), actions: ['theirs'] }),
      Dialog.okButton({ label: trans.__('Keep mine'), actions: ['mine'] })
    ]
  });
  const choice = button.actions[0];
  return choice === 'mine' || choice === 'theirs' ? choice : null;
}

function side(
  className: string,
  title: string,
  source: string | null,
  trans: TranslationBundle
): HTMLElement {
  const section = document.createElement('section');
  section.className = className;
  const heading = document.createElement('h3');
  heading.textContent = title;
  const text = document.createElement('pre');
  text.textContent = source ?? trans.__('(deleted)');
  text.tabIndex = 0;
  section.append(heading, text);
  return section;
}
