import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { UndoResult } from '../server/undoEdits';
import { findBypassedMode, removeEdit, type AttributedChange } from './attribution';
import {
  describeIncomingChange,
  describeUndoProgress,
  describeUndoResult,
  formatClients
} from './wording';

/** How long a toast is shown, in milliseconds. */
export const TOAST_TIME = 8000;

/** Maximum time that a toast takes to appear, in milliseconds. */
const MAX_ENTER_TIME = 3000;

/** Interval of checks whether a toast has appeared, in milliseconds. */
const POLL_INTERVAL = 50;

/** Maximum number of toasts, one for each client: a client may change its name. */
const MAX_CLIENTS = 5;

/** Number of undone edits that are remembered, because their events may arrive later. */
const MAX_REMEMBERED = 1000;

/** The notebook that the toasts are about. */
export interface ToastHost {
  /** The name of the file. */
  readonly fileName: string;
  /** Return the current indexes of cells, in ascending order, without cells that are removed. */
  getPositions(cells: readonly string[]): number[];
  /** Show these cells. */
  viewCells(cells: readonly string[]): void;
  /** Undo these edits. */
  undoEdits(edits: readonly number[]): Promise<UndoResult>;
}

/** A toast and the changes it shows. */
interface Toast {
  readonly id: string;
  shownChanges: readonly AttributedChange[];
  /** When the shown changes were last extended. */
  shownAt: number;
  /** Changes that it does not show yet. */
  pendingChanges: readonly AttributedChange[];
  /** Whether it has been visible. */
  wasVisible: boolean;
  /** Whether an update is scheduled. */
  isUpdating: boolean;
}

/**
 * The toasts about incoming changes of one notebook: one for each client.
 *
 * A toast shows only what is new to the user: no changes of a dismissed toast, and no undone edits.
 */
export class IncomingChangeToasts {
  constructor(
    private readonly _notebook: ToastHost,
    private readonly _trans: TranslationBundle
  ) {}

  /** Show a change. It is added to the toast of the same client while that is visible. */
  show(change: AttributedChange): void {
    const remaining = change.edits
      .filter(({ id }) => this._undoneEdits.has(id))
      .reduce<AttributedChange | null>((rest, { id }) => rest && removeEdit(rest, id), change);
    if (remaining === null) {
      return;
    }
    const clientNames = formatClients(change.clients, this._trans);
    const toast = this._toasts.get(clientNames);
    if (toast === undefined || Date.now() - toast.shownAt >= TOAST_TIME || isDismissed(toast)) {
      // In a hidden page, changes may wait for a long time.
      this._showNew(clientNames, [...(toast?.pendingChanges ?? []), remaining]);
    } else {
      toast.pendingChanges = [...toast.pendingChanges, remaining];
      this._update(clientNames, toast);
    }
  }

  /** Remove an undone edit from the toasts. */
  withdrawEdit(editId: number): void {
    this._undoneEdits.add(editId);
    const [oldest] = this._undoneEdits;
    if (this._undoneEdits.size > MAX_REMEMBERED && oldest !== undefined) {
      this._undoneEdits.delete(oldest);
    }
    const removeFrom = (changes: readonly AttributedChange[]): AttributedChange[] =>
      changes.flatMap(change => removeEdit(change, editId) ?? []);
    for (const [clientNames, toast] of [...this._toasts]) {
      if (
        [...toast.shownChanges, ...toast.pendingChanges].every(
          change => !includesEdit(change, editId)
        )
      ) {
        continue;
      }
      toast.shownChanges = removeFrom(toast.shownChanges);
      toast.pendingChanges = removeFrom(toast.pendingChanges);
      if (toast.shownChanges.length > 0) {
        this._update(clientNames, toast);
      } else if (toast.pendingChanges.length > 0) {
        this._showNew(clientNames, toast.pendingChanges);
      } else {
        this._dismiss(clientNames);
      }
    }
  }

