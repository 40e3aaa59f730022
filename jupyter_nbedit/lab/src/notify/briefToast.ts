import { LiveToast, TOAST_TIME, type ToastContent } from './liveToast';

/** Interval of checks whether a toast is gone, in milliseconds. */
const POLL_INTERVAL = 500;

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
      setTimeout(check, POLL_INTERVAL);
    }
  };
  setTimeout(check, TOAST_TIME);
  return toast;
}
