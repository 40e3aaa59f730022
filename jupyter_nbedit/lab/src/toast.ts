import { Notification } from '@jupyterlab/apputils';
import type { Share } from './shares';
import type { Outcome } from './takeback';
import { arrivalText, names, takenBackText, takingBackText } from './wording';

/** How long a toast is shown, in milliseconds. */
export const TOAST_TIME = 8000;

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

/** What a toast tells of. */
interface Toast extends Share {
  readonly id: string;
  readonly time: number;
}

/** The toasts about what comes into one notebook: one for each client. */
export class ArrivalToasts {
  constructor(private readonly _notebook: Told) {}

  /** Tell what came. It is added to the last toast of the same client while that is in sight. */
  show(share: Share): void {
    const who = names(share.clients);
    const shown = this._shown.get(who);
    const isInSight = shown !== undefined && Date.now() - shown.time < TOAST_TIME;
    const all = isInSight ? both(shown, share) : share;
    const positions = this._positions(all.cells);
    const message = arrivalText(who, this._notebook.file, positions, all);
    const options = {
      autoClose: TOAST_TIME,
      actions: [this._viewOf(all.cells), ...this._undo(who, all)]
    };
    let id = isInSight ? shown.id : undefined;
    if (id === undefined || !Notification.update({ id, message, ...options })) {
      this._dismiss(who);
      id = Notification.info(message, options);
    }
    this._shown.delete(who);
    this._shown.set(who, { ...all, id, time: Date.now() });
    const [oldest] = this._shown.keys();
    if (this._shown.size > CLIENTS && oldest !== undefined) {
      this._dismiss(oldest);
    }
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
    if (!Notification.update({ id, message: result, type, ...options })) {
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