  private _showNew(clientNames: string, changes: readonly AttributedChange[]): void {
    this._dismiss(clientNames);
    const id = Notification.info(
      this._getMessage(clientNames, changes),
      this._getOptions(clientNames, changes)
    );
    const toast = {
      id,
      shownChanges: changes,
      shownAt: Date.now(),
      pendingChanges: [],
      wasVisible: false,
      isUpdating: false
    };
    this._toasts.set(clientNames, toast);
    this._watchVisibility(toast);
    const [oldest] = this._toasts.keys();
    if (this._toasts.size > MAX_CLIENTS && oldest !== undefined) {
      this._dismiss(oldest);
    }
  }

  /** Record when a toast appears: if it is missing after that, it was dismissed. */
  private _watchVisibility(toast: Toast): void {
    if (document.getElementById(toast.id) !== null) {
      toast.wasVisible = true;
    } else if (Date.now() - toast.shownAt < MAX_ENTER_TIME) {
      setTimeout(() => this._watchVisibility(toast), POLL_INTERVAL);
    }
  }

  /** Update a toast as soon as possible. */
  private _update(clientNames: string, toast: Toast): void {
    if (!toast.isUpdating) {
      toast.isUpdating = true;
      this._updateNow(clientNames, toast);
    }
  }

  private _updateNow(clientNames: string, toast: Toast): void {
    if (this._toasts.get(clientNames) !== toast) {
      return;
    }
    const hasPending = toast.pendingChanges.length > 0;
    if (isDismissed(toast)) {
      this._toasts.delete(clientNames);
      if (hasPending) {
        this._showNew(clientNames, toast.pendingChanges);
      }
      return;
    }
    if (getToastPhase(toast.id) === 'entering' && Date.now() - toast.shownAt < MAX_ENTER_TIME) {
      setTimeout(() => this._updateNow(clientNames, toast), POLL_INTERVAL);
      return;
    }
    const shownChanges = [...toast.shownChanges, ...toast.pendingChanges];
    Notification.update({
      id: toast.id,
      message: this._getMessage(clientNames, shownChanges),
      ...this._getOptions(clientNames, shownChanges)
    });
    Object.assign(toast, { shownChanges, pendingChanges: [], isUpdating: false });
    if (hasPending) {
      toast.shownAt = Date.now();
      // The first entry is the toast without news for the longest time.
      this._toasts.delete(clientNames);
      this._toasts.set(clientNames, toast);
    }
  }

  private _getMessage(clientNames: string, changes: readonly AttributedChange[]): string {
    const combined = combineChanges(changes);
    const positions = this._notebook.getPositions(combined.cells);
    return describeIncomingChange(
      clientNames,
      this._notebook.fileName,
      positions,
      combined,
      this._trans
    );
  }

  private _getOptions(
    clientNames: string,
    changes: readonly AttributedChange[]
  ): Notification.IOptions<null> {
    const combined = combineChanges(changes);
    return {
      autoClose: TOAST_TIME,
      actions: [
        this._makeViewAction(combined.cells),
        ...this._makeUndoActions(clientNames, combined)
      ]
    };
  }

  private _makeViewAction(cells: readonly string[]): Notification.IAction {
    const callback = (): void => this._notebook.viewCells(cells);
    return {
      label: this._trans.__('View'),
      caption: this._trans.__('Show these cells'),
      callback
    };
  }

  /** Return the button "Undo" if everything the toast shows can be undone. */
  private _makeUndoActions(
    clientNames: string,
    { edits, isComplete }: AttributedChange
  ): Notification.IAction[] {
    const count = edits.length;
    return isComplete
      ? [
          {
            label: this._trans.__('Undo'),
            caption: this._trans._n('Take this edit back', 'Take these edits back', count),
            callback: event => {
              // The toast stays, to show the result.
              event.preventDefault();
              void this._undoEdits(
                clientNames,
                edits.map(({ id }) => id)
              );
            }
          }
        ]
      : [];
  }

