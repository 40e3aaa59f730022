import { URLExt } from '@jupyterlab/coreutils';
import type { ServerConnection } from '@jupyterlab/services';

/** What a tab made of the version on disk: it shows that alone, with unsaved changes, or asks. */
export type TabState = 'shown' | 'merged' | 'waiting';

/** What a tab has said of itself. */
interface Seen {
  readonly hash: string | null;
  readonly edit: number | null;
  readonly state: TabState;
}

/** The least and the most time between two attempts to connect, in milliseconds. */
const BACKOFF = { least: 1000, most: 60_000 };

/** `WebSocket.OPEN`, of whatever class the sockets are. */
const OPEN = 1;

/** An open notebook with all its views, which show the same. */
export class OpenTab {
  /** What it has said of itself, if it has. */
  seen: Seen | null = null;

  constructor(
    private _path: string,
    private readonly _say: () => void
  ) {}

  get path(): string {
    return this._path;
  }

  /** Its file is another one now, or has another name. */
  moved(path: string): void {
    this._path = path;
    this._say();
  }

  /** Changes that were heard of have been taken in. */
  took(changes: readonly { readonly edit: number | null }[]): void {
    for (const { edit } of changes) {
      this._edit = newer(this._edit, edit);
    }
  }

  /**
   * All that was taken in can be seen.
   *
   * @param hash The version, or null if it is not certain which one.
   */
  shows(hash: string | null, state: TabState): void {
    this.seen = { hash, edit: this._edit, state };
    this._say();
  }

  /** Forget the numbers of edits: another server begins anew with them. */
  forgetEdits(): void {
    this._edit = null;
    this.seen &&= { ...this.seen, edit: null };
  }

  private _edit: number | null = null;
}

/**
 * Tells the server which notebooks this page has open and which versions of them it shows, so that
 * whoever edits one can be told what became of the edit.
 *
 * There is one socket for the page, from the first notebook on.
 */
export class OpenTabs {
  constructor(
    private readonly _settings: ServerConnection.ISettings,
    /** Whether the server has anything to connect to; asked when it does not let us connect. */
    private readonly _isThere: () => Promise<boolean>
  ) {}

  open(path: string): OpenTab {
    const tab = new OpenTab(path, () => this._say());
    this._tabs.add(tab);
    this._say();
    return tab;
  }

  close(tab: OpenTab): void {
    this._tabs.delete(tab);
    this._say();
  }

  /** Say what is new, once all of it has happened. */
  private _say(): void {
    if (!this._isToSay) {
      this._isToSay = true;
      queueMicrotask(() => {
        this._isToSay = false;
        this._connect();
        this._sayNow();
      });
    }
  }

  private _sayNow(): void {
    if (this._socket?.readyState !== OPEN) {
      return;
    }
    const tabs = byPath(this._tabs);
    const counts = Object.fromEntries([...tabs].map(([path, { length }]) => [path, length]));
    this._send('tabs', counts);
    for (const path of this._said.keys()) {
      if (path !== '' && !tabs.has(path)) {
        this._said.delete(path);
      }
    }
    for (const [path, seen] of tabs) {
      const common = together(seen);
      if (common !== null) {
        const { hash, edit, state } = common;
        this._send('saw', { path, hash, edit_id: edit, state }, path);
      }
    }
  }

  /** @param about What it is about: the same is not said twice in a row about that. */
  private _send(name: string, value: object, about = ''): void {
    const message = JSON.stringify({ [name]: value });
    if (this._said.get(about) !== message) {
      this._said.set(about, message);
      this._socket?.send(message);
    }
  }

  private _connect(): void {
    if (this._socket !== null || this._isGivenUp || this._tabs.size === 0) {
      return;
    }
    const { appendToken, token, wsUrl, WebSocket } = this._settings;
    const query = appendToken && token !== '' ? `?token=${encodeURIComponent(token)}` : '';
    const socket = new WebSocket(URLExt.join(wsUrl, 'nbedit', 'tabs') + query);
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      this._attempts = 0;
      this._startOver();
    };
    socket.onclose = () => {
      const wait = Math.min(BACKOFF.least * 2 ** this._attempts++, BACKOFF.most);
      setTimeout(() => void this._connectAgain(wasOpen), wait);
    };
    this._socket = socket;
  }

  /** @param isKnown Whether the server is known to have what we connect to. */
  private async _connectAgain(isKnown: boolean): Promise<void> {
    this._isGivenUp = !isKnown && !(await this._isThere());
    this._socket = null;
    this._connect();
  }

  /** Say everything to a server that may be another than before, where edits have other numbers. */
  private _startOver(): void {
    this._said.clear();
    this._tabs.forEach(tab => tab.forgetEdits());
    this._sayNow();
  }

  private readonly _tabs = new Set<OpenTab>();
  /** What was said last of each path, and under '' of which are open. */
  private readonly _said = new Map<string, string>();
  private _socket: WebSocket | null = null;
  private _attempts = 0;
  private _isToSay = false;
  private _isGivenUp = false;
}

const WORST_FIRST: readonly TabState[] = ['waiting', 'merged', 'shown'];

function byPath(tabs: Iterable<OpenTab>): Map<string, (Seen | null)[]> {
  const found = new Map<string, (Seen | null)[]>();
  for (const { path, seen } of tabs) {
    found.set(path, [...(found.get(path) ?? []), seen]);
  }
  return found;
}

/** What several tabs of one notebook have taken in, all of them; null if one has told nothing. */
function together(tabs: readonly (Seen | null)[]): Seen | null {
  return tabs.reduce((a, b) => {
    if (a === null || b === null) {
      return null;
    }
    const edit = a.edit === null || b.edit === null ? null : Math.min(a.edit, b.edit);
    const state = WORST_FIRST.find(state => state === a.state || state === b.state) ?? a.state;
    return { hash: a.hash === b.hash ? a.hash : null, edit, state };
  });
}

/** The newer of two edits, either of which may be none. */
function newer(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
