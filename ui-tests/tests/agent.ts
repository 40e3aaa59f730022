/** An operation, as in the body of a PATCH. */
export type Operation = { op: string } & Record<string, unknown>;

export type Mode = 'edit' | 'review' | 'plan';

export interface EditReply {
  hash: string;
  edit_id: number | null;
  total_cells: number;
  operations: { op: string; cell_id: string | null; index: number | null }[];
  tabs: { open: number; shown: number; merged: number; waiting: number };
}

export interface ProposalReply {
  status: string;
  edit_ids: number[];
  parts: { part: number; cell_id: string | null; status: string }[];
}

/** An agent that edits notebooks over HTTP with the server's token, without a browser. */
export class Agent {
  constructor(
    private readonly url: string,
    private readonly token: string
  ) {}

  /** Apply a batch of operations. An error fails the test. */
  async edit(
    path: string,
    operations: Operation[],
    client = 'Test agent',
    { waitTabs = 0, message }: { waitTabs?: number; message?: string } = {}
  ): Promise<EditReply & { answeredAt: number }> {
    const wait = waitTabs > 0 ? `?wait_tabs=${waitTabs}` : '';
    const address = `/nbedit/notebooks/${encodePath(path)}${wait}`;
    const { body, receivedAt } = await this.send('PATCH', address, { operations, client, message });
    return { ...(body as EditReply), answeredAt: receivedAt };
  }

  /** Apply a batch without a client name; Jupyter Server generates a user name for the request. */
  async editUnnamed(path: string, operations: Operation[]): Promise<EditReply> {
    const address = `/nbedit/notebooks/${encodePath(path)}`;
    return (await this.send('PATCH', address, { operations })).body as EditReply;
  }

  /** Undo an edit. */
  async undo(path: string, edit: number | null, client: string): Promise<void> {
    const address = `/nbedit/notebooks/${encodePath(path)}/undo`;
    await this.send('POST', address, { edit_id: edit, client });
  }

  /** Set the mode of a notebook; null removes it. */
  async setMode(path: string, mode: Mode | null): Promise<void> {
    await this.send('PUT', '/nbedit/mode', { path, mode });
  }

  /** Send a batch to a notebook in review mode; return the id of the proposal. */
  async propose(
    path: string,
    operations: Operation[],
    { client = 'Claude', message = '' } = {}
  ): Promise<number> {
    const address = `/nbedit/notebooks/${encodePath(path)}`;
    const body = { operations, client, ...(message === '' ? {} : { message }) };
    return this.getProposalId(await this.send('PATCH', address, body));
  }

  /** Create a notebook whose path is in review mode; return the id of the proposal. */
  async proposeNew(
    path: string,
    cells: Record<string, unknown>[],
    language = 'python'
  ): Promise<number> {
    const address = `/nbedit/notebooks/${encodePath(path)}`;
    const body = { cells, client: 'Claude', language };
    return this.getProposalId(await this.send('PUT', address, body));
  }

  /** Read a proposal; with `wait`, wait so many seconds for its decision. */
  async getProposal(id: number, wait = 0): Promise<ProposalReply> {
    return (await this.get(`/nbedit/proposals/${id}?wait=${wait}`)) as ProposalReply;
  }

  /** Reject a proposal, or parts of it. */
  async reject(id: number, parts?: number[]): Promise<void> {
    await this.send('POST', `/nbedit/proposals/${id}/reject`, { parts });
  }

  private getProposalId({ body, status }: { body: unknown; status: number }): number {
    if (status !== 202) {
      throw new Error(`Expected 202 for a proposal, got ${status}: ${JSON.stringify(body)}`);
    }
    return (body as { proposal_id: number }).proposal_id;
  }

  /** Call a tool, named as `toolset/tool`. An error fails the test. */
  async callTool(tool: string, input: Record<string, unknown>): Promise<unknown> {
    return (await this.send('POST', `/nbedit/tools/${tool}`, input)).body;
  }

  /** Write a file through the Contents API, as another program may. */
  async writeContents(path: string, model: Record<string, unknown>): Promise<void> {
    await this.send('PUT', `/api/contents/${encodePath(path)}`, model);
  }

  async get(address: string): Promise<unknown> {
    return (await this.send('GET', address)).body;
  }

  private async send(
    method: string,
    address: string,
    content?: unknown
  ): Promise<{ body: unknown; receivedAt: number; status: number }> {
    const response = await fetch(this.url + address, {
      method,
      headers: { Authorization: `token ${this.token}`, 'Content-Type': 'application/json' },
      body: content === undefined ? null : JSON.stringify(content)
    });
    const text = await response.text();
    const receivedAt = Date.now();
    if (!response.ok) {
      throw new Error(`${method} ${address} answered ${response.status}: ${text}`);
    }
    return { body: JSON.parse(text) as unknown, receivedAt, status: response.status };
  }
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
