/** What is wanted of a cell, as the body of the PATCH has it. */
export type Operation = { op: string } & Record<string, unknown>;

export interface Answer {
  hash: string;
  edit_id: number | null;
  total_cells: number;
  operations: { op: string; cell_id: string | null; index: number | null }[];
  tabs: { open: number; shown: number; merged: number; waiting: number };
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
  ): Promise<{ body: unknown; at: number }> {
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
    return { body: JSON.parse(text) as unknown, at };
  }
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
