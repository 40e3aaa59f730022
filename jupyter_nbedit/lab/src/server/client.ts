import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';
import type { EditOptions } from './api';
import type { NotebookDelta } from '../merge/delta';
import { localEdits } from './localEdits';
import { unsavedTyping, type ReversalVerb, type UndoDecision } from './unsavedTyping';
import type {
  CellSources,
  AboutReply,
  AgentsReply,
  ChosenSource,
  DetailedEdit,
  EditReply,
  HistoryReply,
  Mode,
  ModeReply,
  Proposal,
  ProposalsReply,
  PurgeReply,
  ReadReply,
  RestoreReply,
  UnseenNotebook,
  UnseenNotebooks,
  UnseenReply
} from './models';
import type { PageIdentity } from './tabConnection';

/** The name of JupyterLab as a client in the history: a person has clicked in a page. */
export const PAGE_CLIENT = 'JupyterLab';

/** The header with the name of the client. */
const CLIENT_HEADER = 'X-NbEdit-Client';

/** The header with the id of the page: the request comes from the person in it. */
const PAGE_HEADER = 'X-NbEdit-Page';

/** The server refused a request, or did not answer it. */
export class NbEditError extends Error {
  override readonly name = 'NbEditError';

  /**
   * @param status The HTTP status, or 0 if there was no response.
   * @param reason The reason for programs: `undo_conflict`, `plan_mode`, …
   */
  constructor(
    readonly status: number,
    readonly reason: string,
    message: string,
    readonly details: Readonly<Record<string, unknown>> = {}
  ) {
    super(message);
  }
}

/** The reason of the error if the user does not want to lose what he has typed. */
const UNDO_CANCELLED = 'undo_cancelled';

/** Return whether the user has cancelled an undo, and needs no message about it. */
export function isUndoCancelled(error: unknown): boolean {
  return error instanceof NbEditError && error.reason === UNDO_CANCELLED;
}

/** The result of undoing the changes of cells. */
export interface UndoneCells {
  /** Null if all changes are kept instead. */
  readonly reply: EditReply | null;
  /** The keys of the changes that are kept instead. */
  readonly keptKeys: readonly string[];
}

/**
 * Return the keys of the changes of cells, among those with the given keys.
 *
 * @param hash The version of the notebook in which the cells have their indexes.
 * @throws NbEditError if it is not certain which change belongs to a cell.
 */
function findChanges(
  { hash: currentHash, cells }: UnseenReply,
  keys: readonly string[],
  sources: readonly CellSources[],
  hash: string | null
): string[] {
  const changes = cells.filter(({ key }) => keys.includes(key));
  return sources.map(source => {
    const found = changes.filter(change =>
      currentHash === hash
        ? change.index === source.index_before
        : change.cell_id !== null && change.cell_id === source.cell_id
    );
    const [first, second] = found;
    if (first === undefined || second !== undefined) {
      throw new NbEditError(0, 'cell_changed', 'The notebook has changed meanwhile.');
    }
    return first.key;
  });
}

/** The parts of a request that many requests do not have. */
interface RequestOptions {
  readonly body?: object;
  readonly query?: Readonly<Record<string, string | number | null | undefined>>;
  readonly cache?: RequestCache;
  /** The id of the page, if a person asks; by default the id of this page, if it has an id. */
  readonly pageId?: string | null | undefined;
}

/** Options of an undo or redo without the number of an edit. */
export interface UndoOptions extends EditOptions {
  /** The newest edit of the same client, or of all. */
  readonly whose?: 'own' | 'all';
}

/** Options of accepting a proposal of which cells have changed since. */
export interface AcceptOptions extends EditOptions {
  /** The sources of cells, as a person chose them. */
  readonly sources?: readonly ChosenSource[];
  /** Merge cells by line where both changes fit together. */
  readonly merge?: boolean;
}

/** Calls the REST API of the extension. A request that fails throws an `NbEditError`. */
export class NbEditClient {
  /** Emitted when the server refuses a change of any client, because the user has no right to it. */
  static get refused(): ISignal<typeof NbEditClient, void> {
    return NbEditClient._refused;
  }

  /** Emitted when a person asks, and the server cannot know that without a WebSocket. */
  static get unconnected(): ISignal<typeof NbEditClient, void> {
    return NbEditClient._unconnected;
  }

  /**
   * @param _page The page whose buttons send the changes; without it they count as a program's.
   */
  constructor(
    private readonly _settings: ServerConnection.ISettings,
    private readonly _page: PageIdentity | null = null
  ) {}

  async getAbout(): Promise<AboutReply> {
    return this._request('GET', '');
  }

