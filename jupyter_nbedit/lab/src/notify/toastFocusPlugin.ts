import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';

/** Selects the elements of toasts (react-toastify). */
export const TOAST = '.Toastify__toast';

export const toastFocusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:toast-focus',
  description: 'Gives the focus back when a toast or its button goes that has it.',
  autoStart: true,
  activate: ({ shell }: JupyterFrontEnd) => {
    let focused: HTMLElement | null = null;
    // The browser tells nothing if an element with the focus is removed.
    const observer = new MutationObserver(() => {
      if (focused?.isConnected === false) {
        focused = null;
        observer.disconnect();
        const { currentWidget } = shell;
        if (document.activeElement === document.body && currentWidget !== null) {
          shell.activateById(currentWidget.id);
        }
      }
    });
    document.addEventListener('focusin', ({ target }) => {
      focused = target instanceof HTMLElement && target.closest(TOAST) !== null ? target : null;
      if (focused === null) {
        observer.disconnect();
      } else {
        observer.observe(document.body, { childList: true, subtree: true });
      }
    });
  }
};
