import { Notification } from '@jupyterlab/apputils';
import { findById } from '../ui/elements';

/** How long a toast is shown, in milliseconds. */
export const TOAST_TIME = 8000;

/** After this time without a toast, JupyterLab's list of notifications is updated, in milliseconds. */
const MAX_ENTER_TIME = 3000;

/** Interval of checks whether a toast has appeared, in milliseconds. */
const POLL_INTERVAL = 50;

/** Interval of checks whether a toast is gone, in milliseconds. */
const GONE_POLL_INTERVAL = 500;

/** What a toast shows. */
export interface ToastContent {
  readonly message: string;
  readonly type: Notification.TypeOptions;
  /** Milliseconds, or false if only the user closes the toast. */
  readonly autoClose: number | false;
  readonly actions: Notification.IAction[];
}

/** A toast whose content changes while it is shown. */
export class LiveToast {
  constructor(content: ToastContent) {
    this._message = content.message;
    this._id = emit(content);
    this._watchVisibility();
  }

  /**
   * Whether the toast was dismissed or closed, is leaving, or has not appeared for so long that it
   * will not. The notification may still be in JupyterLab's list of notifications.
   */
  get isGone(): boolean {
    const isHidden = findById(this._id) === null;
    const hasEnded = this._wasVisible || Date.now() - this._shownAt >= TOAST_TIME;
    return (
      (isHidden && hasEnded) ||
      getToastPhase(this._id) === 'leaving' ||
      !Notification.manager.has(this._id)
    );
  }

  /**
   * Show another content as soon as possible.
   *
   * @param getContent Returns the content at the moment when it is shown.
   * @param onGone Called instead if the toast is gone.
   */
  update(getContent: () => ToastContent, onGone: () => void = () => undefined): void {
    this._getContent = getContent;
    this._onGone = onGone;
    if (!this._isUpdating) {
      this._isUpdating = true;
      this._updateNow();
    }
  }

  /** Show a content if it says something else; if the toast was closed, only in JupyterLab's list. */
  change(content: ToastContent): void {
    if (content.message !== this._message) {
      this._message = content.message;
      this.update(
        () => content,
        () => this._updateList(content)
      );
    }
  }

  /** Show another content, in a new toast if this one is gone. */
  replace(content: ToastContent): void {
    this._getContent = () => content;
    if (this.isGone || !Notification.update({ id: this._id, ...content })) {
      Notification.dismiss(this._id);
      this._id = emit(content);
      this._wasVisible = false;
      this._shownAt = Date.now();
      this._watchVisibility();
    }
  }

  /** Change the notification in JupyterLab's list, without a toast. */
  private _updateList(content: ToastContent): void {
    // JupyterLab shows a toast again if it is changed, except with this value.
    Notification.update({ id: this._id, ...content, autoClose: 0 });
  }

  /** Remove the toast and the notification. */
  dismiss(): void {
    this._isDismissed = true;
    Notification.dismiss(this._id);
  }

  private _updateNow(): void {
    if (this._isDismissed) {
      return;
    }
    if (this.isGone) {
      this._isUpdating = false;
      this._onGone();
      return;
    }
    const phase = getToastPhase(this._id);
    const isListed = phase === 'missing' && Date.now() - this._shownAt >= MAX_ENTER_TIME;
    if (phase === 'visible' || (isListed && this._getContent !== this._listedContent)) {
      this._listedContent = this._getContent;
      const content = this._getContent?.();
      if (content !== undefined) {
        Notification.update({ id: this._id, ...content });
      }
    }
    this._isUpdating = phase !== 'visible';
    if (this._isUpdating) {
      // The user may see no toasts; or the page is slow, and shows it with its first content.
      setTimeout(() => this._updateNow(), POLL_INTERVAL);
    }
  }

  /** Record when the toast appears: if it is missing after that, it was dismissed. */
  private _watchVisibility(): void {
    if (findById(this._id) !== null) {
      this._wasVisible = true;
    } else if (Date.now() - this._shownAt < TOAST_TIME) {
      setTimeout(() => this._watchVisibility(), POLL_INTERVAL);
    }
  }

  private _id: string;
  private _message: string;
  private _shownAt = Date.now();
  private _wasVisible = false;
  private _isUpdating = false;
  private _isDismissed = false;
  private _getContent: (() => ToastContent) | null = null;
  /** What returned the content that the list of notifications has got without a toast. */
  private _listedContent: (() => ToastContent) | null = null;
  private _onGone: () => void = () => undefined;
}

function emit({ message, type, ...options }: ToastContent): string {
  return Notification.emit(message, type, options);
}

/**
 * Return the phase of a toast's animation.
 *
 * JupyterLab loses updates of a toast that is not rendered yet or is leaving, and a toast that is
 * updated while it enters may disappear. The element of the toast has the id of the notification,
 * and its classes show the animation (react-toastify).
 */
function getToastPhase(id: string): 'missing' | 'entering' | 'visible' | 'leaving' {
  const node = findById(id);
  if (node === null) {
    return 'missing';
  }
  const isAnimated = node.classList.contains('Toastify--animate');
  return !isAnimated ? 'visible' : /__[a-z]+-exit/.test(node.className) ? 'leaving' : 'entering';
}

/**
 * Show a toast that leaves no notification in JupyterLab's list.
 *
 * There, its button "Undo" would stay when there is nothing to undo any more.
 */
export function showBriefToast(content: Omit<ToastContent, 'autoClose'>): LiveToast {
  const toast = new LiveToast({ ...content, autoClose: TOAST_TIME });
  const check = (): void => {
    if (toast.isGone) {
      toast.dismiss();
    } else {
      setTimeout(check, GONE_POLL_INTERVAL);
    }
  };
  setTimeout(check, TOAST_TIME);
  return toast;
}
