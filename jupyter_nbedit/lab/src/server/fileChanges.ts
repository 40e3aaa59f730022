import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { Event } from '@jupyterlab/services';
import { Token } from '@lumino/coreutils';
import type { Done } from '../notify/attribution';
import { socketOf } from '../sync/jupyterlabInternals';

const EDIT_SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/edit/v1';
const CONTENTS_SCHEMA = 'https://events.jupyter.org/jupyter_server/contents_service/v1';

/** How often a visible page looks at the disk by itself, in milliseconds. */
const HEARTBEAT = 20_000;

/** How often the connection is looked at, in milliseconds. */
const CONNECTION_CHECK = 1000;

/**
 * Somebody says that a file changed. It is a hint: events are neither private nor authentic, so
 * whoever hears it reads the file before changing anything.
 */
export interface FileChange {
  /** The file's path in the contents API. */
  readonly path: string;
  /** The hash the file is said to have now, if it was said. */
  readonly hash: string | null;
  /** Who is said to have changed it, if it was said. */
  readonly client: string | null;
  /** Which edit of the server's history it was, if it was one and is in there. */
  readonly edit: number | null;
  /** What is said to have been done to it, as far as it was said. */
  readonly done: readonly Done[];
  /** Whether more was done than is said. */
  readonly isCut: boolean;
}

/** What wants to know about files on disk. */
export interface FileListener {
  /** A file is said to have changed. */
  changed(change: FileChange): void;
  /** Events may have been missed: any file may have changed. */
  mayHaveChanged(): void;
}

/**
 * Tells of files that change on disk: by the server's events, and because those are not repeated for
 * who was not connected, whenever some may have been missed.
 */
export class FileFeed {
  constructor(private readonly _events: Event.IManager) {
    _events.stream.connect((_, emission) => this._receive(emission));
    window.addEventListener('online', this._resync);
    window.addEventListener('focus', this._resync);
    document.addEventListener('visibilitychange', this._resync);
    window.setInterval(this._resync, HEARTBEAT);
    window.setInterval(() => this._lookAtConnection(), CONNECTION_CHECK);
  }

  listen(listener: FileListener): void {
    this._listeners.push(listener);
  }

  /** Ask for a resync after each new connection: nothing was heard before it. */
  private _lookAtConnection(): void {
    const socket = socketOf(this._events);
    if (socket?.readyState === WebSocket.OPEN && socket !== this._socket) {
      this._socket = socket;
      this._resync();
    }
  }

  private _receive(emission: Event.Emission): void {
    const { schema_id: schema, path } = emission;
    if (typeof path !== 'string') {
      return;
    }
    if (schema === EDIT_SCHEMA) {
      const isNext = this._isNext(emission.epoch, emission.seq);
      const hash = textOrNull(emission.hash);
      const client = textOrNull(emission.client) ?? textOrNull(emission.user);
      const done = listed(emission.operations);
      const edit = wholeOrNull(emission.edit_id);
      this._tell({ path, hash, client, edit, done, isCut: emission.truncated === true });
      if (!isNext) {
        this._resync();
      }
    } else if (schema === CONTENTS_SCHEMA && emission.action === 'save') {
      this._tell({ path, hash: null, client: null, edit: null, done: [], isCut: false });
    }
  }

  /** Whether no event is missing between the last one and this one. */
  private _isNext(epoch: unknown, seq: unknown): boolean {
    const isNext = epoch === this._epoch && seq === this._seq + 1;
    this._epoch = epoch;
    this._seq = typeof seq === 'number' ? seq : Number.NaN;
    return isNext;
  }

  private _tell(change: FileChange): void {
    for (const listener of this._listeners) {
      listener.changed({ ...change, path: change.path.replace(/^\/+/, '') });
    }
  }

  private readonly _resync = (): void => {
    if (document.visibilityState === 'visible') {
      for (const listener of this._listeners) {
        listener.mayHaveChanged();
      }
    }
  };

  private readonly _listeners: FileListener[] = [];
  private _socket: WebSocket | null = null;
  private _epoch: unknown = null;
  private _seq = Number.NaN;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function wholeOrNull(value: unknown): number | null {
  return Number.isInteger(value) ? (value as number) : null;
}

/** The operations of an event, as far as they have the shape of one. */
function listed(operations: unknown): Done[] {
  return Array.isArray(operations) ? operations.flatMap(asDone) : [];
}

function asDone(operation: unknown): Done[] {
  const { op, cell_id: cell, index } = (operation ?? {}) as Record<string, unknown>;
  return typeof op === 'string' ? [{ op, cell: textOrNull(cell), index: wholeOrNull(index) }] : [];
}

/** The page's one feed. */
export const IFileFeed = new Token<FileFeed>(
  'jupyter-nbedit:IFileFeed',
  'Tells of files that change on disk.'
);

export const feed: JupyterFrontEndPlugin<FileFeed> = {
  id: 'jupyter-nbedit:feed',
  description: 'Tells of files that change on disk.',
  autoStart: true,
  provides: IFileFeed,
  activate: ({ serviceManager }: JupyterFrontEnd) => new FileFeed(serviceManager.events)
};
