import { Notification } from '@jupyterlab/apputils';
import type { Share } from './shares';
import type { Outcome } from './takeback';
import { arrivalText, names, takenBackText, takingBackText } from './wording';

/** How long a toast is shown, in milliseconds. */
export const TOAST_TIME = 8000;

/** For how long at most a toast is waited for that is on its way in, in milliseconds. */
const COMING_TIME = 3000;

/** How often is looked whether it has come, in milliseconds. */
const LOOK_TIME = 50;

/** How many clients have a toast of their own: one that changes its name must not fill the list. */
const CLIENTS = 5;

/** The notebook that toasts are about. */
export interface Told {
  /** The name of its file. */
  readonly file: string;
  /** Where a cell stands now, from 0, or -1 if it is gone. */
  position(cell: string): number;
  /** Show these cells. */
  view(cells: readonly string[]): void;
  /** Take these edits back. */
  takeBack(edits: readonly number[]): Promise<Outcome>;
}

/** A toast, and what it tells of. */
interface Toast {
  readonly id: string;
  told: Share;
  /** When it told of that. */
  time: number;
  /** What it does not tell of yet. */
  waiting: Share[];
}

/** The toasts about what comes into one notebook: one for each client. */
export class ArrivalToasts {
  constructor(private readonly _notebook: Told) {}

  /** Tell what came. It is added to the last toast of the same client while that is in sight. */
  show(share: Share): void {
    const who = names(share.clients);
    const shown = this._shown.get(who);
    if (shown === undefined || Date.now() - shown.time >= TOAST_TIME) {
      // In a tab that is out of sight some may wait for very long.
      this._showNew(who, [...(shown?.waiting ?? []), share].reduce(both));
    } else if (shown.waiting.push(share) === 1) {
      this._showWaiting(who, shown);
    }
  }

  private _showNew(who: string, told: Share): void {
    this._dismiss(who);
    const id = Notification.info(this._text(who, told), this._options(who, told));
    this._shown.set(who, { id, told, time: Date.now(), waiting: [] });
    const [oldest] = this._shown.keys();
    if (this._shown.size > CLIENTS && oldest !== undefined) {
      this._dismiss(oldest);
    }
  }

  private _showWaiting(who: string, shown: Toast): void {
    if (this._shown.get(who) !== shown) {
      return;
    }
    const stage = stageOf(shown.id);
    if (stage === 'coming' && Date.now() - shown.time < COMING_TIME) {
      setTimeout(() => this._showWaiting(who, shown), LOOK_TIME);
      return;
    }
    const told = shown.waiting.splice(0).reduce(both, shown.told);
    const update = { id: shown.id, message: this._text(who, told), ...this._options(who, told) };
    if (stage === 'going' || !Notification.update(update)) {
      this._showNew(who, told);
    } else {
      // The oldest is the one that has been silent longest.
      this._shown.delete(who);
      this._shown.set(who, shown);
      Object.assign(shown, { told, time: Date.now() });
    }
  }

  private _text(who: string, told: Share): string {
    return arrivalText(who, this._notebook.file, this._positions(told.cells), told);
  }

  private _options(who: string, told: Share): Notification.IOptions<null> {
    return { autoClose: TOAST_TIME, actions: [this._viewOf(told.cells), ...this._undo(who, told)] };
  }

  private _viewOf(cells: readonly string[]): Notification.IAction {
    const callback = (): void => this._notebook.view(cells);
    return { label: 'View', caption: 'Show these cells', callback };
  }

  /** The button "Undo", where all that is told of can be taken back. */
  private _undo(who: string, share: Share): Notification.IAction[] {
    return share.isWhole
      ? [
          {
            label: 'Undo',
            caption: share.edits.length === 1 ? 'Take this edit back' : 'Take these edits back',
            callback: event => {
              // The toast stays, to tell how it went.
              event.preventDefault();
              void this._takeBack(who, share.edits);
            }
          }
        ]
      : [];
  }

  private async _takeBack(who: string, edits: readonly number[]): Promise<void> {
    const shown = this._shown.get(who);
    if (shown === undefined) {
      return;
    }
    // What comes meanwhile has a toast of its own.
    this._shown.delete(who);
    shown.waiting.forEach(share => this.show(share));
    const { file } = this._notebook;
    const { id } = shown;
    const message = takingBackText(who, file, edits.length);
    Notification.update({ id, message, type: 'in-progress', autoClose: false, actions: [] });
    const outcome = await this._notebook.takeBack(edits);
    const inTheWay = [...new Set(outcome.cells.flatMap(({ cell_id: cell }) => cell ?? []))];
    const nameless = outcome.cells.filter(({ cell_id: cell }) => cell === null);
    const positions = [
      ...this._positions(inTheWay),
      ...nameless.flatMap(({ index }) => index ?? [])
    ];
    const gone = inTheWay.length + nameless.length - positions.length;
    const isDone = outcome.undone === outcome.asked;
    const options = {
      autoClose: isDone ? TOAST_TIME : (false as const),
      actions: inTheWay.length > 0 ? [this._viewOf(inTheWay)] : []
    };
    const result = takenBackText(who, file, outcome, positions, gone);
    const type = isDone ? 'success' : outcome.failure === null ? 'warning' : 'error';
    if (
      stageOf(id) === 'going' ||
      !Notification.update({ id, message: result, type, ...options })
    ) {
      Notification.dismiss(id);
      Notification.emit(result, type, options);
    }
  }

  private _positions(cells: readonly string[]): number[] {
    return cells
      .map(cell => this._notebook.position(cell))
      .filter(position => position >= 0)
      .sort((a, b) => a - b);
  }

  private _dismiss(who: string): void {
    const shown = this._shown.get(who);
    if (shown !== undefined) {
      Notification.dismiss(shown.id);
      this._shown.delete(who);
    }
  }

  private readonly _shown = new Map<string, Toast>();
}

/**
 * Tell whether a toast is on its way in, or out.
 *
 * JupyterLab loses what a toast is told before it is drawn or when it is on its way out, and one
 * that is told something on its way in may go at once. The toast's element has the notification's
 * id, and says by its classes how it moves.
 */
function stageOf(id: string): 'coming' | 'up' | 'going' {
  const node = document.getElementById(id);
  if (node === null) {
    return 'coming';
  }
  const moves = node.classList.contains('Toastify--animate');
  return !moves ? 'up' : /__[a-z]+-exit/.test(node.className) ? 'going' : 'coming';
}

function both(before: Share, after: Share): Share {
  return {
    clients: after.clients,
    edits: [...before.edits, ...after.edits],
    isWhole: before.isWhole && after.isWhole,
    cells: [...new Set([...before.cells, ...after.cells])],
    removed: before.removed + after.removed,
    isOfNotebook: before.isOfNotebook || after.isOfNotebook,
    isCut: before.isCut || after.isCut
  };
}
