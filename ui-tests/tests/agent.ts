/** What is wanted of a cell, as the body of the PATCH has it. */
export type Operation = { op: string } & Record<string, unknown>;

export interface Answer {
  hash: string;
  edit_id: number | null;
  total_cells: number;
  operations: { op: string; cell_id: string | null; index: number | null }[];
  tabs: { open: number; shown: number; merged: number; waiting: number };
}

export interface ProposalAnswer {
  status: string;
  edit_ids: number[];
  parts: { part: number; cell_id: string | null; status: string }[];
}

/** An agent that edits notebooks over HTTP with the server's token, and has no browser. */
export class Agent {
  constructor(
    private readonly url: string,
    private readonly token: string
  ) {}

  /** Apply a batch of operations. It must be accepted: a refusal fails the test. */
  async edit(
    path: string,
    operations: Operation[],
    client = 'Test agent',
    { waitTabs = 0, message }: { waitTabs?: number; message?: string } = {}
  ): Promise<Answer & { answeredAt: number }> {
    const wait = waitTabs > 0 ? `?wait_tabs=${waitTabs}` : '';
    const address = `/nbedit/notebooks/${encodePath(path)}${wait}`;
    const { body, at } = await this.send('PATCH', address, { operations, client, message });
    return { ...(body as Answer), answeredAt: at };
  }

  /** Apply a batch without a name; Jupyter Server invents a user name for the request. */
  async editUnnamed(path: string, operations: Operation[]): Promise<Answer> {
    const address = `/nbedit/notebooks/${encodePath(path)}`;
    return (await this.send('PATCH', address, { operations })).body as Answer;
  }

  /** Take an edit back. */
  async undo(path: string, edit: number | null, client: string): Promise<void> {
    const address = `/nbedit/notebooks/${encodePath(path)}/undo`;
    await this.send('POST', address, { edit_id: edit, client });
  }

  /** Set how edits of a notebook are taken; null for what holds for the server. */
  async setMode(path: string, mode: 'edit' | 'review' | 'plan' | null): Promise<void> {
    await this.send('PUT', '/nbedit/mode', { path, mode });
  }

  /** Send a batch to a notebook that is in review mode; answers the proposal that became of it. */
  async propose(
    path: string,
    operations: Operation[],
    { client = 'Claude', message = '' } = {}
  ): Promise<number> {
    const address = `/nbedit/notebooks/${encodePath(path)}`;
    const body = { operations, client, ...(message === '' ? {} : { message }) };
    return this.proposalOf(await this.send('PATCH', address, body));
  }

  /** Send a new notebook while the mode of its path is review. */
  async proposeNew(
    path: string,
    cells: Record<string, unknown>[],
    language = 'python'
  ): Promise<number> {
    const address = `/nbedit/notebooks/${encodePath(path)}`;
    const body = { cells, client: 'Claude', language };
    return this.proposalOf(await this.send('PUT', address, body));
  }

  /** Ask what became of a proposal; with `wait`, wait for it so many seconds. */
  async proposal(id: number, wait = 0): Promise<ProposalAnswer> {
    return (await this.get(`/nbedit/proposals/${id}?wait=${wait}`)) as ProposalAnswer;
  }

  private proposalOf({ body, status }: { body: unknown; status: number }): number {
    if (status !== 202) {
      throw new Error(`Expected 202 for a proposal, got ${status}: ${JSON.stringify(body)}`);
    }
    return (body as { proposal_id: number }).proposal_id;
  }

  /** Call a tool, named as `dialect/tool`. It must succeed. */
  async call(tool: string, input: Record<string, unknown>): Promise<unknown> {
    return (await this.send('POST', `/nbedit/tools/${tool}`, input)).body;
  }

  /** Let the contents API write a file, as any other program may. */
  async put(path: string, model: Record<string, unknown>): Promise<void> {
    await this.send('PUT', `/api/contents/${encodePath(path)}`, model);
  }

  async get(address: string): Promise<unknown> {
    return (await this.send('GET', address)).body;
  }

  private async send(
    method: string,
    address: string,
    content?: unknown
  ): Promise<{ body: unknown; at: number; status: number }> {
    const answer = await fetch(this.url + address, {
      method,
      headers: { Authorization: `token ${this.token}`, 'Content-Type': 'application/json' },
      body: content === undefined ? null : JSON.stringify(content)
    });
    const text = await answer.text();
    const at = Date.now();
    if (!answer.ok) {
      throw new Error(`${method} ${address} answered ${answer.status}: ${text}`);
    }
    return { body: JSON.parse(text) as unknown, at, status: answer.status };
  }
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
