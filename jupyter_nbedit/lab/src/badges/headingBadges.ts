import type { Cell, MarkdownCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { NotebookBlocks } from '../blocks/notebookBlocks';
import { makeElement } from '../ui/elements';
import { preserveViewport } from '../ui/viewport';
import { groupByCollapsedHeading } from './sections';

/** At collapsed headings of a notebook, how many changes they hide. */
export class HeadingBadges {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _blocks: NotebookBlocks,
    private readonly _trans: TranslationBundle
  ) {
    _blocks.changed.connect(this._schedule);
    _panel.content.modelContentChanged.connect(this._schedule);
    this._schedule();
  }

  private readonly _schedule = (): void => {
    // JupyterLab tells of a collapsed heading before it hides the cells below.
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      if (!this._panel.isDisposed) {
        this._update();
      }
    });
  };

  private _update(): void {
    const { content } = this._panel;
    const cells = content.widgets.map(cell => {
      if (cell.model.type !== 'markdown') {
        return { isHidden: cell.isHidden, isCollapsed: false };
      }
      const { headingCollapsedChanged, headingCollapsed } = cell as MarkdownCell;
      // The same handler each time, so that it is connected only once.
      headingCollapsedChanged.connect(this._schedule);
      return { isHidden: cell.isHidden, isCollapsed: headingCollapsed };
    });
    const groups = groupByCollapsedHeading(cells, this._blocks.entries);
    const texts = new Map<Cell, readonly [string, string]>();
    for (const [index, { firstKey, count }] of groups) {
      const cell = content.widgets[index];
      if (cell !== undefined) {
        texts.set(cell, [this._describe(count), firstKey]);
      }
    }
    if ([...this._badges.keys()].some(cell => !texts.has(cell)) || texts.size > this._badges.size) {
      preserveViewport(content, () => this._show(texts));
    } else {
      this._show(texts);
    }
  }

  private _show(texts: ReadonlyMap<Cell, readonly [text: string, key: string]>): void {
    for (const [cell, badge] of this._badges) {
      if (!texts.has(cell)) {
        badge.remove();
        this._badges.delete(cell);
      }
    }
    for (const [cell, [text, key]] of texts) {
      const badge = this._badges.get(cell) ?? this._add(cell);
      badge.textContent = text;
      badge.dataset.key = key;
    }
  }

  private _add(cell: Cell): HTMLButtonElement {
    const badge = makeElement('button', 'jp-nbedit-heading-badge');
    badge.type = 'button';
    badge.title = this._trans.__('Expand the heading and go to the first change');
    // Enter and Space press the button and are no shortcuts of the notebook.
    badge.dataset.lmSuppressShortcuts = 'true';
    badge.addEventListener('click', () => void this._blocks.goToEntry(badge.dataset.key ?? ''));
    cell.node.append(badge);
    this._badges.set(cell, badge);
    return badge;
  }

  private _describe(count: number): string {
    return this._trans._n('%1 change inside', '%1 changes inside', count, count);
  }

  private readonly _badges = new Map<Cell, HTMLButtonElement>();
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
