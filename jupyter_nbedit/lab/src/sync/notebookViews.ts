import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { flash, markConflict, Marks } from '../notify/cellMarks';
import type { Settings } from '../notify/settings';
import { goToCell, isInSight, keepView, scrollToMiddle } from '../ui/viewport';

/** Whether a cell's editor has the text of its model; one that is not drawn yet will have it. */
function isTextShown({ editor, model }: Cell): boolean {
  if (editor === null) {
    return true;
  }
  const lines = Array.from({ length: editor.lineCount }, (_, line) => editor.getLine(line));
  // An editor shows each kind of line end as a new line.
  return lines.join('\n') === model.sharedModel.getSource().replace(/\r\n?/g, '\n');
}

/** The views of one notebook, of which there may be several. */
export class Views {
  constructor(
    private readonly _panels: () => NotebookPanel[],
    private readonly _shell: {
      /** Bring a view to the front. */
      reveal(panel: NotebookPanel): void;
      /** Whether it is the one that the user works in. */
      isCurrent(panel: NotebookPanel): boolean;
    },
    private readonly _settings: Settings,
    trans: TranslationBundle
  ) {
    this._marks = new Marks(trans);
    _settings.changed.connect(this._onSettingsChanged);
  }

  dispose(): void {
    this._settings.changed.disconnect(this._onSettingsChanged);
  }

  /** Show in one more view what is marked. */
  add(panel: NotebookPanel): void {
    this._marks.addView(panel);
  }

  /** The keys of the cells that are active in some view. */
  active(): Set<string> {
    return new Set(this._panels().flatMap(({ content }) => content.activeCell?.model.id ?? []));
  }

  /** Whether one of them can be seen now. */
  get areInSight(): boolean {
    return document.visibilityState === 'visible' && this._panels().some(panel => panel.isVisible);
  }

  /** Whether all editors of these cells have the text that is in the model. */
  hasText(keys: ReadonlySet<string>): boolean {
    return this._panels().every(({ content }) =>
      content.widgets.every(cell => !keys.has(cell.model.id) || isTextShown(cell))
    );
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
    if (this._settings.now.flash) {
      const changed = new Set(keys);
      for (const { content } of this._panels()) {
        content.widgets.filter(({ model }) => changed.has(model.id)).forEach(flash);
      }
    }
  }

  /** Mark cells as changed from outside, until they were looked at. */
  mark(keys: readonly string[], clients: readonly string[]): void {
    if (this._settings.now.marks) {
      this._marks.add(keys, clients);
    }
  }

  /** Take such marks away. */
  unmark(keys: readonly string[]): void {
    this._marks.remove(keys);
  }

  /** Mark exactly these cells as ones that both sides changed. */
  markConflicts(keys: ReadonlySet<string>): void {
    for (const { content } of this._panels()) {
      for (const cell of content.widgets) {
        markConflict(cell, keys.has(cell.model.id));
      }
    }
  }

  /**
   * Scroll to cells that were edited, if that is wished, in the view the user works in and unless
   * he is at it. The focus and the caret stay where they are.
   */
  async follow(keys: readonly string[]): Promise<void> {
    const panel = this._panels().find(each => this._shell.isCurrent(each));
    if (!this._settings.now.follow || panel?.isVisible !== true || this._marks.isBusy(panel)) {
      return;
    }
    const { content } = panel;
    // A cell below a collapsed heading stays hidden until its reader opens that.
    const cell = content.widgets.find(
      ({ model, isHidden }) => keys.includes(model.id) && !isHidden
    );
    if (cell !== undefined && !isInSight(content, cell.node)) {
      await scrollToMiddle(content, cell);
    }
  }

  /** Bring a view to the front and show these cells in it. */
  async goTo(keys: readonly string[]): Promise<void> {
    const panels = this._panels();
    const panel = panels.find(each => this._shell.isCurrent(each)) ?? panels[0];
    const wanted = new Set(keys);
    const first = panel?.content.widgets.find(({ model }) => wanted.has(model.id));
    if (panel !== undefined && first !== undefined) {
      this._shell.reveal(panel);
      await goToCell(panel.content, first);
      // A rendered Markdown cell does not take the focus, and so is only selected by that.
      panel.content.activeCellIndex = panel.content.widgets.indexOf(first);
      this.flash(keys);
    }
  }

  private readonly _onSettingsChanged = (): void => {
    if (!this._settings.now.marks) {
      this._marks.clear();
    }
  };

  private readonly _marks: Marks;
}