  /** @param url The URL of the MCP endpoint, for clients on other machines. */
  async getAgents(url: string): Promise<AgentsReply> {
    return this._request('GET', 'agents', { query: { url } });
  }

  /**
   * List edits, newest first.
   *
   * @param path The notebook, or null for all notebooks.
   * @param before List only edits older than this one: the `next` of the previous page.
   */
  async listHistory(
    path: string | null,
    before?: number | null,
    limit?: number
  ): Promise<HistoryReply> {
    const address = path === null ? 'history' : `${buildNotebookPath(path)}/history`;
    return this._request('GET', address, { query: { before, limit } });
  }

  async getEdit(path: string, id: number): Promise<DetailedEdit> {
    return this._request('GET', `${buildNotebookPath(path)}/history/${id}`);
  }

  /** Return the hash of the notebook as it is stored now. */
  async getHash(path: string): Promise<string> {
    const response = await this._send('HEAD', buildNotebookPath(path), { cache: 'reload' });
    const hash = /^(?:W\/)?"(.+)"$/.exec(response.headers.get('ETag') ?? '')?.[1];
    if (!response.ok || hash === undefined) {
      throw new NbEditError(response.status, 'no_answer', `HTTP ${response.status}`);
    }
    return hash;
  }

  /** Return the difference of the notebook, as it is stored now, from the version `since`. */
  async getDelta(path: string, since: string): Promise<NotebookDelta> {
    const query = { since, view: 'nbformat' };
    // The notebook may have become trusted, which does not change its hash.
    return this._request('GET', buildNotebookPath(path), { query, cache: 'reload' });
  }

  /** Return the source hash of a cell, by its id or index. */
  async getSourceHash(path: string, cell: string | number): Promise<string> {
    const address = `${buildNotebookPath(path)}/cells/${encodeURIComponent(cell)}`;
    const { cells } = await this._request<ReadReply>('GET', address, {
      query: { view: 'outline' }
    });
    return cells[0]?.source_hash ?? '';
  }

  /** Return the language of the notebook's code, if it is known. */
  async getLanguage(path: string): Promise<string | null> {
    const query = { view: 'outline', limit: 1 };
    const { language } = await this._request<ReadReply>('GET', buildNotebookPath(path), { query });
    return language;
  }

  /** Undo an edit, by default the newest of this client that is in effect. */
  async undo(path: string, id?: number, options?: UndoOptions): Promise<EditReply> {
    return this._undoOrRestore(path, 'undo', { edit_id: id }, options);
  }

  /** Redo an edit, by default the edit that this client has undone last. */
  async redo(path: string, id?: number, options?: UndoOptions): Promise<EditReply> {
    return this._undoOrRestore(path, 'redo', { edit_id: id }, options);
  }

  /** Read what edits have changed since this user's last Keep. */
  async getUnseen(path: string): Promise<UnseenReply> {
    return this._request('GET', `${buildNotebookPath(path)}/unseen`);
  }

  /** List the notebooks with edits that this user has not kept. */
  async listUnseen(): Promise<readonly UnseenNotebook[]> {
    const { notebooks } = await this._request<UnseenNotebooks>('GET', 'unseen');
    return notebooks;
  }

  /**
   * Mark changes as seen.
   *
   * @param cells The keys of the changes; by default all.
   * @param until Mark only edits up to this one.
   */
  async keep(path: string, cells?: readonly string[], until?: number): Promise<UnseenReply> {
    const body = { cells, until };
    return this._request('POST', `${buildNotebookPath(path)}/keep`, { body });
  }

  /**
   * Return cells to the state that this user kept last.
   *
   * @param cells The keys of the changes.
   * @param until Refuse changes that contain a newer edit.
   * @param canKeep Whether the user may keep the changes of cells in which he has typed instead.
   */
  async undoCells(
    path: string,
    cells: readonly string[],
    until?: number,
    canKeep = false,
    options?: EditOptions
  ): Promise<UndoneCells> {
    const body = { cells, until };
    const { decision, hash } = await this._confirm(path, 'undo', body, options, canKeep);
    const keptCells = decision?.keptCells ?? [];
    if (keptCells.length === 0) {
      return {
        reply: await this._sendReversal(path, 'undo', body, options, decision),
        keptKeys: []
      };
    }
    const unseen = await this.getUnseen(path);
    const keptKeys = findChanges(unseen, cells, keptCells, hash);
    await this.keep(path, keptKeys, until);
    const rest = { cells: cells.filter(key => !keptKeys.includes(key)), until };
    return {
      reply:
        rest.cells.length === 0
          ? null
          : await this._sendReversal(path, 'undo', rest, options, decision),
      keptKeys
    };
  }

