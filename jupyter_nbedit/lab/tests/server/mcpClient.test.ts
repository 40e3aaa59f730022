import type { ServerConnection } from '@jupyterlab/services';
import { expect, test } from 'vitest';
import { NbEditError } from '../../src/server/client';
import { McpClient } from '../../src/server/mcpClient';

const META = 'io.modelcontextprotocol/';

interface SentRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: { readonly method: string; readonly params: { readonly _meta: object } };
}

/** An endpoint behind a `fetch`: what it answers to each method, and what it was asked. */
function makeClient(answer: (method: string) => Response): {
  client: McpClient;
  asked: SentRequest[];
} {
  const asked: SentRequest[] = [];
  const settings = {
    baseUrl: 'https://hub.example.org/user/a%40b/',
    init: {},
    token: '',
    Request,
    Headers,
    fetch: async (request: Request) => {
      const body = JSON.parse(await request.text()) as SentRequest['body'];
      asked.push({ url: request.url, headers: request.headers, body });
      return answer(body.method);
    }
  } as unknown as ServerConnection.ISettings;
  return { client: new McpClient(settings), asked };
}

function makeReply(member: 'result' | 'error', value: object, status = 200): Response {
  return new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, [member]: value }), { status });
}

async function catchError(answer: () => Response): Promise<NbEditError> {
  const error: unknown = await makeClient(answer)
    .client.describeEndpoint()
    .catch((error: unknown) => error);
  expect(error).toBeInstanceOf(NbEditError);
  return error as NbEditError;
}

test('the endpoint is asked for itself and its tools, in the revision without sessions', async () => {
  const { client, asked } = makeClient(method =>
    makeReply(
      'result',
      method === 'tools/list'
        ? { tools: [{ name: 'notebook_read' }, { name: 'notebook_edit' }] }
        : {
            supportedVersions: ['2026-07-28', '2025-11-25'],
            _meta: { [`${META}serverInfo`]: { name: 'jupyter_nbedit', version: '0.1.0' } }
          }
    )
  );
  expect(await client.describeEndpoint()).toEqual({
    name: 'jupyter_nbedit',
    version: '0.1.0',
    protocolVersions: ['2026-07-28', '2025-11-25'],
    tools: ['notebook_read', 'notebook_edit']
  });
  expect(client.url).toBe('https://hub.example.org/user/a%40b/nbedit/mcp');
  expect(asked.map(({ url }) => url)).toEqual([client.url, client.url]);
  expect(asked.map(({ body }) => body.method)).toEqual(['server/discover', 'tools/list']);
  for (const { headers, body } of asked) {
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 1 });
    expect(body.params._meta).toMatchObject({ [`${META}protocolVersion`]: '2026-07-28' });
    expect(headers.get('Mcp-Method')).toBe(body.method);
    expect(headers.get('MCP-Protocol-Version')).toBe('2026-07-28');
    expect(headers.get('Accept')).toBe('application/json, text/event-stream');
  }
});

test.each([
  ['an error of the protocol', makeReply('error', { message: 'no' }, 400), 400, 'refused', 'no'],
  ['an error in a good answer', makeReply('error', { message: 'no' }), 200, 'refused', 'no'],
  [
    'a refusal of the server',
    new Response('{"message": "no"}', { status: 403 }),
    403,
    'refused',
    'no'
  ],
  ['a page', new Response('<html>', { status: 404 }), 404, 'no_answer', ''],
  ['a page as a good answer', new Response('<html>'), 200, 'no_answer', ''],
  ['another value', new Response('[1]'), 200, 'no_answer', ''],
  ['null', new Response('null'), 200, 'no_answer', '']
])('%s is an error', async (_, response, status, reason, message) => {
  expect(await catchError(() => response)).toMatchObject({ status, reason, message });
});

test('an answer without the expected members describes nothing', async () => {
  const { client } = makeClient(() => makeReply('result', { tools: [null], supportedVersions: 1 }));
  expect(await client.describeEndpoint()).toEqual({
    name: '',
    version: '',
    protocolVersions: [],
    tools: ['']
  });
});

test('no answer is an error', async () => {
  const error = await catchError(() => {
    throw new TypeError('Failed to fetch');
  });
  expect(error).toMatchObject({ status: 0, reason: 'unreachable' });
});
