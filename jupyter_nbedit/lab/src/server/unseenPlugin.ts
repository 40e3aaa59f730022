import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { NbEditClient } from './client';
import { FileChangeFeed, IFileChangeFeed } from './fileChanges';
import { IOpenPage } from './openPage';
import type { TabConnection } from './tabReports';
import { IUnseenModel, UnseenModel } from './unseenModel';
import { IWriteRight, type WriteRight } from './writeRight';

export const unseenPlugin: JupyterFrontEndPlugin<UnseenModel> = {
  id: 'jupyter-nbedit:unseen',
  description: 'Knows the changes of edits that the user has not kept.',
  autoStart: true,
  provides: IUnseenModel,
  requires: [IFileChangeFeed, INotebookTracker, IWriteRight, IOpenPage],
  activate: (
    { serviceManager }: JupyterFrontEnd,
    files: FileChangeFeed,
    tracker: INotebookTracker,
    right: WriteRight,
    page: TabConnection
  ) => {
    const { contents, events, serverSettings } = serviceManager;
    const model = new UnseenModel(
      new NbEditClient(serverSettings, page),
      events,
      files,
      path => tracker.filter(({ context }) => contents.localPath(context.path) === path).length > 0,
      () => document.visibilityState === 'visible',
      right
    );
    model.refreshNotebooks();
    return model;
  }
};
