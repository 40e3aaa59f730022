/** Renders Markdown as in a cell that is not trusted. */
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry, RenderMimeRegistry } from '@jupyterlab/rendermime';
import type { Contents } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';

const MARKDOWN = 'text/markdown';

/** Attributes that run commands, or name an element of the cell that is shown elsewhere. */
const REMOVED_ATTRIBUTES = ['id', 'data-commandlinker-command', 'data-commandlinker-args'];

/** Number of levels of headings above the headings of a rendered text. */
const HEADING_LEVELS = 4;

/** Renders the Markdown of cells in diffs. */
class MarkdownRenderer {
  constructor(
    private readonly _registry: IRenderMimeRegistry,
    private readonly _contents: Contents.IManager
  ) {}

  /**
   * Render a text that nobody has trusted: without scripts, and without links to commands.
   *
   * @param host An element in the page, to which the rendered text is added.
   * @param path The notebook that the addresses of pictures and links are relative to.
   */
  async render(host: HTMLElement, source: string, path: string | null): Promise<IDisposable> {
    const resolver =
      path === null ? null : new RenderMimeRegistry.UrlResolver({ path, contents: this._contents });
    const registry = resolver === null ? this._registry : this._registry.clone({ resolver });
    const renderer = registry.createRenderer(MARKDOWN);
    const data = { [MARKDOWN]: source };
    await renderer.renderModel(registry.createModel({ data, trusted: false }));
    renderer.node.querySelectorAll('.jp-InternalAnchorLink').forEach(anchor => anchor.remove());
    removeAttributes(renderer.node);
    demoteHeadings(renderer.node);
    host.append(renderer.node);
    await registry.latexTypesetter?.typeset(renderer.node);
    removeAttributes(renderer.node);
    return renderer;
  }
}

/** The headings of a cell are below the headings of the panel or block that shows it. */
function demoteHeadings(node: HTMLElement): void {
  for (const heading of node.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    heading.setAttribute('aria-level', `${Number(heading.tagName.slice(1)) + HEADING_LEVELS}`);
  }
}

let sharedRenderer: MarkdownRenderer | null = null;

export const diffPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:diffs',
  description: 'Renders the Markdown of cells in diffs.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: ({ serviceManager }: JupyterFrontEnd, registry: IRenderMimeRegistry) => {
    sharedRenderer = new MarkdownRenderer(registry, serviceManager.contents);
  }
};

/** Return what renders Markdown in all diffs, or null if nothing does. */
export function getMarkdownRenderer(): MarkdownRenderer | null {
  return sharedRenderer;
}

function removeAttributes(node: HTMLElement): void {
  for (const name of REMOVED_ATTRIBUTES) {
    node.querySelectorAll(`[${name}]`).forEach(element => element.removeAttribute(name));
  }
}
