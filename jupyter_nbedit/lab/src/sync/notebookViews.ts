import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { INotebookBlocks } from '../blocks/blocksPlugin';
import { flashCell } from '../notify/flashCell';
import { ConflictBlocks, getConflictEntryKey } from '../notify/conflictBlocks';
import { DeferredChanges, DeferredLines } from '../notify/deferredLines';
import { OpenConflicts } from '../notify/openConflicts';
import type { NbEditServices } from '../services/servicesPlugin';
import { UserActivity } from '../notify/userActivity';
import { getCellId } from '../ui/cellIds';
import { goToCell, isCellVisible, preserveViewport, scrollToCellCenter } from '../ui/viewport';
import { preserveCaret } from './caret';
import { updateCollapsedHeadings } from './collapsedHeadings';
import { renderMarkdownNow } from './jupyterlabInternals';
import { toEditorText } from './lineEnds';

/** Return whether a cell's editor has the text of its model, or is not rendered yet. */
function isTextCurrent({ editor, model }: Cell): boolean {
  if (editor === null) {
    return true;
  }
  const lines = Array.from({ length: editor.lineCount }, (_, line) => editor.getLine(line));
  return lines.join('\n') === toEditorText(model.sharedModel.getSource());
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
    private readonly _blocks: INotebookBlocks,
    private readonly _services: NbEditServices
  ) {}

  /** What the user has to decide. */
  readonly conflicts = new OpenConflicts();

  /** What waits for running cells. */
  readonly deferred = new DeferredChanges();

  /** Add a view. */
  addPanel(panel: NotebookPanel): void {
    this._activity.addView(panel);
    const blocks = this._blocks.get(panel);
    new ConflictBlocks(blocks, this.conflicts, this._services);
    new DeferredLines(blocks, this.deferred, this._services.trans);
  }

  /** Return the keys of the cells that are active in some view. */
  getActiveKeys(): Set<string> {
    return new Set(this._panels().flatMap(({ content }) => content.activeCell?.model.id ?? []));
  }

  /** Whether a view is visible. */
  get isAnyVisible(): boolean {
    return document.visibilityState === 'visible' && this._panels().some(panel => panel.isVisible);
  }

  /** Whether the user works in one of the views. */
  get isCurrent(): boolean {
    return this._panels().some(panel => this._shell.isCurrent(panel));
  }

  /** Return whether all editors of these cells have the text of the model. */
  hasCurrentText(keys: ReadonlySet<string>): boolean {
    return this._panels().every(({ content }) =>
      content.widgets.every(cell => !keys.has(getCellId(cell)) || isTextCurrent(cell))
    );
  }

  /** Change the notebook's model, and preserve the viewport and the caret of each view. */
  preserveViewports(change: () => void): void {
    const changeAll = this._panels().reduce(
      (inner, { content }) =>
        () =>
          preserveCaret(content, () => preserveViewport(content, inner)),
      change
    );
    changeAll();
  }

  /** Hide the cells below collapsed headings in each view, and show all others. */
  updateCollapsedHeadings(): void {
    for (const { content } of this._panels()) {
      updateCollapsedHeadings(content).catch((error: unknown) => {
        console.warn('jupyter-nbedit: the cells below headings were not updated.', error);
      });
    }
  }

  /** Show the new text of changed cells at once, and highlight them if the setting is on. */
  showChangedCells(keys: readonly string[]): void {
    const changed = new Set(keys);
    for (const { content } of this._panels()) {
      const cells = content.widgets.filter(cell => changed.has(getCellId(cell)));
      cells.forEach(renderMarkdownNow);
      if (this._services.settings.current.flash) {
        cells.forEach(flashCell);
      }
    }
  }

  /**
   * Scroll to edited cells in the current view, if the setting `follow` is on and the user is not
   * busy. The focus and the caret do not move.
   */
  async followCells(keys: readonly string[]): Promise<void> {
    const panel = this._panels().find(each => this._shell.isCurrent(each));
    if (
      !this._services.settings.current.follow ||
      panel?.isVisible !== true ||
      this._activity.isBusy(panel)
    ) {
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

  /** Bring a view to the front and go to the conflict of a cell, or else to the cell. */
  async goToConflict(key: string): Promise<void> {
    const panel = this._getMainPanel();
    if (panel === undefined) {
      return;
    }
    this._shell.reveal(panel);
    await panel.revealed;
    const blocks = this._blocks.get(panel);
    blocks.update();
    const entryKey = getConflictEntryKey(key);
    await (blocks.entries.some(entry => entry.key === entryKey)
      ? blocks.goToEntry(entryKey)
      : this.goToCell(key));
  }

  /** Bring a view to the front and go to a cell in it. */
  async goToCell(key: string): Promise<void> {
    const panel = this._getMainPanel();
    const cell = panel?.content.widgets.find(each => getCellId(each) === key);
    if (panel !== undefined && cell !== undefined) {
      this._shell.reveal(panel);
      await goToCell(panel.content, cell);
      this.showChangedCells([key]);
    }
  }

  /** Return the view in which the user works, or else the first view. */
  private _getMainPanel(): NotebookPanel | undefined {
    const panels = this._panels();
    return panels.find(each => this._shell.isCurrent(each)) ?? panels[0];
  }

  private readonly _activity = new UserActivity();
}
