/**
 * What the user is told. Texts come from files and agents and are only ever set as text.
 *
 * Selectors that stay the same for tests and themes:
 * - `.jp-Cell.jp-nbedit-flash`: a cell that was just changed from outside
 * - `.jp-Cell.jp-nbedit-conflict`: a cell that both sides changed, until somebody has chosen
 * - `.jp-nbedit-compare`: the body of the dialog "Show both", with
 *   `.jp-nbedit-mine pre` and `.jp-nbedit-theirs pre`
 * - toasts are JupyterLab's (`.Toastify__toast`), their buttons are called `View`, and for a
 *   conflict `Keep mine`, `Take theirs` and `Show both`
 */
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { Cell as CellWidget } from '@jupyterlab/cells';
import { Widget } from '@lumino/widgets';
import type { ConflictKind } from './cell';
import { clean } from './names';

const FLASH = 'jp-nbedit-flash';
const CONFLICT = 'jp-nbedit-conflict';

/** How long a toast and a flash are shown, in milliseconds. */
const TOAST_TIME = 8000;
const FLASH_TIME = 2500;

/** More cells than this are counted, not listed. */
const LISTED_CELLS = 4;

/** What came into a notebook from outside. */
export interface Arrival {
  readonly file: string;
  /** Who changed it, if anybody said so. */
  readonly clients: readonly string[];
  /** Names of the cells that changed. */
  readonly cells: readonly string[];
  /** How many cells were removed. */
  readonly removed: number;
  /** Whether there may be more of both. */
  readonly isCut: boolean;
}

/** The sides of a conflict. */
export type Choice = 'mine' | 'theirs';

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

/** The toast about what came into one notebook. */
export class ArrivalToast {
  /**
   * Tell that something arrived. What comes from the same clients while the last toast is in sight
   * is added to it.
   *
   * @param position Where a cell stands now, from 0, or -1 if it is gone.
   * @param view Shows these cells.
   */
  show(
    arrival: Arrival,
    position: (cell: string) => number,
    view: (cells: readonly string[]) => void
  ): void {
    const who = names(arrival.clients);
    const now = Date.now();
    const last = this._last?.who === who && now - this._last.time < TOAST_TIME ? this._last : null;
    const cells = [...new Set([...(last?.cells ?? []), ...arrival.cells])];
    const removed = (last?.removed ?? 0) + arrival.removed;
    const isCut = last?.isCut === true || arrival.isCut;
    const positions = cells
      .map(position)
      .filter(index => index >= 0)
      .sort((a, b) => a - b);
    const message = describe(who, { ...arrival, removed, isCut }, positions);
    const options = {
      autoClose: TOAST_TIME,
      actions: [{ label: 'View', caption: 'Show the changed cells', callback: () => view(cells) }]
    };
    let id = last?.id;
    if (id === undefined || !Notification.update({ id, message, ...options })) {
      if (this._last !== null) {
        Notification.dismiss(this._last.id);
      }
      id = Notification.info(message, options);
    }
    this._last = { id, who, time: now, cells, removed, isCut };
  }

  private _last: {
    readonly id: string;
    readonly who: string;
    readonly time: number;
    readonly cells: readonly string[];
    readonly removed: number;
    readonly isCut: boolean;
  } | null = null;
}

/**
 * Ask which side of a conflict to keep.
 *
 * @returns Takes the question back.
 */
export function ask(question: Question, choose: (choice: Choice) => void): () => void {
  let id = '';
  let open = true;
  const close = (): void => {
    open = false;
    Notification.dismiss(id);
  };
  const show = (): void => {
    id = Notification.warning(conflictText(question), {
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

function describe(
  who: string,
  { file, removed, isCut }: Omit<Arrival, 'cells'>,
  positions: readonly number[]
): string {
  const parts = [
    ...(positions.length > 0 ? [listCells(positions)] : []),
    ...(removed > 0 ? [`${removed} ${removed === 1 ? 'cell' : 'cells'} removed`] : []),
    ...(isCut ? ['and others'] : [])
  ];
  const what = parts.length > 0 ? parts.join(', ') : 'the metadata';
  return who === ''
    ? `${clean(file)} changed on disk: ${what}`
    : `${who} edited ${clean(file)}: ${what}`;
}

function conflictText({ file, clients, kind, position }: Question): string {
  const who = names(clients) || 'Somebody';
  const cell = `cell ${position + 1} of ${clean(file)}`;
  switch (kind) {
    case 'changed':
      return `${who} changed ${cell}, and so did you. Your text was kept.`;
    case 'deleted-on-disk':
      return `${who} deleted ${cell}, which you changed. It was kept.`;
    case 'deleted-here':
      return `${who} changed ${cell}, which you deleted. It was put back.`;
  }
}

function listCells(cells: readonly number[]): string {
  const listed = cells.slice(0, LISTED_CELLS).map(index => `${index + 1}`);
  const more = cells.length - listed.length;
  const last = more > 0 ? `${more} more` : listed.pop();
  const text = listed.length > 0 ? `${listed.join(', ')} and ${last}` : last;
  return `${cells.length === 1 ? 'cell' : 'cells'} ${text}`;
}

function names(clients: readonly string[]): string {
  return [...new Set(clients.map(clean))].filter(name => name !== '').join(', ');
}
