import { URLExt } from '@jupyterlab/coreutils';
import type { ServerConnection } from '@jupyterlab/services';
import { PromiseDelegate } from '@lumino/coreutils';

/**
 * What a tab made of the version on disk: it shows that version, shows it with unsaved changes, or
 * waits for the user to resolve a conflict in a cell that this version has changed.
 */
export type TabState = 'shown' | 'merged' | 'waiting';

/** Proves to the server that a request comes from the person in this page. */
export interface PageIdentity {
  /** Return the id of the page; null if the server cannot be connected to by a WebSocket. */
  getId(): Promise<string | null>;

  /** Connect again, because the server does not know an id; return the new id, or null. */
  renewId(unknownId: string): Promise<string | null>;
}

/** What a tab reports about itself. */
interface TabReport {
  readonly hash: string | null;
  readonly editId: number | null;
  readonly state: TabState;
}

/** Minimum and maximum time between two attempts to connect, in milliseconds. */
const BACKOFF = { least: 1000, most: 60_000 };

/** How long a request waits for the id of the page, in milliseconds. */
const PAGE_ID_TIMEOUT = 10_000;

/** `WebSocket.OPEN`, for any implementation of sockets. */
const OPEN = 1;

/** An open notebook with all its views, which show the same. */
export class OpenTab {
  /** The last report, if there is one. */
  lastReport: TabReport | null = null;

  constructor(
    private _path: string,
    private readonly _onChange: () => void
  ) {}

  get path(): string {
    return this._path;
  }

  /** The file has another path now. */
  setPath(path: string): void {
    this._path = path;
    this._onChange();
  }

  /** Record that these changes are in the tab. */
  markApplied(changes: readonly { readonly editId: number | null }[]): void {
    for (const { editId } of changes) {
      this._editId = getNewerEdit(this._editId, editId);
    }
  }

  /**
   * Report that everything that was applied can be seen.
   *
   * @param hash The version, or null if it is not certain.
   */
  report(hash: string | null, state: TabState): void {
    this.lastReport = { hash, editId: this._editId, state };
    this._onChange();
  }

  /** Forget the number of the last edit: another server numbers edits differently. */
  forgetEdit(): void {
    this._editId = null;
    this.lastReport &&= { ...this.lastReport, editId: null };
  }

  private _editId: number | null = null;
}

/**
 * Reports to the server which notebooks this page has open and which versions they show, so that
 * the reply to an edit can say what became of it.
 *
 * The page has one socket, on which the server also sends the id of the page.
 */
export class TabConnection implements PageIdentity {
  constructor(
    private readonly _settings: ServerConnection.ISettings,
    /** Whether the server has the extension; called when a connection fails. */
    private readonly _hasExtension: () => Promise<boolean>
  ) {}

  /** Connect to the server, and again whenever the connection is lost. */
  start(): void {
    this._connect();
  }

  async getId(): Promise<string | null> {
    if (this._pageId === null && this._socket === null) {
      // The next attempt would be later.
      this._connect();
    }
    if (this._pageId === null && this._socket !== null && !this._isSilent) {
      const timer = setTimeout(() => {
        // A proxy may drop the id, or an older server sends none: the next request does not wait.
        this._isSilent = true;
        this._endWait();
      }, PAGE_ID_TIMEOUT);
      await this._nextId.promise;
      clearTimeout(timer);
    }
    return this._pageId;
  }

  async renewId(unknownId: string): Promise<string | null> {
    if (this._pageId === unknownId) {
      // The server may be a new one, and the socket may not know that it is lost.
      this._disconnect();
    }
    return this.getId();
  }

  open(path: string): OpenTab {
    const tab = new OpenTab(path, () => this._scheduleSend());
    this._tabs.add(tab);
    this._scheduleSend();
    return tab;
  }

  close(tab: OpenTab): void {
    this._tabs.delete(tab);
    this._scheduleSend();
  }

  /** Send what has changed, once the current task has ended. */
  private _scheduleSend(): void {
    if (!this._isScheduled) {
      this._isScheduled = true;
      queueMicrotask(() => {
        this._isScheduled = false;
        this._sendReports();
      });
    }
  }

