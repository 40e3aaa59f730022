import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ownEdits } from './localEdits';
import type { About, EditDetail, EditReply, Mode, ModeReply, Page, Proposal } from './models';

/** What we call ourselves in the history. */
const CLIENT = 'JupyterLab';

/** The server did not do what it was asked to. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  /**
   * @param status The HTTP status, or 0 if there was no answer.
   * @param reason Why, for programs: `undo_conflict`, `plan_mode`, …
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

/** What any change may say of itself. */
export interface ChangeOptions {
  readonly client?: string;
  readonly message?: string;
  /** The version the change is for. */
  readonly hash?: string;
  readonly dry_run?: boolean;
  /** How long to wait for the open tabs, in milliseconds. */
  readonly wait_tabs?: number;
}

/** Our routes of the server, as the API has them. What they refuse is thrown as a `Refusal`. */
export class Server {
  constructor(private readonly _settings: ServerConnection.ISettings) {}

  async about(): Promise<About> {
    return this._ask('GET', '');
  }

  /**
   * List edits, newest first.
   *
   * @param path The notebook, or null for all notebooks.
   * @param before Only edits older than this one: the `next` of the page before.
   */
  async history(path: string | null, before?: number | null, limit?: number): Promise<Page> {
    const address = path === null ? 'history' : `${notebook(path)}/history`;
    return this._ask('GET', address, { query: { before, limit } });
  }

  async edit(path: string, id: number): Promise<EditDetail> {
    return this._ask('GET', `${notebook(path)}/history/${id}`);
  }

  /** The language of a notebook's code, if it is known. */
  async language(path: string): Promise<string | null> {
    const query = { view: 'outline', limit: 1 };
    const { language } = await this._ask<{ language: string | null }>('GET', notebook(path), {
      query
    });
    return language;
  }

  /** Take back an edit, or the newest that is in effect. */
  async undo(path: string, id?: number, options?: ChangeOptions): Promise<EditReply> {
    return ownEdits.during(
      this._change('POST', `${notebook(path)}/undo`, { edit_id: id }, options)
    );
  }

  /** Take back an undo, or the newest that is in effect. */
  async redo(path: string, id?: number, options?: ChangeOptions): Promise<EditReply> {
    return ownEdits.during(
      this._change('POST', `${notebook(path)}/redo`, { edit_id: id }, options)
    );
  }

  /** Forget a notebook's history; answers how many edits that were. */
  async purge(path: string): Promise<number> {
    const { purged } = await this._ask<{ purged: number }>('DELETE', `${notebook(path)}/history`);
    return purged;
  }

  /** Apply operations to a notebook. */
  async patch(
    path: string,
    operations: readonly object[],
    options?: ChangeOptions
  ): Promise<EditReply> {
    return this._change('PATCH', notebook(path), { operations }, options);
  }

  /** @param path The notebook, or null for the server. */
  async mode(path: string | null): Promise<ModeReply> {
    return this._ask('GET', 'mode', { query: { path } });
  }

  /** @param mode Null to take away the notebook's own mode, or go back to what is configured. */
  async setMode(path: string | null, mode: Mode | null): Promise<ModeReply> {
    return this._ask('PUT', 'mode', { body: path === null ? { mode } : { mode, path } });
  }

  async proposals(options: {
    readonly path?: string;
    readonly status?: 'pending' | 'all';
    readonly limit?: number;
  }): Promise<readonly Proposal[]> {
    const { proposals } = await this._ask<{ proposals: readonly Proposal[] }>('GET', 'proposals', {
      query: options
    });
    return proposals;
  }

  async proposal(id: number): Promise<Proposal> {
    return this._ask('GET', proposal(id));
  }

  /** @param parts Which parts; all that are pending, if not given. */
  async accept(id: number, parts?: readonly number[], options?: ChangeOptions): Promise<EditReply> {
    return ownEdits.during(this._change('POST', `${proposal(id)}/accept`, { parts }, options));
  }

  /** @param parts Which parts; all that are pending, if not given. */
  async reject(id: number, parts?: readonly number[]): Promise<Proposal> {
    return this._ask('POST', `${proposal(id)}/reject`, { body: { parts } });
  }

  private async _change(
    method: string,
    address: string,
    body: object,
    { wait_tabs, ...options }: ChangeOptions = {}
  ): Promise<EditReply> {
    return this._ask(method, address, {
      body: { client: CLIENT, ...body, ...options },
      query: { wait_tabs }
    });
  }

  private async _ask<Answer>(
    method: string,
    address: string,
    {
      body,
      query = {}
    }: {
      readonly body?: object;
      readonly query?: Readonly<Record<string, string | number | null | undefined>>;
    } = {}
  ): Promise<Answer> {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value != null) {
        asked.set(name, `${value}`);
      }
    }
    const url = URLExt.join(this._settings.baseUrl, 'nbedit', address);
    const parameters = asked.toString();
    const search = parameters === '' ? '' : `?${parameters}`;
    // With JupyterLab's `no-store` it would add the time to each address.
    const init: RequestInit = { method, cache: 'no-cache' };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { 'Content-Type': 'application/json' };
    }
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(url + search, init, this._settings);
    } catch {
      throw new Refusal(0, 'unreachable', 'The server does not answer. Is it running?');
    }
    return answered<Answer>(response);
  }
}

/** The answer's body; a `Refusal` if it is none. */
async function answered<Answer>(response: Response): Promise<Answer> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    throw new Refusal(
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
  throw new Refusal(
    response.status,
    typeof reason === 'string' ? reason : 'unknown',
    typeof message === 'string' && message !== '' ? message : `HTTP ${response.status}`,
    typeof details === 'object' && details !== null ? (details as Record<string, unknown>) : {}
  );
}

function notebook(path: string): string {
  return `notebooks/${URLExt.encodeParts(path.replace(/^\/+/, ''))}`;
}

function proposal(id: number): string {
  return `proposals/${id}`;
}
