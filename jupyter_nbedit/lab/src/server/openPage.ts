import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Token } from '@lumino/coreutils';
import { NbEditClient, NbEditError } from './client';
import { TabConnection } from './tabReports';

/** The token of the connection that tells the server what is open in this page. */
export const IOpenPage = new Token<TabConnection>(
  'jupyter-nbedit:IOpenPage',
  'Tells the server what is open in this page, and which requests come from the person in it.'
);

/** Only our own buttons get the id of the page: it must not be passed to other extensions. */
export const openPagePlugin: JupyterFrontEndPlugin<TabConnection> = {
  id: 'jupyter-nbedit:open-page',
  description: 'Tells the server what is open in this page.',
  autoStart: true,
  provides: IOpenPage,
  activate: ({ serviceManager: { serverSettings } }: JupyterFrontEnd) => {
    const server = new NbEditClient(serverSettings);
    const page = new TabConnection(serverSettings, async () => hasServerExtension(server));
    page.start();
    return page;
  }
};

/** Return whether the server has our routes; true if it does not respond. */
async function hasServerExtension(server: NbEditClient): Promise<boolean> {
  try {
    await server.getAbout();
    return true;
  } catch (error) {
    return !(error instanceof NbEditError && error.status === 404);
  }
}
