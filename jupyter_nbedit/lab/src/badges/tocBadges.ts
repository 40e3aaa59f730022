import type { INotebookHeading, NotebookPanel } from '@jupyterlab/notebook';
import type { ITableOfContentsTracker, TableOfContents } from '@jupyterlab/toc';
import type { TranslationBundle } from '@jupyterlab/translation';
import { VDomModel } from '@jupyterlab/ui-components';
import type { NotebookBlocks } from '../blocks/notebookBlocks';
import { countByHeading } from './sections';

const ATTRIBUTE = 'data-nbedit-changes';

/** At the headings of a notebook's table of contents, whether their sections have changes. */
export class TocBadges {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _blocks: NotebookBlocks,
    private readonly _tracker: ITableOfContentsTracker,
    private readonly _trans: TranslationBundle
  ) {
    _blocks.changed.connect(this.update);
  }

  /** Show what is in the notebook now; its table of contents is made when it comes to the front. */
  readonly update = (): void => {
    const model = this._tracker.get(this._panel);
    if (this._panel.isDisposed || model === null) {
      return;
    }
    // The same handlers each time, so that they are connected only once.
    model.headingsChanged.connect(this.update);
    model.collapseChanged.connect(this.update);
    // The factory of JupyterLab for notebooks makes headings of this type.
    const headings = model.headings as unknown as readonly INotebookHeading[];
    const cells = this._panel.content.widgets;
    const counts = countByHeading(
      headings.map(({ cellRef, collapsed = false, level }) => ({
        cell: cells.indexOf(cellRef),
        level,
        isCollapsed: collapsed
      })),
      this._blocks.entries
    );
    const changed = headings.filter((heading, index) => this._mark(heading, counts[index] ?? 0));
    // Its other changes of this kind, such as running cells, are also drawn after this signal.
    if (changed.length > 0 && model instanceof VDomModel) {
      model.stateChanged.emit();
    }
  };

  /** Set the attributes of a heading; return whether they have changed. */
  private _mark(heading: TableOfContents.IHeading, count: number): boolean {
    const { dataset = {}, text } = heading;
    const label =
      count === 0
        ? ''
        : this._trans._n('%1 change in this section', '%1 changes in this section', count, count);
    if ((dataset[ATTRIBUTE] ?? '') === label) {
      return false;
    }
    const others = Object.entries(dataset).filter(
      ([name]) => name !== ATTRIBUTE && name !== 'title'
    );
    heading.dataset = {
      ...Object.fromEntries(others),
      ...(label === '' ? {} : { [ATTRIBUTE]: label, title: `${text}\n${label}` })
    };
    return true;
  }
}
