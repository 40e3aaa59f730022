/** Prompts for conflicts. Texts come from files and agents and are only ever set as text. */
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { ConflictKind } from '../merge/cellMerge';
import { cleanName } from '../ui/displayText';
import { TOAST_TIME } from './toasts';
import { describeConflict, formatClients, type ConflictChoice } from './wording';

/** A conflict as it is shown to the user. */
export interface ConflictQuestion {
  readonly file: string;
  readonly clients: readonly string[];
  readonly kind: ConflictKind;
  /** The index of the cell. */
  readonly position: number;
  readonly mine: string | null;
  readonly theirs: string | null;
}

/**
 * Ask the user which side of a conflict to keep.
 *
 * @returns A function that closes the prompt.
 */
export function showConflictPrompt(
  question: ConflictQuestion,
  choose: (choice: ConflictChoice) => void,
  trans: TranslationBundle
): () => void {
  const { clients, file, kind, position } = question;
  let id = '';
  let isOpen = true;
  const close = (): void => {
    isOpen = false;
    Notification.dismiss(id);
  };
  const show = (): void => {
    id = Notification.warning(describeConflict(clients, file, kind, position, null, trans), {
      autoClose: false,
      actions: [
        { label: trans.__('Keep mine'), callback: () => choose('mine') },
        { label: trans.__('Take theirs'), callback: () => choose('theirs') },
        { label: trans.__('Show both'), callback: () => void compareAndChoose() }
      ]
    });
  };
  const compareAndChoose = async (): Promise<void> => {
    const choice = await showBothSides(question, trans);
    if (isOpen && choice !== null) {
      choose(choice);
    } else if (isOpen) {
      show();
    }
  };
  show();
  return close;
}

/** Show which side was chosen by the setting `conflict`. */
export function showConflictChoice(
  question: ConflictQuestion,
  choice: ConflictChoice,
  view: () => void,
  trans: TranslationBundle
): void {
  const { clients, file, kind, position } = question;
  Notification.info(describeConflict(clients, file, kind, position, choice, trans), {
    autoClose: TOAST_TIME,
    actions: [{ label: trans.__('View'), caption: trans.__('Show the cell'), callback: view }]
  });
}

async function showBothSides(
  question: ConflictQuestion,
  trans: TranslationBundle
): Promise<ConflictChoice | null> {
  const body = new Widget();
  body.addClass('jp-nbedit-compare');
  body.node.append(
    makeSide('jp-nbedit-mine', trans.__('Yours'), question.mine, trans),
    makeSide(
      'jp-nbedit-theirs',
      formatClients(question.clients, trans) || trans.__('On disk'),
      question.theirs,
      trans
    )
  );
  const { button } = await showDialog({
    title: trans.__('Cell %1 of %2', question.position + 1, cleanName(question.file)),
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

function makeSide(
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
