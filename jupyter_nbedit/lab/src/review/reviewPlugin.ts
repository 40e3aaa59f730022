import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import { BLOCK_COMMANDS, INotebookBlocks } from '../blocks/blocksPlugin';
import { drawCellDiff } from '../blocks/cellDiffView';
import { NbEditClient } from '../server/client';
import { IOpenPage } from '../server/openPage';
import type { TabConnection } from '../server/tabReports';
import { FileChangeFeed, IFileChangeFeed } from '../server/fileChanges';
import type { Proposal } from '../server/models';
import { IWriteRight, type WriteRight } from '../server/writeRight';
import { reviewIcon } from '../ui/icons';
import { requireUserGesture } from '../ui/userGesture';
import { NotebookReview } from './notebookReview';
import type { DrawDiff } from './partDrawer';
import { ProposalList } from './proposalList';
import { ProposalModel } from './proposalModel';

/** The ids of the commands; all of them are in the palette. */
export const COMMANDS = {
  review: 'nbedit:review-proposals',
  next: 'nbedit:next-proposal',
  acceptAll: 'nbedit:accept-proposals',
  rejectAll: 'nbedit:reject-proposals',
  undo: 'nbedit:undo-decision'
} as const;

/** JupyterLab's command that shows new files in the file browser. */
const REFRESH_FILES = 'filebrowser:refresh';

/** The language of code in a new notebook that does not name one. */
const DEFAULT_LANGUAGE = 'text/x-python';

export const IProposalModel = new Token<ProposalModel>(
  'jupyter-nbedit:IProposals',
  'The changes that wait for somebody to accept or reject them.'
);

export const proposalsPlugin: JupyterFrontEndPlugin<ProposalModel> = {
  id: 'jupyter-nbedit:proposals',
  description: 'Knows the changes that wait for somebody to accept or reject them.',
  autoStart: true,
  provides: IProposalModel,
  requires: [IFileChangeFeed, IOpenPage],
  activate: ({ serviceManager }: JupyterFrontEnd, files: FileChangeFeed, page: TabConnection) => {
    const { events, serverSettings } = serviceManager;
    const model = new ProposalModel(new NbEditClient(serverSettings, page), events);
    files.addListener({ onFileChange: () => undefined, onResync: () => model.refresh() });
    model.refresh();
    return model;
  }
};

export const reviewPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:review',
  description: 'Shows proposed changes at their cells, to be accepted or rejected.',
  autoStart: true,
  requires: [
    IProposalModel,
    IWriteRight,
    INotebookTracker,
    INotebookBlocks,
    IEditorLanguageRegistry
  ],
  optional: [IEditorThemeRegistry, ICommandPalette, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    proposals: ProposalModel,
    right: WriteRight,
    tracker: INotebookTracker,
    blocks: INotebookBlocks,
    languages: IEditorLanguageRegistry,
    themes: IEditorThemeRegistry | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const { commands, shell } = app;
    const { contents } = app.serviceManager;
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');

    const services = { languages, themes, trans };

    const reviews = new Map<NotebookPanel, NotebookReview>();
    const addPanel = (panel: NotebookPanel): void => {
      const path = (): string => contents.localPath(panel.context.path);
      const drawDiff: DrawDiff = (cell, onEdit) =>
        drawCellDiff(cell, panel.content.codeMimetype, services, onEdit);
      reviews.set(
        panel,
        new NotebookReview(blocks.get(panel), proposals, right, path, drawDiff, trans)
      );
      panel.disposed.connect(() => reviews.delete(panel));
    };
    tracker.forEach(addPanel);
    tracker.widgetAdded.connect((_, panel) => addPanel(panel));

    const openNotebook = ({ path }: Proposal): void => {
      void commands.execute('docmanager:open', { path, factory: 'Notebook' });
    };
    const showNewNotebook = (proposal: Proposal): void => {
      if (commands.hasCommand(REFRESH_FILES)) {
        void commands.execute(REFRESH_FILES);
      }
      openNotebook(proposal);
    };
    const list = new ProposalList(proposals, {
      trans,
      right,
      open: openNotebook,
      showNew: showNewNotebook,
      draw: (part, { language }) => drawCellDiff(part, language ?? DEFAULT_LANGUAGE, services)
    });
    list.id = 'jp-nbedit-proposals';
    list.title.icon = reviewIcon;
    list.title.caption = trans.__('Proposed Changes');
    restorer?.add(list, list.id);

    const getCurrentReview = (): NotebookReview | undefined => {
      const panel = tracker.currentWidget;
      return panel === null ? undefined : reviews.get(panel);
    };
    const isEnabled = (): boolean => (getCurrentReview()?.count ?? 0) > 0;
    const canDecide = right.restrict(isEnabled);
    commands.addCommand(COMMANDS.review, {
      label: trans.__('Review Proposals'),
      caption: trans.__('List all changes that are proposed'),
      execute: () => {
        if (!list.isAttached) {
          shell.add(list, 'right', { rank: 1000 });
        }
        shell.activateById(list.id);
      }
    });
    commands.addCommand(COMMANDS.next, {
      label: trans.__('Go to Next Proposed Change'),
      isEnabled,
      execute: () => commands.execute(BLOCK_COMMANDS.next)
    });
    commands.addCommand(COMMANDS.acceptAll, {
      label: trans.__('Accept All Proposed Changes of This Notebook'),
      isEnabled: canDecide,
      execute: requireUserGesture(() => getCurrentReview()?.decideAll(true))
    });
    commands.addCommand(COMMANDS.rejectAll, {
      label: trans.__('Reject All Proposed Changes of This Notebook'),
      isEnabled: canDecide,
      execute: requireUserGesture(() => getCurrentReview()?.decideAll(false))
    });
    commands.addCommand(COMMANDS.undo, {
      label: trans.__('Undo the Last Accept or Reject'),
      caption: trans.__('Undo what was decided last on changes proposed for this notebook'),
      isEnabled: right.restrict(() => getCurrentReview()?.canUndo ?? false),
      execute: requireUserGesture(() => getCurrentReview()?.undoDecision())
    });
    const category = trans.__('Agent Edits');
    Object.values(COMMANDS).forEach(command => palette?.addItem({ command, category }));
    proposals.changed.connect(() => commands.notifyCommandChanged());
  }
};
