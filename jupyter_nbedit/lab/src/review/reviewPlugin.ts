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
import { Server } from '../server/client';
import { FileFeed, IFileFeed } from '../server/fileChanges';
import type { ProposalPart } from '../server/models';
import { Comparison, languageOf } from '../ui/diffView';
import { reviewIcon } from '../ui/icons';
import { notLinked } from '../ui/userGesture';
import { NotebookReview } from './notebookReview';
import { isAboutNotebook } from './partPosition';
import { ProposalList } from './proposalList';
import { Proposals } from './proposalModel';
import { texts } from './wording';

/** The ids of our commands; those that take no arguments are in the palette. */
export const Commands = {
  review: 'nbedit:review-proposals',
  next: 'nbedit:next-proposal',
  acceptAll: 'nbedit:accept-proposals',
  rejectAll: 'nbedit:reject-proposals'
} as const;

/** The language of the code in a new notebook that does not name one. */
const USUAL_LANGUAGE = 'text/x-python';

export const IProposals = new Token<Proposals>(
  'jupyter-nbedit:IProposals',
  'The changes that wait for somebody to accept or reject them.'
);

export const proposals: JupyterFrontEndPlugin<Proposals> = {
  id: 'jupyter-nbedit:proposals',
  description: 'Knows the changes that wait for somebody to accept or reject them.',
  autoStart: true,
  provides: IProposals,
  requires: [IFileFeed],
  activate: ({ serviceManager }: JupyterFrontEnd, files: FileFeed) => {
    const { events, serverSettings } = serviceManager;
    const pending = new Proposals(new Server(serverSettings), events);
    files.listen({ changed: () => undefined, mayHaveChanged: () => pending.refresh() });
    pending.refresh();
    return pending;
  }
};

export const review: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-nbedit:review',
  description: 'Shows proposed changes at their cells, to be accepted or rejected.',
  autoStart: true,
  requires: [IProposals, INotebookTracker, IEditorLanguageRegistry],
  optional: [IEditorThemeRegistry, ICommandPalette, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    pending: Proposals,
    tracker: INotebookTracker,
    languages: IEditorLanguageRegistry,
    themes: IEditorThemeRegistry | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const { commands, shell } = app;
    const { contents } = app.serviceManager;
    const trans = (translator ?? nullTranslator).load('jupyter_nbedit');

    const draw = (part: ProposalPart, code: string): Comparison | null => {
      const { before, after, isMetadata } = texts(part);
      if (before === null && after === null) {
        return null;
      }
      const type = isMetadata ? null : ((part.after ?? part.before)?.cell_type ?? null);
      const label = isAboutNotebook(part)
        ? trans.__('Metadata of the notebook')
        : trans.__('Cell %1', (part.index_before ?? part.index ?? 0) + 1);
      return new Comparison({
        texts: { before, after, language: languageOf(type, code), label },
        layout: 'inline',
        languages,
        themes,
        trans
      });
    };

    const reviews = new Map<NotebookPanel, NotebookReview>();
    const follow = (panel: NotebookPanel): void => {
      const path = (): string => contents.localPath(panel.context.path);
      const drawn = (part: ProposalPart): Comparison | null =>
        draw(part, panel.content.codeMimetype);
      reviews.set(panel, new NotebookReview(panel, pending, path, drawn, trans));
      panel.disposed.connect(() => reviews.delete(panel));
    };
    tracker.forEach(follow);
    tracker.widgetAdded.connect((_, panel) => follow(panel));
    // What has come while a notebook was out of sight is shown when it is in sight.
    shell.currentChanged?.connect(() => reviews.forEach(each => each.update()));

    const list = new ProposalList(pending, {
      trans,
      open: ({ path }) => void commands.execute('docmanager:open', { path, factory: 'Notebook' }),
      draw: (part, { language }) => draw(part, language ?? USUAL_LANGUAGE)
    });
    list.id = 'jp-nbedit-proposals';
    list.title.icon = reviewIcon;
    list.title.caption = trans.__('Proposed Changes');
    restorer?.add(list, list.id);

    const current = (): NotebookReview | undefined => {
      const panel = tracker.currentWidget;
      return panel === null ? undefined : reviews.get(panel);
    };
    const isEnabled = (): boolean => (current()?.count ?? 0) > 0;
    commands.addCommand(Commands.review, {
      label: trans.__('Review Proposals'),
      caption: trans.__('List all changes that are proposed'),
      execute: () => {
        if (!list.isAttached) {
          shell.add(list, 'right', { rank: 1000 });
        }
        shell.activateById(list.id);
      }
    });
    commands.addCommand(Commands.next, {
      label: trans.__('Go to Next Proposed Change'),
      isEnabled,
      execute: () => current()?.next()
    });
    commands.addCommand(Commands.acceptAll, {
      label: trans.__('Accept All Proposed Changes of This Notebook'),
      isEnabled,
      execute: notLinked(() => current()?.decideAll(true))
    });
    commands.addCommand(Commands.rejectAll, {
      label: trans.__('Reject All Proposed Changes of This Notebook'),
      isEnabled,
      execute: notLinked(() => current()?.decideAll(false))
    });
    const category = trans.__('Agent Edits');
    Object.values(Commands).forEach(command => palette?.addItem({ command, category }));
    pending.changed.connect(() => commands.notifyCommandChanged());
  }
};
