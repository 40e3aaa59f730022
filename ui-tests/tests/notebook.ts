import type { INotebookContent } from '@jupyterlab/nbformat';
import type { Agent, EditReply, Mode, Operation } from './agent';
import type { Folder } from './folder';
import { formatNotebook, type CellJson } from './notebooks';

/** A notebook of a test: its file, and the requests of an agent for it. */
export class Notebook {
  constructor(
    private readonly agent: Agent,
    private readonly folder: Folder,
    readonly name: string
  ) {}

  /** The path in the server's APIs. */
  get path(): string {
    return this.folder.getPath(this.name);
  }

  // The file ------------------------------------------------------------------------------------

  /** Write the text, or the cells as Jupyter does. */
  write(content: string | CellJson[]): void {
    this.folder.write(this.name, typeof content === 'string' ? content : formatNotebook(content));
  }

  readText(): string {
    return this.folder.readText(this.name);
  }

  readContent(): INotebookContent {
    return this.folder.readNotebook(this.name);
  }

  readSources(): string[] {
    return this.folder.readSources(this.name);
  }

  // The agent -----------------------------------------------------------------------------------

  async edit(
    operations: Operation[],
    client?: string,
    options?: { waitTabs?: number; message?: string }
  ): Promise<EditReply & { answeredAt: number }> {
    return this.agent.edit(this.path, operations, client, options);
  }

  /** Undo an edit; null undoes the client's last one. */
  async undo(edit: number | null, client: string): Promise<void> {
    await this.agent.undo(this.path, edit, client);
  }

  /** Set the mode; null removes it. */
  async setMode(mode: Mode | null): Promise<void> {
    await this.agent.setMode(this.path, mode);
  }

  /** Set the mode `review` and send a batch; return the id of the proposal. */
  async propose(
    operations: Operation[],
    options?: { client?: string; message?: string }
  ): Promise<number> {
    await this.setMode('review');
    return this.agent.propose(this.path, operations, options);
  }
}
