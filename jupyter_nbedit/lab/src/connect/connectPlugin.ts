import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { WidgetTracker } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { McpClient } from '../server/mcpClient';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { CONNECT } from '../ui/commands';
import { connectIcon } from '../ui/icons';
import { ConnectPanel } from './connectPanel';

export const connectPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:connect',
  description: 'Shows how agents are connected, and which were seen lately.',
  autoStart: true,
  requires: [INbEditServices],
  optional: [ILabShell, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    services: NbEditServices,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const { fileChanges, server, trans } = services;
    const { commands, shell } = app;
    const { serverSettings } = app.serviceManager;
    const tracker = new WidgetTracker<ConnectPanel>({ namespace: 'nbedit-connect' });
    fileChanges.addListener({
      onFileChange: () => tracker.currentWidget?.refresh(),
      onResync: () => tracker.currentWidget?.refresh()
    });

    const makePanel = (): ConnectPanel => {
      const panel = new ConnectPanel({
        trans,
        server,
        endpoint: new McpClient(serverSettings),
        openNotebook: path =>
          void commands.execute('docmanager:open', { path, factory: 'Notebook' })
      });
      void tracker.add(panel);
      return panel;
    };
    commands.addCommand(CONNECT, {
      label: trans.__('Connect an Agent…'),
      caption: trans.__('Show how an agent is connected to this server'),
      icon: connectIcon,
      execute: () => {
        const panel = tracker.currentWidget ?? makePanel();
        if (!panel.isAttached) {
          // The main area of Notebook 7 takes only one widget.
          shell.add(panel, labShell === null ? 'right' : 'main', { type: 'Connect an Agent' });
        }
        shell.activateById(panel.id);
        return panel;
      }
    });
    services.addToPalette(CONNECT);
    // The launcher knows its own categories by their translated names.
    void addToLauncher(app, (translator ?? nullTranslator).load('jupyterlab').__('Other'));
    if (labShell !== null) {
      void restorer?.restore(tracker, { command: CONNECT, name: () => 'connect' });
    }
  }
};

/** Add the command to the launcher, if the application has one. */
async function addToLauncher(app: JupyterFrontEnd, category: string): Promise<void> {
  // An application without a launcher does not share this package; if we brought our own version,
  // an older JupyterLab would use it for its launcher.
  const { ILauncher } = await import('@jupyterlab/launcher').catch(() => ({ ILauncher: null }));
  const launcher = ILauncher === null ? null : await app.resolveOptionalService(ILauncher);
  launcher?.add({ command: CONNECT, category, rank: 10 });
}
