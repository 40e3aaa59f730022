import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';

const notebooks: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:notebooks',
  description: 'Open notebooks follow edits made to their files.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (app: JupyterFrontEnd, tracker: INotebookTracker) => {
    tracker.widgetAdded.connect((_, panel) => {
      app.serviceManager.events.stream.connect(() => {
        panel.content.update();
      });
    });
  }
};

export default [notebooks];
