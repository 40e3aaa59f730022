import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, type Notebook, type NotebookPanel } from '@jupyterlab/notebook';
import { forEachPanel } from './panelMap';

export const cellCountPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:cell-count',
  description: 'Updates the counter of cells in the status bar when others insert or delete cells.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_: JupyterFrontEnd, tracker: INotebookTracker) => {
    const addPanel = (panel: NotebookPanel): void => {
      let isScheduled = false;
      const update = (): void => {
        isScheduled = false;
        if (!panel.isDisposed) {
          updateCounter(panel.content);
        }
      };
      void panel.context.ready.then(() =>
        panel.content.model?.cells.changed.connect(() => {
          // Once for all changes that are made together, when the notebook has them.
          if (!isScheduled) {
            isScheduled = true;
            queueMicrotask(update);
          }
        })
      );
    };
    forEachPanel(tracker, addPanel);
  }
};

/**
 * Let JupyterLab's counter count again.
 *
 * It counts when the content changes, which is before the notebook has the new cells, and when the
 * selection changes. A user who inserts a cell activates it; cells of others change no selection.
 */
function updateCounter(notebook: Notebook): void {
  const { activeCell } = notebook;
  if (activeCell === null) {
    return;
  }
  if (notebook.isSelected(activeCell)) {
    notebook.deselect(activeCell);
    notebook.select(activeCell);
  } else {
    notebook.select(activeCell);
    notebook.deselect(activeCell);
  }
}
