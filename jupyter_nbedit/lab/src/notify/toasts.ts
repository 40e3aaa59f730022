import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Outcome } from '../server/undoEdits';
import { withoutEdit, type Share } from './attribution';
import { arrivalText, names, takenBackText, takingBackText } from './wording';

/** How long a toast is shown, in milliseconds. */
export const TOAST_TIME = 8000;

/** For how long at most a toast is waited for that is on its way in, in milliseconds. */
const COMING_TIME = 3000;

/** How often is looked whether it has come, in milliseconds. */
const LOOK_TIME = 50;

/** How many clients have a toast of their own: one that changes its name must not fill the list. */
const CLIENTS = 5;

/** How many edits that were taken back are remembered: those that may still be told of. */
const REMEMBERED = 1000;

/** The notebook that toasts are about. */
export interface Told {
  /** The name of its file. */
  readonly file: string;
  /** Return where cells stand now, from 0, in order; those that are gone are left out. */
  positions(cells: readonly string[]): number[];
  /** Show these cells. */
  view(cells: readonly string[]): void;
  /** Take these edits back. */
  takeBack(edits: readonly number[]): Promise<Outcome>;
}

/** A toast, and what it tells of. */
interface Toast {
  readonly id: string;
  told: readonly Share[];
  /** When it told of that. */
  time: number;
  /** What it does not tell of yet. */
  waiting: readonly Share[];
  /** Whether it was in sight. */
  hasBeenUp: boolean;
  /** Whether it is to be told what has changed as soon as it can be. */
  isUpdating: boolean;
}

/**
 * The toasts about what comes into one notebook: one for each client.
 *
 * A toast tells only of what its reader has still to see: what it told before it was dismissed, and
 * edits that were taken back, are in no toast.
 */
export class ArrivalToasts {
  constructor(
    private readonly _notebook: Told,
    private readonly _trans: TranslationBundle
  ) {}

  /** Tell what came. It is added to the last toast of the same client while that is in sight. */
  show(share: Share): void {
    const left = share.edits
      .filter(({ id }) => this._undone.has(id))
      .reduce<Share | null>((rest, { id }) => rest && withoutEdit(rest, id), share);
    if (left === null) {
      return;
    }
    const who = names(share.clients, this._trans);
    const shown = this._shown.get(who);
    if (shown === undefined || Date.now() - shown.time >= TOAST_TIME || isGone(shown)) {
      // In a tab that is out of sight some may wait for very long.
      this._showNew(who, [...(shown?.waiting ?? []), left]);
    } else {
      shown.waiting = [...shown.waiting, left];
      this._update(who, shown);
    }
  }

  /** Tell no more of an edit that was taken back. */
  withdraw(edit: number): void {
    this._undone.add(edit);
    const [oldest] = this._undone;
    if (this._undone.size > REMEMBERED && oldest !== undefined) {
      this._undone.delete(oldest);
    }
    const without = (shares: readonly Share[]): Share[] =>
      shares.flatMap(share => withoutEdit(share, edit) ?? []);
    for (const [who, shown] of [...this._shown]) {
      if ([...shown.told, ...shown.waiting].every(share => !hasEdit(share, edit))) {
        continue;
      }
      shown.told = without(shown.told);
      shown.waiting = without(shown.waiting);
      if (shown.told.length > 0) {
        this._update(who, shown);
      } else if (shown.waiting.length > 0) {
        this._showNew(who, shown.waiting);
      } else {
        this._dismiss(who);
      }
    }
  }

  private _showNew(who: string, told: readonly Share[]): void {
    this._dismiss(who);
    const id = Notification.info(this._text(who, told), this._options(who, told));
    const shown = {
      id,
      told,
      time: Date.now(),
      waiting: [],
      hasBeenUp: false,
      isUpdating: false
    };
    this._shown.set(who, shown);
    this._watch(shown);
    const [oldest] = this._shown.keys();
    if (this._shown.size > CLIENTS && oldest !== undefined) {
      this._dismiss(oldest);
    }
  }

  /** Notice when a toast comes up: one that is not there after that was dismissed. */
  private _watch(shown: Toast): void {
    if (document.getElementById(shown.id) !== null) {
      shown.hasBeenUp = true;
    } else if (Date.now() - shown.time < COMING_TIME) {
      setTimeout(() => this._watch(shown), LOOK_TIME);
    }
  }

  /** Bring a toast up to date as soon as that can be. */
  private _update(who: string, shown: Toast): void {
    if (!shown.isUpdating) {
      shown.isUpdating = true;
      this._updateNow(who, shown);
    }
  }

