import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ChangeMarks, flashCell, setConflictMark } from '../notify/cellMarks';
import type { Settings } from '../notify/settings';
import { getCellId } from '../ui/cellIds';
import { goToCell, isCellVisible, preserveViewport, scrollToCellCenter } from '../ui/viewport';

/** Return whether a cell's editor has the text of its model, or is not rendered yet. */
function isTextCurrent({ editor, model }: Cell): boolean {
  if (editor === null) {
    return true;
  }
  const lines = Array.from({ length: editor.lineCount }, (_, line) => editor.getLine(line));
  // An editor shows each kind of line end as a new line.
  return lines.join('\n') === model.sharedModel.getSource().replace(/\r\n?/g, '\n');
}

/** The views of one notebook. */
export class NotebookViews {
  constructor(
    private readonly _panels: () => NotebookPanel[],
    private readonly _shell: {
      /** Bring a view to the front. */
      reveal(panel: NotebookPanel): void;
      /** Return whether the user works in this view. */
      isCurrent(panel: NotebookPanel): boolean;
    },
    private readonly _settings: Settings,
    trans: TranslationBundle
  ) {
    this._marks = new ChangeMarks(trans);
    _settings.changed.connect(this._onSettingsChanged);
  }

  dispose(): void {
    this._settings.changed.disconnect(this._onSettingsChanged);
  }

  /** Show the marks in another view. */
  addPanel(panel: NotebookPanel): void {
    this._marks.addView(panel);
  }

  /** Return the keys of the cells that are active in some view. */
  getActiveKeys(): Set<string> {
    return new Set(this._panels().flatMap(({ content }) => content.activeCell?.model.id ?? []));
  }

  /** Whether a view is visible. */
  get isAnyVisible(): boolean {
    return document.visibilityState === 'visible' && this._panels().some(panel => panel.isVisible);
  }

  /** Return whether all editors of these cells have the text of the model. */
  hasCurrentText(keys: ReadonlySet<string>): boolean {
    return this._panels().every(({ content }) =>
      content.widgets.every(cell => !keys.has(getCellId(cell)) || isTextCurrent(cell))
    );
  }

  /** Change the notebook's model, and preserve the viewport of each view. */
  preserveViewports(change: () => void): void {
    const changeAll = this._panels().reduce(
      (inner, { content }) =>
        () =>
          preserveViewport(content, inner),
      change
    );
    changeAll();
  }

  flashCells(keys: readonly string[]): void {
    if (this._settings.current.flash) {
      const changed = new Set(keys);
      for (const { content } of this._panels()) {
        content.widgets.filter(cell => changed.has(getCellId(cell))).forEach(flashCell);
      }
    }
  }

  /** Mark cells as changed from outside, until they are viewed. */
  markCells(keys: readonly string[], clients: readonly string[]): void {
    if (this._settings.current.marks) {
      this._marks.add(keys, clients);
    }
  }

  /** Remove the change marks of these cells. */
  unmarkCells(keys: readonly string[]): void {
    this._marks.remove(keys);
  }

  /** Set conflict marks at exactly these cells. */
  setConflictMarks(keys: ReadonlySet<string>): void {
    if (keys.size === 0 && !this._hasConflictMarks) {
      return;
    }
    this._hasConflictMarks = keys.size > 0;
    for (const { content } of this._panels()) {
      for (const cell of content.widgets) {
        setConflictMark(cell, keys.has(getCellId(cell)));
      }
    }
  }

  /**
   * Scroll to edited cells in the current view, if the setting `follow` is on and the user is not
   * busy. The focus and the caret do not move.
   */
  async followCells(keys: readonly string[]): Promise<void> {
    const panel = this._panels().find(each => this._shell.isCurrent(each));
    if (!this._settings.current.follow || panel?.isVisible !== true || this._marks.isBusy(panel)) {
      return;
    }
    const { content } = panel;
    const keySet = new Set(keys);
    // A cell below a collapsed heading stays hidden until the user expands the heading.
    const cell = content.widgets.find(each => !each.isHidden && keySet.has(getCellId(each)));
    if (cell !== undefined && !isCellVisible(content, cell.node)) {
      await scrollToCellCenter(content, cell);
    }
  }

  /** Bring a view to the front and show these cells in it. */
  async goToCells(keys: readonly string[]): Promise<void> {
    const panels = this._panels();
    const panel = panels.find(each => this._shell.isCurrent(each)) ?? panels[0];
    const keySet = new Set(keys);
    const first = panel?.content.widgets.find(cell => keySet.has(getCellId(cell)));
    if (panel !== undefined && first !== undefined) {
      this._shell.reveal(panel);
      await goToCell(panel.content, first);
      // A rendered Markdown cell does not take the focus, so it is only selected.
      panel.content.activeCellIndex = panel.content.widgets.indexOf(first);
      this.flashCells(keys);
    }
  }

  private readonly _onSettingsChanged = (): void => {
    if (!this._settings.current.marks) {
      this._marks.clear();
    }
  };

  private readonly _marks: ChangeMarks;
  private _hasConflictMarks = false;
}
