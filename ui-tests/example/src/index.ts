import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INbEdit } from 'jupyter-nbedit';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'nbedit-example:plugin',
  description: 'Puts the date into notebooks, and says when cells were deleted.',
  autoStart: true,
  requires: [INbEdit],
  activate: ({ commands }: JupyterFrontEnd, notebooks: INbEdit) => {
    commands.addCommand('nbedit-example:add-date', {
      label: 'Put the Date at the End of a Notebook',
      execute: async ({ path }) => {
        const source = new Date().toDateString();
        const cell = { op: 'insert', at: 'end', cell_type: 'markdown', source };
        return notebooks.edit(String(path), [cell], { client: 'Date example', wait_tabs: 2000 });
      }
    });
    notebooks.edited.connect((_, { path, client, operations }) => {
      const deleted = operations.filter(({ op }) => op === 'delete').length;
      if (deleted > 0) {
        const message = `${client} deleted ${deleted} of the cells of ${path}.`;
        const options = { autoClose: 5000 };
        void commands.execute('apputils:notify', { message, type: 'warning', options });
      }
    });
  }
};

export default plugin;