  /** Return the notebook to what it was after an edit. */
  async restore(path: string, editId: number, options?: EditOptions): Promise<RestoreReply> {
    return this._undoOrRestore<RestoreReply>(path, 'restore', { edit_id: editId }, options);
  }

  /** Delete the history of a notebook; return the number of deleted edits. */
  async purgeHistory(path: string): Promise<number> {
    const address = `${buildNotebookPath(path)}/history`;
    const { purged } = await this._request<PurgeReply>('DELETE', address);
    return purged;
  }

  /** Apply operations to a notebook. */
  async edit(
    path: string,
    operations: readonly object[],
    options?: EditOptions
  ): Promise<EditReply> {
    return this._sendChange('PATCH', buildNotebookPath(path), { operations }, options);
  }

  /** @param path The notebook, or null for the server. */
  async getMode(path: string | null): Promise<ModeReply> {
    return this._request('GET', 'mode', { query: { path } });
  }

  /** @param mode Null to remove the mode of the notebook, or to restore the configured mode. */
  async setMode(path: string | null, mode: Mode | null): Promise<ModeReply> {
    return this._request('PUT', 'mode', { body: path === null ? { mode } : { mode, path } });
  }

  async listProposals(options: {
    readonly path?: string;
    readonly status?: 'pending' | 'all';
    readonly limit?: number;
  }): Promise<readonly Proposal[]> {
    const { proposals } = await this._request<ProposalsReply>('GET', 'proposals', {
      query: options
    });
    return proposals;
  }

  async getProposal(id: number): Promise<Proposal> {
    return this._request('GET', buildProposalPath(id));
  }

  /** @param parts The parts to accept; by default all that are pending. */
  async acceptProposal(
    id: number,
    parts?: readonly number[],
    options?: AcceptOptions
  ): Promise<EditReply> {
    return localEdits.track(
      this._sendChange('POST', `${buildProposalPath(id)}/accept`, { parts }, options)
    );
  }

  /**
   * @param parts The parts to reject; by default all that are pending.
   * @param reason Why, for the agent.
   */
  async rejectProposal(id: number, parts?: readonly number[], reason?: string): Promise<Proposal> {
    return this._request('POST', `${buildProposalPath(id)}/reject`, { body: { parts, reason } });
  }

  /** @param parts Rejected parts that wait for a decision again; by default all. */
  async reopenProposal(id: number, parts?: readonly number[]): Promise<Proposal> {
    return this._request('POST', `${buildProposalPath(id)}/reopen`, { body: { parts } });
  }

  private async _undoOrRestore<Answer extends EditReply = EditReply>(
    path: string,
    verb: ReversalVerb,
    body: object,
    options: UndoOptions = {}
  ): Promise<Answer> {
    const { decision } = await this._confirm(path, verb, body, options, false);
    return this._sendReversal<Answer>(path, verb, body, options, decision);
  }

  /**
   * Ask the user for a decision if an undo would also remove text that the user has typed.
   *
   * @throws NbEditError if the server refuses the undo, or the user cancels it.
   */
  private async _confirm(
    path: string,
    verb: ReversalVerb,
    body: object,
    options: UndoOptions = {},
    canKeep: boolean
  ): Promise<{ readonly decision: UndoDecision | null; readonly hash: string | null }> {
    const guard = this._page === null || options.dry_run === true ? null : unsavedTyping.find(path);
    if (guard === null) {
      return { decision: null, hash: null };
    }
    const address = `${buildNotebookPath(path)}/${verb}`;
    const dryOptions = { ...options, dry_run: true };
    const reply = await this._sendChange('POST', address, body, dryOptions, null);
    const decision = await guard.confirmUndo(verb, reply.sources ?? [], canKeep);
    if (!decision.isConfirmed) {
      throw new NbEditError(0, UNDO_CANCELLED, 'The user has cancelled the undo.');
    }
    return { decision, hash: reply.hash_before };
  }

  private async _sendReversal<Answer extends EditReply = EditReply>(
    path: string,
    verb: ReversalVerb,
    body: object,
    options: UndoOptions = {},
    decision: UndoDecision | null
  ): Promise<Answer> {
    const address = `${buildNotebookPath(path)}/${verb}`;
    try {
      const pageId = options.dry_run === true ? null : await this._requirePage(path);
      return await localEdits.track(
        this._sendChange<Answer>('POST', address, body, options, pageId),
        // A reply that waits for tabs comes after the tab has shown the change.
        options.wait_tabs === undefined ? path : null
      );
    } catch (error) {
      decision?.restoreTyping();
      throw error;
    }
  }

