import type { ServerConnection } from '@jupyterlab/services';
import { expect, test } from 'vitest';
import { NbEditClient, NbEditError } from '../../src/server/client';

interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly body: unknown;
  readonly page: string | null;
}

/** A page whose ids are these, one after the other; null without a WebSocket. */
class Page {
  constructor(...ids: readonly (string | null)[]) {
    this._ids = [...ids];
  }

  getId(): Promise<string | null> {
    return Promise.resolve(this._ids[0] ?? null);
  }

  renewId(): Promise<string | null> {
    this._ids.shift();
    return this.getId();
  }

  private readonly _ids: (string | null)[];
}

/**
 * A server of ours behind a `fetch` that answers the same to all, or one thing after the other, and
 * what it was asked.
 */
function makeClient(
  status: number,
  text: string,
  page: Page | null = null,
  answers: readonly (readonly [number, string])[] = []
): { server: NbEditClient; asked: SentRequest[] } {
  const queue = [...answers];
  const asked: SentRequest[] = [];
  const settings = {
    baseUrl: 'http://127.0.0.1:8888/user/a%40b/',
    init: {},
    token: '',
    Request,
    Headers,
    fetch: async (request: Request) => {
      const body = await request.text();
      const { url, method } = request;
      asked.push({
        url,
        method,
        body: body === '' ? null : JSON.parse(body),
        page: request.headers.get('X-NbEdit-Page')
      });
      const [nextStatus, nextText] = queue.shift() ?? [status, text];
      return new Response(nextText, { status: nextStatus });
    }
  } as unknown as ServerConnection.ISettings;
  return { server: new NbEditClient(settings, page), asked };
}

async function catchError(asking: Promise<unknown>): Promise<NbEditError> {
  const error: unknown = await asking.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(NbEditError);
  return error as NbEditError;
}

test('addresses are below the base URL, and names in them are encoded', async () => {
  const { server, asked } = makeClient(200, '{"edits": [], "next": null}');
  await server.listHistory('a folder/100%?#.ipynb', 7, 50);
  await server.listHistory(null);
  await server.getEdit('a.ipynb', 3);
  const base = 'http://127.0.0.1:8888/user/a%40b/nbedit';
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    `GET ${base}/notebooks/a%20folder/100%25%3F%23.ipynb/history?before=7&limit=50`,
    `GET ${base}/history`,
    `GET ${base}/notebooks/a.ipynb/history/3`
  ]);
});

test('a change says who makes it, and its caller may say otherwise', async () => {
  const { server, asked } = makeClient(200, '{}');
  await server.undo('a.ipynb', 3);
  await server.redo('a.ipynb');
  await server.edit('a.ipynb', [{ op: 'delete', cell: 'x' }], { client: 'me', wait_tabs: 500 });
  expect(asked.map(({ body }) => body)).toEqual([
    { client: 'JupyterLab', edit_id: 3 },
    { client: 'JupyterLab' },
    { client: 'me', operations: [{ op: 'delete', cell: 'x' }] }
  ]);
  expect(asked[2]?.url).toMatch(/a\.ipynb\?wait_tabs=500$/);
});

test('a mode goes to the notebook or to the server', async () => {
  const { server, asked } = makeClient(200, '{}');
  await server.getMode('a.ipynb');
  await server.getMode(null);
  await server.setMode('a.ipynb', null);
  await server.setMode(null, 'review');
  expect(asked.map(({ url }) => url.replace(/.*nbedit/, ''))).toEqual([
    '/mode?path=a.ipynb',
    '/mode',
    '/mode',
    '/mode'
  ]);
  expect(asked.slice(2).map(({ body }) => body)).toEqual([
    { mode: null, path: 'a.ipynb' },
    { mode: 'review' }
  ]);
});

test('a refusal has what the server said', async () => {
  const body = { message: 'Cell 3 changed.', reason: 'undo_conflict', details: { edit_id: 4 } };
  const { server } = makeClient(409, JSON.stringify(body));
  const { status, reason, message, details } = await catchError(server.undo('a.ipynb', 4));
  expect({ status, reason, message, details }).toEqual({ status: 409, ...body });
});

test('a server without our extension is told from one that has no such notebook', async () => {
  const { server } = makeClient(404, '<html>404: Not Found</html>');
  const { status, reason, message } = await catchError(server.listHistory('a.ipynb'));
  expect({ status, reason }).toEqual({ status: 404, reason: 'no_answer' });
  expect(message).toContain('no jupyter_nbedit');
});