  private _sendReports(): void {
    if (this._socket?.readyState !== OPEN) {
      return;
    }
    const tabs = groupByPath(this._tabs);
    const counts = Object.fromEntries([...tabs].map(([path, { length }]) => [path, length]));
    this._send('tabs', counts);
    for (const path of this._sentMessages.keys()) {
      if (path !== '' && !tabs.has(path)) {
        this._sentMessages.delete(path);
      }
    }
    for (const [path, reports] of tabs) {
      const report = combineReports(reports);
      if (report !== null) {
        const { hash, editId, state } = report;
        this._send('saw', { path, hash, edit_id: editId, state }, path);
      }
    }
  }

  /**
   * @param topic What the message is about: an equal message about it is not sent twice in a row.
   */
  private _send(name: string, value: object, topic = ''): void {
    const message = JSON.stringify({ [name]: value });
    if (this._sentMessages.get(topic) !== message) {
      this._sentMessages.set(topic, message);
      this._socket?.send(message);
    }
  }

  private _connect(): void {
    if (this._socket !== null || this._hasGivenUp) {
      return;
    }
    clearTimeout(this._retry);
    const { appendToken, token, wsUrl, WebSocket } = this._settings;
    const query = appendToken && token !== '' ? `?token=${encodeURIComponent(token)}` : '';
    const socket = new WebSocket(URLExt.join(wsUrl, 'nbedit', 'tabs') + query);
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      this._attempts = 0;
      this._resendAll();
    };
    socket.onmessage = ({ data }) => {
      const { page } = JSON.parse(data as string) as { readonly page?: string };
      if (page !== undefined) {
        this._pageId = page;
        this._isSilent = false;
        this._endWait();
      }
    };
    socket.onclose = () => {
      this._forgetSocket();
      const delay = Math.min(BACKOFF.least * 2 ** this._attempts++, BACKOFF.most);
      this._retry = setTimeout(() => void this._reconnect(wasOpen), delay);
    };
    this._socket = socket;
  }

  /** @param wasOpen Whether a connection was open before: then the server has the extension. */
  private async _reconnect(wasOpen: boolean): Promise<void> {
    this._hasGivenUp = !wasOpen && !(await this._hasExtension());
    this._connect();
  }

  private _disconnect(): void {
    const socket = this._socket;
    this._forgetSocket();
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  private _forgetSocket(): void {
    this._socket = null;
    this._pageId = null;
    this._isSilent = false;
    this._endWait();
  }

  /** Let requests go on that wait for the id, whether there is one now. */
  private _endWait(): void {
    this._nextId.resolve();
    this._nextId = new PromiseDelegate<void>();
  }

  /** Send everything to a server that may be a new one, which numbers edits differently. */
  private _resendAll(): void {
    this._sentMessages.clear();
    this._tabs.forEach(tab => tab.forgetEdit());
    this._sendReports();
  }

  private readonly _tabs = new Set<OpenTab>();
  /** The last message about each path, and about the open paths under ''. */
  private readonly _sentMessages = new Map<string, string>();
  private _socket: WebSocket | null = null;
  private _attempts = 0;
  private _isScheduled = false;
  private _hasGivenUp = false;
  private _pageId: string | null = null;
  /** Whether a request has waited for the id in vain, on this socket. */
  private _isSilent = false;
  /** Is resolved when the id is there, or the connection is lost. */
  private _nextId = new PromiseDelegate<void>();
  private _retry: ReturnType<typeof setTimeout> | undefined;
}

const STATES_WORST_FIRST: readonly TabState[] = ['waiting', 'merged', 'shown'];

function groupByPath(tabs: Iterable<OpenTab>): Map<string, (TabReport | null)[]> {
  const reports = new Map<string, (TabReport | null)[]>();
  for (const { path, lastReport } of tabs) {
    reports.set(path, [...(reports.get(path) ?? []), lastReport]);
  }
  return reports;
}

/** Combine the reports of all tabs of one notebook; null if one has not reported yet. */
function combineReports(tabs: readonly (TabReport | null)[]): TabReport | null {
  return tabs.reduce((a, b) => {
    if (a === null || b === null) {
      return null;
    }
    const editId = a.editId === null || b.editId === null ? null : Math.min(a.editId, b.editId);
    const state =
      STATES_WORST_FIRST.find(state => state === a.state || state === b.state) ?? a.state;
    return { hash: a.hash === b.hash ? a.hash : null, editId, state };
  });
}

/** Return the newer of two edits; null stands for no edit. */
function getNewerEdit(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