  private _updateNow(who: string, shown: Toast): void {
    if (this._shown.get(who) !== shown) {
      return;
    }
    const hasNews = shown.waiting.length > 0;
    if (isGone(shown)) {
      this._shown.delete(who);
      if (hasNews) {
        this._showNew(who, shown.waiting);
      }
      return;
    }
    if (stageOf(shown.id) === 'coming' && Date.now() - shown.time < COMING_TIME) {
      setTimeout(() => this._updateNow(who, shown), LOOK_TIME);
      return;
    }
    const told = [...shown.told, ...shown.waiting];
    Notification.update({
      id: shown.id,
      message: this._text(who, told),
      ...this._options(who, told)
    });
    Object.assign(shown, { told, waiting: [], isUpdating: false });
    if (hasNews) {
      shown.time = Date.now();
      // The oldest is the one that has been silent longest.
      this._shown.delete(who);
      this._shown.set(who, shown);
    }
  }

  private _text(who: string, told: readonly Share[]): string {
    const all = combine(told);
    const positions = this._notebook.positions(all.cells);
    return arrivalText(who, this._notebook.file, positions, all, this._trans);
  }

  private _options(who: string, told: readonly Share[]): Notification.IOptions<null> {
    const all = combine(told);
    return { autoClose: TOAST_TIME, actions: [this._viewOf(all.cells), ...this._undo(who, all)] };
  }

  private _viewOf(cells: readonly string[]): Notification.IAction {
    const callback = (): void => this._notebook.view(cells);
    return {
      label: this._trans.__('View'),
      caption: this._trans.__('Show these cells'),
      callback
    };
  }

  /** The button "Undo", where all that is told of can be taken back. */
  private _undo(who: string, { edits, isWhole }: Share): Notification.IAction[] {
    const count = edits.length;
    return isWhole
      ? [
          {
            label: this._trans.__('Undo'),
            caption: this._trans._n('Take this edit back', 'Take these edits back', count),
            callback: event => {
              // The toast stays, to tell how it went.
              event.preventDefault();
              void this._takeBack(
                who,
                edits.map(({ id }) => id)
              );
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
    const message = takingBackText(who, file, edits.length, this._trans);
    Notification.update({ id, message, type: 'in-progress', autoClose: false, actions: [] });
    const outcome = await this._notebook.takeBack(edits);
    const inTheWay = [...new Set(outcome.cells.flatMap(({ cell_id: cell }) => cell ?? []))];
    const nameless = outcome.cells.filter(({ cell_id: cell }) => cell === null);
    const positions = [
      ...this._notebook.positions(inTheWay),
      ...nameless.flatMap(({ index }) => index ?? [])
    ];
    const gone = inTheWay.length + nameless.length - positions.length;
    const isDone = outcome.undone === outcome.asked;
    const options = {
      autoClose: isDone ? TOAST_TIME : (false as const),
      actions: inTheWay.length > 0 ? [this._viewOf(inTheWay)] : []
    };
    const result = takenBackText(who, file, outcome, positions, gone, this._trans);
    const type = isDone ? 'success' : outcome.failure === null ? 'warning' : 'error';
    if (
      stageOf(id) === 'going' ||
      !Notification.update({ id, message: result, type, ...options })
    ) {
      Notification.dismiss(id);
      Notification.emit(result, type, options);
    }
  }

  private _dismiss(who: string): void {
    const shown = this._shown.get(who);
    if (shown !== undefined) {
      Notification.dismiss(shown.id);
      this._shown.delete(who);
    }
  }

  private readonly _shown = new Map<string, Toast>();
  /** Edits that were taken back, of which the news may come later. */
  private readonly _undone = new Set<number>();
}

/** Whether a toast was dismissed, or is on its way out. */
function isGone({ id, hasBeenUp }: Toast): boolean {
  const isHidden = hasBeenUp && document.getElementById(id) === null;
  return isHidden || stageOf(id) === 'going' || !Notification.manager.has(id);
}

function hasEdit({ edits }: Share, edit: number): boolean {
  return edits.some(({ id }) => id === edit);
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

/** Return one share for several of one client. */
function combine(shares: readonly Share[]): Share {
  return {
    clients: shares.at(-1)?.clients ?? [],
    edits: shares.flatMap(({ edits }) => edits),
    isWhole: shares.every(({ isWhole }) => isWhole),
    cells: [...new Set(shares.flatMap(({ cells }) => cells))],
    removed: shares.reduce((sum, { removed }) => sum + removed, 0),
    isOfNotebook: shares.some(({ isOfNotebook }) => isOfNotebook),
    isCut: shares.some(({ isCut }) => isCut)
  };
}