test('an answer that is no object is a refusal without a reason', async () => {
  const { server } = makeClient(500, 'null');
  const { reason, message } = await catchError(server.getAbout());
  expect({ reason, message }).toEqual({ reason: 'unknown', message: 'HTTP 500' });
});

test('a server that does not answer is a refusal, too', async () => {
  const settings = {
    baseUrl: 'http://127.0.0.1:1/',
    init: {},
    token: '',
    Request,
    Headers,
    fetch: () => Promise.reject(new TypeError('Failed to fetch'))
  } as unknown as ServerConnection.ISettings;
  const { status, reason } = await catchError(new NbEditClient(settings).getAbout());
  expect({ status, reason }).toEqual({ status: 0, reason: 'unreachable' });
});

test('query parameters are sent in a browser whose URLSearchParams has no `size`', async () => {
  const size = Object.getOwnPropertyDescriptor(URLSearchParams.prototype, 'size');
  Reflect.deleteProperty(URLSearchParams.prototype, 'size');
  try {
    const { server, asked } = makeClient(200, '{"edits": [], "next": null}');
    await server.listHistory(null, 7);
    expect(asked[0]?.url).toMatch(/\/history\?before=7$/);
  } finally {
    Object.defineProperty(URLSearchParams.prototype, 'size', size ?? {});
  }
});

test('it is reported whenever the server refuses a change for want of the right', async () => {
  let count = 0;
  NbEditClient.refused.connect(() => count++);
  const forbidden = '{"reason": "forbidden", "message": "You may not write nbedit."}';
  const { server } = makeClient(403, forbidden);
  expect((await catchError(server.keep('a.ipynb'))).reason).toBe('forbidden');
  expect(count).toBe(1);
  await catchError(server.getMode(null));
  await catchError(makeClient(403, '{"reason": "plan_mode"}').server.undo('a.ipynb'));
  await catchError(makeClient(409, '{"reason": "undo_conflict"}').server.undo('a.ipynb'));
  expect(count).toBe(1);
  await catchError(makeClient(401, '{}').server.purgeHistory('a.ipynb'));
  expect(count).toBe(2);
});

const UNKNOWN = [409, '{"reason": "page_unknown", "message": "The page is not known."}'] as const;

test('a change by a button has the id of the page in a header, and reading has not', async () => {
  const { server, asked } = makeClient(200, '{}', new Page('one'));
  await server.undo('a.ipynb', 3);
  await server.keep('a.ipynb');
  await server.acceptProposal(4);
  await server.getUnseen('a.ipynb');
  expect(asked.map(({ page }) => page)).toEqual(['one', 'one', 'one', null]);
  expect(asked.map(({ url }) => url).join(' ')).not.toContain('one');
  expect(JSON.stringify(asked.map(({ body }) => body))).not.toContain('one');
});

test('a client without a page, such as that of other extensions, sends no id', async () => {
  const { server, asked } = makeClient(200, '{}');
  await server.undo('a.ipynb', 3);
  expect(asked.map(({ page }) => page)).toEqual([null]);
});

test('a request with an unknown id is repeated once with a new one', async () => {
  const { server, asked } = makeClient(200, '{}', new Page('one', 'two'), [UNKNOWN]);
  await server.undo('a.ipynb', 3);
  expect(asked.map(({ page }) => page)).toEqual(['one', 'two']);
  const again = makeClient(...UNKNOWN, new Page('one', 'two', 'three'));
  expect((await catchError(again.server.keep('a.ipynb'))).reason).toBe('page_unknown');
  expect(again.asked).toHaveLength(2);
  // It is never taken for the request of a program.
  const lost = makeClient(...UNKNOWN, new Page('one'));
  expect((await catchError(lost.server.undo('a.ipynb', 3))).reason).toBe('page_unknown');
  expect(lost.asked.map(({ page }) => page)).toEqual(['one', 'one']);
});

test('without a WebSocket a person undoes where programs may, and is told otherwise', async () => {
  let count = 0;
  NbEditClient.unconnected.connect(() => count++);
  const free = makeClient(200, '{}', new Page(null), [[200, '{"mode": "edit"}']]);
  await free.server.undo('a.ipynb', 3);
  expect(free.asked.map(({ method, page }) => [method, page])).toEqual([
    ['GET', null],
    ['POST', null]
  ]);
  expect(count).toBe(0);
  for (const mode of ['review', 'plan']) {
    const { server, asked } = makeClient(200, `{"mode": "${mode}"}`, new Page(null));
    expect((await catchError(server.undoCells('a.ipynb', ['1.0']))).reason).toBe('unconnected');
    expect(asked.map(({ method }) => method)).toEqual(['GET']);
  }
  expect(count).toBe(2);
});
