import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MarkdownRenderer, setMarkdownRenderer } from './renderedMarkdown';

export const diffPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:diffs',
  description: 'Renders the Markdown of cells in diffs.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: ({ serviceManager }: JupyterFrontEnd, registry: IRenderMimeRegistry) =>
    setMarkdownRenderer(new MarkdownRenderer(registry, serviceManager.contents))
};
