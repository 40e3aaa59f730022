import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { NbEditError } from './client';

/** The revision of the Model Context Protocol in which requests need no session. */
const PROTOCOL_VERSION = '2026-07-28';

/** The prefix of the names that the protocol defines. */
const PREFIX = 'io.modelcontextprotocol/';

/** What an MCP endpoint says about itself. */
export interface EndpointInfo {
  readonly name: string;
  readonly version: string;
  readonly protocolVersions: readonly string[];
  /** The names of its tools. */
  readonly tools: readonly string[];
}

/** Asks the MCP endpoint of the server, as an agent does. */
export class McpClient {
  constructor(private readonly _settings: ServerConnection.ISettings) {}

  /** The URL of the endpoint, as this page reaches it. */
  get url(): string {
    return URLExt.join(this._settings.baseUrl, 'nbedit/mcp');
  }

  /**
   * Return what the endpoint says about itself, and its tools.
   *
   * @throws NbEditError If the endpoint does not answer, or not in the form of the protocol.
   */
  async describeEndpoint(): Promise<EndpointInfo> {
    const discovery = await this._call('server/discover');
    const list = await this._call('tools/list');
    const { name, version } = getObject(getObject(discovery._meta)[`${PREFIX}serverInfo`]);
    return {
      name: toText(name),
      version: toText(version),
      protocolVersions: toArray(discovery.supportedVersions).map(toText),
      tools: toArray(list.tools).map(tool => toText(getObject(tool).name))
    };
  }

  /** Send one request; return its result. */
  private async _call(method: string): Promise<Record<string, unknown>> {
    const params = {
      _meta: {
        [`${PREFIX}protocolVersion`]: PROTOCOL_VERSION,
        [`${PREFIX}clientInfo`]: { name: 'JupyterLab', version: '1' },
        [`${PREFIX}clientCapabilities`]: {}
      }
    };
    const init: RequestInit = {
      method: 'POST',
      // With its default `no-store`, JupyterLab adds the time to each URL.
      cache: 'no-cache',
      headers: {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': PROTOCOL_VERSION,
        'Mcp-Method': method
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    };
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(this.url, init, this._settings);
    } catch {
      throw new NbEditError(0, 'unreachable', '');
    }
    const body = getObject(await response.json().catch(() => null));
    const { message } = body.error === undefined ? body : getObject(body.error);
    if (!response.ok || typeof body.result !== 'object' || body.result === null) {
      const reason = typeof message === 'string' ? 'refused' : 'no_answer';
      throw new NbEditError(response.status, reason, toText(message));
    }
    return getObject(body.result);
  }
}

function getObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
