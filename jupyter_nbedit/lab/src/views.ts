import type { NotebookPanel } from '@jupyterlab/notebook';
import { flash, markConflict } from './notice';
import { keepView } from './view';

/** The views of one notebook, of which there may be several. */
export class Views {
  constructor(
    private readonly _panels: () => NotebookPanel[],
    private readonly _reveal: (panel: NotebookPanel) => void
  ) {}

  /** The keys of the cells that are active in some view. */
  active(): Set<string> {
    return new Set(this._panels().flatMap(({ content }) => content.activeCell?.model.id ?? []));
  }

  /** Change the notebook's model, and keep what each view shows in place. */
  keep(change: () => void): void {
    const keepAll = this._panels().reduce(
      (inner, { content }) =>
        () =>
          keepView(content, inner),
      change
    );
    keepAll();
  }

  flash(keys: readonly string[]): void {
    const changed = new Set(keys);
    for (const { content } of this._panels()) {
      content.widgets.filter(({ model }) => changed.has(model.id)).forEach(flash);
    }
  }

  /** Mark exactly these cells as ones that both sides changed. */
  mark(keys: ReadonlySet<string>): void {
    for (const { content } of this._panels()) {
      for (const cell of content.widgets) {
        markConflict(cell, keys.has(cell.model.id));
      }
    }
  }

  /** Bring a view to the front and show these cells in it. */
  async goTo(keys: readonly string[]): Promise<void> {
    const panel = this._panels()[0];
    const first = panel?.content.widgets.find(({ model }) => keys.includes(model.id));
    if (panel !== undefined && first !== undefined) {
      this._reveal(panel);
      await panel.content.scrollToCell(first, 'center');
      this.flash(keys);
    }
  }
}
