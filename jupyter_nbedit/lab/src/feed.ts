import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Token } from '@lumino/coreutils';
import { FileFeed } from './events';

/** The page's one feed. */
export const IFileFeed = new Token<FileFeed>(
  'jupyter-nbedit:IFileFeed',
  'Tells of files that change on disk.'
);

export const feed: JupyterFrontEndPlugin<FileFeed> = {
  id: 'jupyter-nbedit:feed',
  description: 'Tells of files that change on disk.',
  autoStart: true,
  provides: IFileFeed,
  activate: ({ serviceManager }: JupyterFrontEnd) => new FileFeed(serviceManager.events)
};
