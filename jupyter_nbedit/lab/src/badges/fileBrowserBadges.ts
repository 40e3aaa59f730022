import type { FileBrowser } from '@jupyterlab/filebrowser';
import { makeElement } from '../ui/elements';

/** The classes of a row, of its name, and of a row that is a folder. */
const ROW = '.jp-DirListing-item';
const NAME = '.jp-DirListing-itemText';
const FOLDER = '[data-isdir="true"]';

const BADGE_CLASS = 'jp-nbedit-file-badge';

/**
 * Dots in a file browser beside files and folders.
 *
 * JupyterLab has no interface for this that lets several extensions add to a row: in its newest
 * versions one of them may replace the renderer of all rows. So the dot is an element of its own in
 * the row, which is found by its classes; if they change, there is no dot.
 */
export class FileBrowserBadges {
  /** @param _describe Return what the dot of a path stands for; '' for no dot. */
  constructor(
    private readonly _browser: FileBrowser,
    private readonly _describe: (path: string, isFolder: boolean) => string
  ) {
    this._observer = new MutationObserver(() => this._schedule());
    this._observer.observe(_browser.node, {
      attributeFilter: ['data-isdir'],
      characterData: true,
      childList: true,
      subtree: true
    });
    _browser.disposed.connect(() => this._observer.disconnect());
    this.update();
  }

  update(): void {
    const { node, model } = this._browser;
    for (const row of node.querySelectorAll<HTMLElement>(ROW)) {
      const name = row.querySelector(NAME);
      // While a file is renamed, an input has the place of its name.
      if (name !== null) {
        const path = model.path === '' ? name.textContent : `${model.path}/${name.textContent}`;
        this._show(name, this._describe(path, row.matches(FOLDER)));
      }
    }
  }

  private _show(name: Element, text: string): void {
    const next = name.nextElementSibling;
    const badge = next?.classList.contains(BADGE_CLASS) === true ? next : null;
    if (text === '') {
      badge?.remove();
    } else if (badge?.getAttribute('aria-label') !== text) {
      const shown = badge ?? makeElement('span', BADGE_CLASS);
      shown.setAttribute('role', 'img');
      shown.setAttribute('aria-label', text);
      shown.setAttribute('title', text);
      name.after(shown);
    }
  }

  private _schedule(): void {
    this._frame ??= requestAnimationFrame(() => {
      this._frame = null;
      this.update();
    });
  }

  private readonly _observer: MutationObserver;
  private _frame: number | null = null;
}
