import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IFileBrowserFactory, type FileBrowser } from '@jupyterlab/filebrowser';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { ITableOfContentsTracker } from '@jupyterlab/toc';
import type { Widget } from '@lumino/widgets';
import { INotebookBlocks } from '../blocks/blocksPlugin';
import {
  describeUnseen,
  describeUnseenNotebooks,
  listUnseenNotebooks
} from '../notify/unseenCounts';
import { INbEditServices, type NbEditServices } from '../services/servicesPlugin';
import { HISTORY_PANEL } from '../ui/commands';
import { forEachPanel } from '../ui/panelMap';
import { FileBrowserBadges } from './fileBrowserBadges';
import { HeadingBadges } from './headingBadges';
import { TitleBadge } from './titleBadge';
import { TocBadges } from './tocBadges';

export const badgesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:badges',
  description: 'Shows which notebooks and sections have changes that the user has not kept.',
  autoStart: true,
  requires: [INbEditServices, INotebookBlocks, INotebookTracker],
  optional: [IFileBrowserFactory, ITableOfContentsTracker],
  activate: (
    { restored, serviceManager, shell }: JupyterFrontEnd,
    { settings, trans, unseen }: NbEditServices,
    blocks: INotebookBlocks,
    tracker: INotebookTracker,
    fileBrowsers: IFileBrowserFactory | null,
    tables: ITableOfContentsTracker | null
  ) => {
    const { contents } = serviceManager;

    // Without marks there is no Keep at the cells that would take the badges away.
    const describe = (path: string): string =>
      settings.current.marks ? describeUnseen(unseen, contents.localPath(path), trans) : '';
    const describeAll = (folder: string): string => {
      const paths = settings.current.marks ? listUnseenNotebooks(unseen) : [];
      return describeUnseenNotebooks(paths.filter(path => path.startsWith(folder)).length, trans);
    };

    const titles = new Map<Widget, TitleBadge>();
    const showOnTitle = (widget: Widget, text: string): void => {
      let badge = titles.get(widget);
      if (badge === undefined) {
        badge = new TitleBadge(widget.title);
        titles.set(widget, badge);
        widget.disposed.connect(() => titles.delete(widget));
      }
      badge.text = text;
    };
    const listings = new Set<FileBrowserBadges>();
    const updateBadges = (): void => {
      tracker.forEach(panel => showOnTitle(panel, describe(panel.context.path)));
      for (const area of ['left', 'right']) {
        for (const widget of shell.widgets(area)) {
          if (widget.id === HISTORY_PANEL) {
            showOnTitle(widget, describeAll(''));
          }
        }
      }
      listings.forEach(listing => listing.update());
    };

    const contentsTables = new Set<TocBadges>();
    const addPanel = (panel: NotebookPanel): void => {
      const notebookBlocks = blocks.get(panel);
      new HeadingBadges(panel, notebookBlocks, trans);
      if (tables !== null) {
        const table = new TocBadges(panel, notebookBlocks, tables, trans);
        contentsTables.add(table);
        panel.disposed.connect(() => contentsTables.delete(table));
      }
      panel.context.pathChanged.connect(updateBadges);
    };
    forEachPanel(tracker, addPanel);
    tracker.widgetAdded.connect(updateBadges);
    // A table of contents is made by another handler of the same signal.
    const updateTables = (): void =>
      void setTimeout(() => contentsTables.forEach(table => table.update()));
    shell.currentChanged?.connect(updateTables);
    void restored.then(updateTables);

    const addBrowser = (browser: FileBrowser): void => {
      const listing = new FileBrowserBadges(browser, (path, isFolder) =>
        isFolder ? describeAll(`${contents.localPath(path)}/`) : describe(path)
      );
      listings.add(listing);
      browser.disposed.connect(() => listings.delete(listing));
    };
    fileBrowsers?.tracker.forEach(addBrowser);
    fileBrowsers?.tracker.widgetAdded.connect((_, browser) => addBrowser(browser));

    unseen.changed.connect(updateBadges);
    unseen.notebooksChanged.connect(updateBadges);
    settings.changed.connect(updateBadges);
    void restored.then(updateBadges);
    updateBadges();
  }
};
