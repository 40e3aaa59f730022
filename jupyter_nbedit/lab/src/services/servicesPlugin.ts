import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import {
  EditorLanguageRegistry,
  IEditorLanguageRegistry,
  IEditorThemeRegistry
} from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { ServiceManager } from '@jupyterlab/services';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import { NbEditClient, NbEditError } from '../server/client';
import { FileChangeEvents } from '../server/fileChanges';
import { ProposalModel } from '../server/proposalModel';
import { TabConnection } from '../server/tabConnection';
import { UnseenModel } from '../server/unseenModel';
import { WriteRight } from '../server/writeRight';
import { Settings } from './settings';

/** What the plugins of a page share. It must not be passed to other extensions. */
export class NbEditServices {
  constructor(
    private readonly _manager: ServiceManager.IManager,
    private readonly _tracker: INotebookTracker | null,
    private readonly _palette: ICommandPalette | null,
    readonly languages: IEditorLanguageRegistry,
    readonly themes: IEditorThemeRegistry | null,
    readonly trans: TranslationBundle
  ) {
    const { events, serverSettings, user } = _manager;
    const unidentified = new NbEditClient(serverSettings);
    this.tabs = new TabConnection(serverSettings, () => hasServerExtension(unidentified));
    this.server = new NbEditClient(serverSettings, this.tabs);
    this.fileChanges = new FileChangeEvents(events, () => user.identity?.username ?? null);
  }

  /** Tells the server what is open in this page, and which requests come from the person in it. */
  readonly tabs: TabConnection;

  /** Sends requests of the person in this page: only our own buttons may use it. */
  readonly server: NbEditClient;

  /** Tells of files that change on disk. */
  readonly fileChanges: FileChangeEvents;

  /** Whether the user may change notebooks; the plugin of modes keeps it up to date. */
  readonly right = new WriteRight();

  readonly settings = new Settings();

  /** The changes of edits that the user has not kept. */
  get unseen(): UnseenModel {
    this._unseen ??= this._makeUnseenModel();
    return this._unseen;
  }

  /** The changes that wait for somebody to accept or reject them. */
  get proposals(): ProposalModel {
    this._proposals ??= this._makeProposalModel();
    return this._proposals;
  }

  /** Return the path in the Contents API without a drive, as our server knows it. */
  readonly getLocalPath = (path: string): string => this._manager.contents.localPath(path);

  /** Add commands to the command palette, in our category. */
  addToPalette(...commands: readonly string[]): void {
    commands.forEach(command => this.addPaletteItem({ command }));
  }

  /** Add a command with arguments to the command palette, in our category. */
  addPaletteItem(item: Omit<Parameters<ICommandPalette['addItem']>[0], 'category'>): void {
    this._palette?.addItem({ ...item, category: this.trans.__('Agent Edits') });
  }

  private _makeUnseenModel(): UnseenModel {
    const model = new UnseenModel(
      this.server,
      this._manager.events,
      this.fileChanges,
      path =>
        this._tracker?.find(({ context }) => this.getLocalPath(context.path) === path) != null,
      () => document.visibilityState === 'visible',
      this.right
    );
    model.refreshNotebooks();
    return model;
  }

  private _makeProposalModel(): ProposalModel {
    const model = new ProposalModel(this.server, this._manager.events);
    this.fileChanges.addListener({ onResync: () => model.refresh() });
    model.refresh();
    return model;
  }

  private _unseen: UnseenModel | null = null;
  private _proposals: ProposalModel | null = null;
}

/** Return whether the server has our routes; true if it does not respond. */
async function hasServerExtension(server: NbEditClient): Promise<boolean> {
  try {
    await server.getAbout();
    return true;
  } catch (error) {
    return !(error instanceof NbEditError && error.status === 404);
  }
}

/** A private token: other extensions use `INbEdit`. */
export const INbEditServices = new Token<NbEditServices>(
  'jupyter-nbedit:INbEditServices',
  'What the plugins of jupyter-nbedit share.'
);

/** Its id consists of the names of the package and of the file in `schema`. */
export const servicesPlugin: JupyterFrontEndPlugin<NbEditServices> = {
  id: 'jupyter-nbedit:plugin',
  description: 'Connects to the server and reads the settings, for all other plugins.',
  autoStart: true,
  provides: INbEditServices,
  optional: [
    INotebookTracker,
    ICommandPalette,
    IEditorLanguageRegistry,
    IEditorThemeRegistry,
    ITranslator,
    ISettingRegistry
  ],
  activate: (
    { serviceManager }: JupyterFrontEnd,
    tracker: INotebookTracker | null,
    palette: ICommandPalette | null,
    languages: IEditorLanguageRegistry | null,
    themes: IEditorThemeRegistry | null,
    translator: ITranslator | null,
    registry: ISettingRegistry | null
  ) => {
    const services = new NbEditServices(
      serviceManager,
      tracker,
      palette,
      languages ?? new EditorLanguageRegistry(),
      themes,
      (translator ?? nullTranslator).load('jupyter_nbedit')
    );
    services.tabs.start();
    void services.settings.load(registry, servicesPlugin.id);
    return services;
  }
};
