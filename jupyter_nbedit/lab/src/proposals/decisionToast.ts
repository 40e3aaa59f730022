import { Notification } from '@jupyterlab/apputils';
import { showBriefToast, type LiveToast } from '../notify/liveToast';
import { TOAST } from '../notify/toastFocusPlugin';
import { describeError } from '../notify/wording';
import { isUndoCancelled } from '../server/client';
import type { NbEditServices } from '../services/servicesPlugin';
import type { Decision } from './decisionController';

/** Tells what was decided last in a notebook, and undoes it. */
export class DecisionToast {
  /**
   * @param _getPath Returns the path of the notebook.
   * @param _onUndone Called with a decision that was undone.
   */
  constructor(
    private readonly _services: NbEditServices,
    private readonly _getPath: () => string,
    private readonly _onUndone: (decision: Decision) => void
  ) {}

  /** Whether there is a decision that was not undone. */
  get canUndo(): boolean {
    return this._last !== null;
  }

  /** Show a decision in place of the one before. */
  show(decision: Decision): void {
    const { verdict, count } = decision;
    const { right, trans } = this._services;
    const text =
      verdict === 'accepted'
        ? trans._n('Accepted %1 change', 'Accepted %1 changes', count, count)
        : trans._n('Rejected %1 change', 'Rejected %1 changes', count, count);
    this._dismiss();
    this._last = decision;
    this._toast = showBriefToast({
      message: text,
      type: 'success',
      actions: [
        ...right.offer([
          {
            label: trans.__('Undo'),
            callback: (event: MouseEvent) => {
              // The toast stays until the decision is undone.
              event.preventDefault();
              // It keeps the focus while it leaves, and then nothing has it.
              const focused = document.activeElement;
              if (focused instanceof HTMLElement && focused.closest(TOAST) !== null) {
                focused.blur();
              }
              void this.undo();
            }
          }
        ])
      ]
    });
  }

  /** Undo the last decision, and tell if that is not possible, unless the user has cancelled it. */
  async undo(): Promise<void> {
    const last = this._last;
    if (last === null) {
      return;
    }
    const { proposals, trans } = this._services;
    const toast = this._toast;
    this._last = null;
    try {
      if (last.verdict === 'accepted') {
        await proposals.undoEdits(this._getPath(), last.edits);
      } else {
        for (const { id, parts } of last.proposals) {
          await proposals.reopen(id, parts);
        }
      }
    } catch (error) {
      if (isUndoCancelled(error)) {
        this._last ??= last;
        return;
      }
      toast?.dismiss();
      Notification.error(describeError(error, trans), { autoClose: false });
      return;
    }
    toast?.dismiss();
    this._onUndone(last);
  }

  private _dismiss(): void {
    this._toast?.dismiss();
    this._toast = null;
  }

  private _last: Decision | null = null;
  private _toast: LiveToast | null = null;
}
