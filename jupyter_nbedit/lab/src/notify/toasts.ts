import type { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { UnseenReply } from '../server/models';
import type { WriteRight } from '../server/writeRight';
import type { UndoResult } from '../server/undoEdits';
import { findBypassedMode, removeEdit, type AttributedChange } from './attribution';
import { LiveToast, TOAST_TIME, type ToastContent } from './liveToast';
import { listAffectedKeys, listDecidedEdits, listMessages, summarizeEffect } from './netEffect';
import { ViewButton } from './viewButton';
import {
  describeIncomingChanges,
  describeUndoProgress,
  describeUndoResult,
  formatClients,
  formatMoreClients
} from './wording';

/** Maximum number of toasts for one client each; all other clients share one more. */
const MAX_CLIENTS = 5;

/** The key of the toast of all other clients; no name has this character. */
const OTHER_CLIENTS = '\u0000';

/** The notebook that the toasts are about. */
export interface ToastHost {
  /** The name of the file. */
  readonly fileName: string;
  /** Whether the user works in the notebook. */
  readonly isCurrent: boolean;
  /** The unseen changes of the notebook; null if they are not known. */
  readonly unseen: UnseenReply | null;
  readonly right: WriteRight;
  /** Return the keys of its cells. */
  getKeys(): string[];
  /** Return the current indexes of cells, in ascending order, without cells that are removed. */
  getPositions(cells: readonly string[]): number[];
  /** Go to a cell. */
  viewCell(cell: string): void;
  /** Go to the conflict of a cell, or else to the cell. */
  viewConflict(cell: string): void;
  /** Undo these edits. */
  undoEdits(edits: readonly number[]): Promise<UndoResult>;
}

/** A toast and the changes it shows. */
interface Toast {
  readonly live: LiveToast;
  readonly viewButton: ViewButton;
  shownChanges: readonly AttributedChange[];
  /** Changes that it does not show yet. */
  pendingChanges: readonly AttributedChange[];
  /** What it says, with the labels of its buttons. */
  text: string;
}

/**
 * The toasts about incoming changes of one notebook: one for each client and series of edits.
 *
 * A toast shows only what is new to the user: no changes of a dismissed toast, and no edits that
 * were kept or undone, wherever that was done.
 */
export class IncomingChangeToasts {
  constructor(
    private readonly _notebook: ToastHost,
    private readonly _trans: TranslationBundle
  ) {}

  /** Show a change. It is added to the toast of the same client while that is shown. */
  show(change: AttributedChange): void {
    const remaining = this._forget([change])[0];
    if (remaining === undefined) {
      return;
    }
    const key = this._chooseToast(formatClients(change.clients, this._trans));
    const toast = this._toasts.get(key);
    if (toast === undefined || toast.live.isGone) {
      this._showNew(key, [...(toast?.pendingChanges ?? []), remaining]);
    } else {
      toast.pendingChanges = [...toast.pendingChanges, remaining];
      this._update(key, toast);
    }
  }

  /** Remove from the toasts what is kept or undone, and describe the rest as it is now. */
  refresh(): void {
    for (const [key, toast] of [...this._toasts]) {
      toast.shownChanges = this._forget(toast.shownChanges);
      toast.pendingChanges = this._forget(toast.pendingChanges);
      if (toast.shownChanges.length === 0 && toast.pendingChanges.length === 0) {
        this._dismiss(key);
      } else if (
        !toast.live.isGone &&
        getText(this._describe(key, toast.shownChanges, toast.viewButton)) !== toast.text
      ) {
        this._update(key, toast);
      }
    }
  }

  /** Return the key of the toast for a client: its own, unless too many have one. */
  private _chooseToast(clientNames: string): string {
    const toast = this._toasts.get(clientNames);
    if (toast !== undefined && !toast.live.isGone) {
      return clientNames;
    }
    const shownCount = [...this._toasts].filter(
      ([key, toast]) => key !== OTHER_CLIENTS && !toast.live.isGone
    ).length;
    return shownCount < MAX_CLIENTS ? clientNames : OTHER_CLIENTS;
  }

  private _forget(changes: readonly AttributedChange[]): AttributedChange[] {
    const decidedEdits = listDecidedEdits(this._notebook.unseen, changes);
    return changes.flatMap(
      change =>
        decidedEdits.reduce<AttributedChange | null>(
          (rest, id) => rest && removeEdit(rest, id),
          change
        ) ?? []
    );
  }

  private _showNew(key: string, changes: readonly AttributedChange[]): void {
    this._dismiss(key);
    const viewButton = this._makeViewButton();
    const content = this._describe(key, changes, viewButton);
    this._toasts.set(key, {
      live: new LiveToast(content),
      viewButton,
      shownChanges: changes,
      pendingChanges: [],
      text: getText(content)
    });
  }

  /** Update a toast as soon as possible. */
  private _update(key: string, toast: Toast): void {
    const getContent = (): ToastContent => {
      toast.shownChanges = [...toast.shownChanges, ...toast.pendingChanges];
      toast.pendingChanges = [];
      const content = this._describe(key, toast.shownChanges, toast.viewButton);
      toast.text = getText(content);
      return content;
    };
    toast.live.update(getContent, () => {
      if (this._toasts.get(key) === toast && toast.pendingChanges.length > 0) {
        this._showNew(key, toast.pendingChanges);
      }
    });
  }

  private _describe(
    key: string,
    changes: readonly AttributedChange[],
    viewButton: ViewButton
  ): ToastContent {
    const { fileName, isCurrent, unseen } = this._notebook;
    const keys = this._notebook.getKeys();
    const message = describeIncomingChanges(
      {
        clientNames: this._formatClients(key, changes),
        file: fileName,
        isCurrent,
        messages: listMessages(unseen, changes),
        effect: summarizeEffect(unseen, changes, keys),
        bypassedMode: findBypassedMode(changes)
      },
      this._trans
    );
    const actions = [
      ...viewButton.makeActions(listAffectedKeys(unseen, changes, keys), () => {
        const toast = this._toasts.get(key);
        if (toast?.viewButton === viewButton) {
          this._update(key, toast);
        }
      }),
      ...this._makeUndoActions(key, changes)
    ];
    return { message, type: 'info', autoClose: TOAST_TIME, actions };
  }

  private _formatClients(key: string, changes: readonly AttributedChange[]): string {
    if (key !== OTHER_CLIENTS) {
      return key;
    }
    const names = changes.map(({ clients }) => formatClients(clients, this._trans));
    return formatMoreClients(new Set(names).size, this._trans);
  }

  /** Return the button "Undo" if everything the toast shows can be undone, by this user. */
  private _makeUndoActions(
    key: string,
    changes: readonly AttributedChange[]
  ): readonly Notification.IAction[] {
    const edits = listEdits(changes);
    return changes.every(({ isComplete }) => isComplete)
      ? this._notebook.right.offer([
          {
            label: this._trans.__('Undo'),
            caption: this._trans._n('Undo this edit', 'Undo these edits', edits.length),
            callback: event => {
              // The toast stays, to show the result.
              event.preventDefault();
              void this._undoEdits(key, edits);
            }
          }
        ])
      : [];
  }

  private async _undoEdits(key: string, editIds: readonly number[]): Promise<void> {
    const toast = this._toasts.get(key);
    if (toast === undefined) {
      return;
    }
    const clientNames = this._formatClients(key, toast.shownChanges);
    // Changes that come meanwhile get a toast of their own.
    this._toasts.delete(key);
    toast.pendingChanges.forEach(change => this.show(change));
    const { fileName } = this._notebook;
    toast.live.replace({
      message: describeUndoProgress(clientNames, fileName, editIds.length, this._trans),
      type: 'in-progress',
      autoClose: false,
      actions: []
    });
    const undoResult = await this._notebook.undoEdits(editIds);
    if (undoResult.isCancelled) {
      this._offerAgain(key, toast);
      return;
    }
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
    const resultMessage = describeUndoResult(
      clientNames,
      fileName,
      undoResult,
      positions,
      missingCount,
      this._trans
    );
    const type = isComplete ? 'success' : undoResult.failure === null ? 'warning' : 'error';
    const viewButton = this._makeViewButton();
    const keys = new Set(conflictingIds);
    const describeResult = (): ToastContent => ({
      message: resultMessage,
      type,
      autoClose: isComplete ? TOAST_TIME : false,
      actions: viewButton.makeActions(
        this._notebook.getKeys().filter(key => keys.has(key)),
        () => toast.live.update(describeResult)
      )
    });
    toast.live.replace(describeResult());
  }

  /** Show a toast as it was before its undo, without what was undone. */
  private _offerAgain(key: string, toast: Toast): void {
    if (this._toasts.has(key)) {
      // The shown toast is about changes that came meanwhile.
      toast.live.dismiss();
      toast.shownChanges.forEach(change => this.show(change));
      return;
    }
    this._toasts.set(key, toast);
    this.refresh();
    if (this._toasts.has(key)) {
      this._update(key, toast);
    }
  }

  private _makeViewButton(): ViewButton {
    return new ViewButton(cell => this._notebook.viewCell(cell), this._trans);
  }

  private _dismiss(key: string): void {
    const toast = this._toasts.get(key);
    if (toast !== undefined) {
      toast.live.dismiss();
      this._toasts.delete(key);
    }
  }

  /** By the names of the clients. */
  private readonly _toasts = new Map<string, Toast>();
}

/** Return what a toast says, with the labels of its buttons. */
function getText({ message, actions }: ToastContent): string {
  return [message, ...actions.map(({ label }) => label)].join('\n');
}

/** Return the edits of these changes, oldest first: one may be in two if its event came late. */
function listEdits(changes: readonly AttributedChange[]): number[] {
  const ids = new Set(changes.flatMap(({ edits }) => edits.map(({ id }) => id)));
  return [...ids].sort((a, b) => a - b);
}