  /**
   * Return the id of the page; null without a page, and in the mode `edit` without a WebSocket.
   * Throw an error if the server would take the undo of a person for one of a program.
   */
  private async _requirePage(path: string): Promise<string | null> {
    if (this._page === null) {
      return null;
    }
    const pageId = await this._page.getId();
    if (pageId === null && (await this.getMode(path)).mode !== 'edit') {
      NbEditClient._unconnected.emit();
      throw new NbEditError(0, 'unconnected', 'The page has no WebSocket to the server.');
    }
    return pageId;
  }

  private async _sendChange<Answer = EditReply>(
    method: string,
    address: string,
    body: object,
    { wait_tabs, ...options }: EditOptions = {},
    pageId?: string | null
  ): Promise<Answer> {
    return this._request(method, address, {
      body: { client: PAGE_CLIENT, ...body, ...options },
      query: { wait_tabs },
      pageId
    });
  }

  private async _request<Answer>(
    method: string,
    address: string,
    options: RequestOptions = {}
  ): Promise<Answer> {
    const isChange = method !== 'GET' && this._page !== null;
    let { pageId = null } = options;
    if (isChange && options.pageId === undefined) {
      pageId = await this._page.getId();
    }
    try {
      try {
        return await parseResponse<Answer>(
          await this._send(method, address, { ...options, pageId })
        );
      } catch (error) {
        if (pageId === null || !isChange || !isUnknownPage(error)) {
          throw error;
        }
        // The server was restarted, or the computer slept. Without an id, the request fails again.
        const newId = (await this._page.renewId(pageId)) ?? pageId;
        return await parseResponse<Answer>(
          await this._send(method, address, { ...options, pageId: newId })
        );
      }
    } catch (error) {
      if (method !== 'GET' && isRefusal(error)) {
        NbEditClient._refused.emit();
      }
      throw error;
    }
  }

  private async _send(
    method: string,
    address: string,
    // With its default `no-store`, JupyterLab adds the time to each URL.
    { body, query = {}, cache = 'no-cache', pageId = null }: RequestOptions
  ): Promise<Response> {
    const searchParams = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value != null) {
        searchParams.set(name, `${value}`);
      }
    }
    const url = URLExt.join(this._settings.baseUrl, 'nbedit', address);
    const parameters = searchParams.toString();
    const search = parameters === '' ? '' : `?${parameters}`;
    const headers: Record<string, string> = {};
    const init: RequestInit = { method, cache, headers };
    if (method !== 'GET') {
      // Decisions have no member for it.
      headers[CLIENT_HEADER] = PAGE_CLIENT;
    }
    if (pageId !== null) {
      headers[PAGE_HEADER] = pageId;
    }
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      headers['Content-Type'] = 'application/json';
    }
    try {
      return await ServerConnection.makeRequest(url + search, init, this._settings);
    } catch {
      throw new NbEditError(0, 'unreachable', 'The server does not answer. Is it running?');
    }
  }

  private static readonly _refused = new Signal<typeof NbEditClient, void>(NbEditClient);
  private static readonly _unconnected = new Signal<typeof NbEditClient, void>(NbEditClient);
}

/** Return whether a request failed because the user has no right to it, or is not logged in. */
function isRefusal(error: unknown): boolean {
  return error instanceof NbEditError && (error.status === 401 || error.reason === 'forbidden');
}

/** Return whether the server does not know the id of this page. */
function isUnknownPage(error: unknown): boolean {
  return error instanceof NbEditError && error.reason === 'page_unknown';
}

/** Return the body of a response, or throw an `NbEditError` if it has none or is an error. */
async function parseResponse<Answer>(response: Response): Promise<Answer> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    throw new NbEditError(
      response.status,
      'no_answer',
      response.status === 404
        ? 'This server has no jupyter_nbedit. Is the server extension enabled?'
        : `The server's answer cannot be read (HTTP ${response.status}).`
    );
  }
  if (response.ok) {
    return body as Answer;
  }
  const { message, reason, details } = (body ?? {}) as Record<string, unknown>;
  throw new NbEditError(
    response.status,
    typeof reason === 'string' ? reason : 'unknown',
    typeof message === 'string' && message !== '' ? message : `HTTP ${response.status}`,
    typeof details === 'object' && details !== null ? (details as Record<string, unknown>) : {}
  );
}

function buildNotebookPath(path: string): string {
  return `notebooks/${URLExt.encodeParts(path.replace(/^\/+/, ''))}`;
}

function buildProposalPath(id: number): string {
  return `proposals/${id}`;
}