  private async _undoEdits(clientNames: string, editIds: readonly number[]): Promise<void> {
    const toast = this._toasts.get(clientNames);
    if (toast === undefined) {
      return;
    }
    // Changes that come meanwhile get a toast of their own.
    this._toasts.delete(clientNames);
    toast.pendingChanges.forEach(change => this.show(change));
    const { fileName } = this._notebook;
    const { id } = toast;
    const progressMessage = describeUndoProgress(
      clientNames,
      fileName,
      editIds.length,
      this._trans
    );
    Notification.update({
      id,
      message: progressMessage,
      type: 'in-progress',
      autoClose: false,
      actions: []
    });
    const undoResult = await this._notebook.undoEdits(editIds);
    const conflictingIds = [
      ...new Set(undoResult.conflictingCells.flatMap(({ cell_id: cell }) => cell ?? []))
    ];
    const withoutId = undoResult.conflictingCells.filter(({ cell_id: cell }) => cell === null);
    const positions = [
      ...this._notebook.getPositions(conflictingIds),
      ...withoutId.flatMap(({ index }) => index ?? [])
    ];
    const missingCount = conflictingIds.length + withoutId.length - positions.length;
    const isComplete = undoResult.undoneCount === undoResult.requestedCount;
    const options = {
      autoClose: isComplete ? TOAST_TIME : (false as const),
      actions: conflictingIds.length > 0 ? [this._makeViewAction(conflictingIds)] : []
    };
    const resultMessage = describeUndoResult(
      clientNames,
      fileName,
      undoResult,
      positions,
      missingCount,
      this._trans
    );
    const type = isComplete ? 'success' : undoResult.failure === null ? 'warning' : 'error';
    if (
      getToastPhase(id) === 'leaving' ||
      !Notification.update({ id, message: resultMessage, type, ...options })
    ) {
      Notification.dismiss(id);
      Notification.emit(resultMessage, type, options);
    }
  }

  private _dismiss(clientNames: string): void {
    const toast = this._toasts.get(clientNames);
    if (toast !== undefined) {
      Notification.dismiss(toast.id);
      this._toasts.delete(clientNames);
    }
  }

  private readonly _toasts = new Map<string, Toast>();
  /** Undone edits; their events may arrive later. */
  private readonly _undoneEdits = new Set<number>();
}

/** Return whether a toast was dismissed, or is leaving. */
function isDismissed({ id, wasVisible }: Toast): boolean {
  const isHidden = wasVisible && document.getElementById(id) === null;
  return isHidden || getToastPhase(id) === 'leaving' || !Notification.manager.has(id);
}

function includesEdit({ edits }: AttributedChange, editId: number): boolean {
  return edits.some(({ id }) => id === editId);
}

/**
 * Return the phase of a toast's animation.
 *
 * JupyterLab loses updates of a toast that is not rendered yet or is leaving, and a toast that is
 * updated while it enters may disappear. The element of the toast has the id of the notification,
 * and its classes show the animation (react-toastify).
 */
function getToastPhase(id: string): 'entering' | 'visible' | 'leaving' {
  const node = document.getElementById(id);
  if (node === null) {
    return 'entering';
  }
  const isAnimated = node.classList.contains('Toastify--animate');
  return !isAnimated ? 'visible' : /__[a-z]+-exit/.test(node.className) ? 'leaving' : 'entering';
}

/** Combine several changes by one client. */
function combineChanges(changes: readonly AttributedChange[]): AttributedChange {
  return {
    clients: changes.at(-1)?.clients ?? [],
    // An edit may be in two changes if its event came late.
    edits: [
      ...new Map(changes.flatMap(({ edits }) => edits).map(edit => [edit.id, edit])).values()
    ],
    isComplete: changes.every(({ isComplete }) => isComplete),
    cells: [...new Set(changes.flatMap(({ cells }) => cells))],
    removedCount: changes.reduce((sum, { removedCount }) => sum + removedCount, 0),
    hasMetadataChange: changes.some(({ hasMetadataChange }) => hasMetadataChange),
    isTruncated: changes.some(({ isTruncated }) => isTruncated),
    bypassedMode: findBypassedMode(changes)
  };
}
