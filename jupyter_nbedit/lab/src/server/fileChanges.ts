import type { Event } from '@jupyterlab/services';
import { isAnonymousUserName } from '../ui/displayText';
import { PAGE_CLIENT } from './client';
import type { OperationEntry } from './models';

const EDIT_SCHEMA = 'urn:jupyter-nbedit:edit:v1';
const OUTSIDE_CHANGE_SCHEMA = 'urn:jupyter-nbedit:outside-change:v1';
const CONTENTS_SCHEMA = 'https://events.jupyter.org/jupyter_server/contents_service/v1';

/** Interval at which a visible page compares its files with the disk, in milliseconds. */
const CHECK_INTERVAL = 60_000;

/** After so many intervals it asks for everything that events report. */
const CHECKS_PER_RESYNC = 4;

/** Interval at which the connection is checked, in milliseconds. */
const CONNECTION_CHECK_INTERVAL = 1000;

/**
 * A change of a file as reported by an event. It is a hint: events are neither private nor
 * authentic, so listeners read the file before they change anything.
 */
export interface FileChange {
  /** The path of the file in the Contents API. */
  readonly path: string;
  /** The reported hash of the file; null for a save by another program. */
  readonly hash: string | null;
  /** The reported client, or else the user; null if neither is reported. */
  readonly client: string | null;
  /** The number of the edit in the history, or null if it is not in there. */
  readonly editId: number | null;
  /** Whether the history has what an undo of that edit needs. */
  readonly isUndoable: boolean;
  /** The reported operations. */
  readonly operations: readonly OperationEntry[];
  /** Whether there are more operations than reported. */
  readonly isTruncated: boolean;
  /** The mode that another program has bypassed by writing the file; null if there is none. */
  readonly bypassedMode: BypassedMode | null;
}

/** A save by another program, of which nothing else is reported. */
const UNREPORTED: Omit<FileChange, 'path'> = {
  hash: null,
  client: null,
  editId: null,
  isUndoable: false,
  operations: [],
  isTruncated: false,
  bypassedMode: null
};

/** A mode in which a person decides on edits, which cannot stop other programs. */
export type BypassedMode = 'review' | 'plan';

/** A file that another program has removed, renamed, or made unreadable. */
export interface FileProblem {
  /** The path of the file in the Contents API. */
  readonly path: string;
  readonly kind: 'deleted' | 'renamed' | 'unreadable';
  /** The path of a renamed file. */
  readonly newPath: string | null;
  /** Why the file cannot be read, if it cannot. */
  readonly message: string | null;
}

const PROBLEM_KINDS: readonly unknown[] = ['deleted', 'renamed', 'unreadable'];

/** Handles changes of files on disk. */
export interface FileChangeListener {
  /** A file has changed, according to an event. */
  onFileChange?(change: FileChange): void;
  /** A file is missing or unreadable now, according to an event. */
  onFileProblem?(problem: FileProblem): void;
  /** Events may have been missed: any file may have changed. */
  onResync?(): void;
  /** Some time has passed: a file may have changed without an event. */
  onCheck?(): void;
}

/**
 * Reports changes of files on disk.
 *
 * Events are not repeated for pages that were not connected: whenever some may have been missed,
 * listeners are asked to resync.
 */
export class FileChangeEvents {
  /** @param _getUserName Returns the name of this page's user; null if it is not known. */
  constructor(
    private readonly _events: Event.IManager,
    private readonly _getUserName: () => string | null
  ) {
    _events.stream.connect((_, emission) => this._onEmission(emission));
    window.addEventListener('online', this._resync);
    window.addEventListener('focus', this._resync);
    document.addEventListener('visibilitychange', this._resync);
    window.setInterval(() => this._onInterval(), CHECK_INTERVAL);
    window.setInterval(() => this._checkConnection(), CONNECTION_CHECK_INTERVAL);
  }

  addListener(listener: FileChangeListener): void {
    this._listeners.push(listener);
  }

  /** Ask for a resync after each new connection: earlier events were missed. */
  private _checkConnection(): void {
    const socket = getEventSocket(this._events);
    if (socket?.readyState === WebSocket.OPEN && socket !== this._socket) {
      this._socket = socket;
      this._resync();
    }
  }

  private _onInterval(): void {
    this._intervalCount++;
    if (this._intervalCount % CHECKS_PER_RESYNC === 0) {
      this._resync();
    } else if (document.visibilityState === 'visible') {
      this._listeners.forEach(listener => listener.onCheck?.());
    }
  }

  private _onEmission(emission: Event.Emission): void {
    const { schema_id: schema, path } = emission;
    if (typeof path !== 'string') {
      return;
    }
    if (schema === OUTSIDE_CHANGE_SCHEMA) {
      const isNext = this._changeCounter.isNext(emission.epoch, emission.seq);
      this._onOutsideChange(path, emission);
      if (!isNext) {
        this._resync();
      }
    } else if (schema === EDIT_SCHEMA) {
      const isNext = this._editCounter.isNext(emission.epoch, emission.seq);
      const hash = toTextOrNull(emission.hash);
      const client = this._findAuthor(toTextOrNull(emission.client), toTextOrNull(emission.user));
      const operations = parseOperations(emission.operations);
      const editId = toIntegerOrNull(emission.edit_id);
      const isTruncated = emission.truncated === true;
      this._notify(path, {
        hash,
        client,
        editId,
        isUndoable: editId !== null,
        operations,
        isTruncated
      });
      if (!isNext) {
        this._resync();
      }
    } else if (schema === CONTENTS_SCHEMA && emission.action === 'save') {
      this._notify(path, {});
    }
  }

  /** Return the client or else the user of an edit; of an edit in another user's page, the user. */
  private _findAuthor(client: string | null, user: string | null): string | null {
    const isOfOther =
      client === PAGE_CLIENT &&
      user !== null &&
      !isAnonymousUserName(user) &&
      user !== this._getUserName();
    return isOfOther ? user : (client ?? user);
  }

  private _onOutsideChange(path: string, emission: Event.Emission): void {
    const { kind, mode } = emission;
    if (PROBLEM_KINDS.includes(kind)) {
      const problem = {
        path: path.replace(/^\/+/, ''),
        kind: kind as FileProblem['kind'],
        newPath: toTextOrNull(emission.new_path),
        message: toTextOrNull(emission.message)
      };
      this._listeners.forEach(listener => listener.onFileProblem?.(problem));
      return;
    }
    const isOutside = emission.is_outside === true;
    const metadata = { op: 'set_metadata', cell_id: null, index: null };
    this._notify(path, {
      hash: toTextOrNull(emission.hash),
      editId: toIntegerOrNull(emission.edit_id),
      isUndoable: emission.undoable === true,
      operations: [
        ...parseOperations(emission.cells),
        ...(emission.metadata_changed === true ? [metadata] : [])
      ],
      isTruncated: emission.truncated === true,
      bypassedMode: isOutside && (mode === 'review' || mode === 'plan') ? mode : null
    });
  }

  private _notify(path: string, report: Partial<FileChange>): void {
    for (const listener of this._listeners) {
      listener.onFileChange?.({ ...UNREPORTED, ...report, path: path.replace(/^\/+/, '') });
    }
  }

  private readonly _resync = (): void => {
    if (document.visibilityState === 'visible') {
      for (const listener of this._listeners) {
        listener.onResync?.();
      }
    }
  };

  private readonly _listeners: FileChangeListener[] = [];
  private _socket: WebSocket | null = null;
  private readonly _editCounter = new EventCounter();
  private readonly _changeCounter = new EventCounter();
  private _intervalCount = 0;
}

/** Counts the events of one schema. */
class EventCounter {
  /** Return whether no event is missing between the last event and this event. */
  isNext(epoch: unknown, seq: unknown): boolean {
    const isNext = epoch === this._epoch && seq === this._seq + 1;
    this._epoch = epoch;
    this._seq = typeof seq === 'number' ? seq : Number.NaN;
    return isNext;
  }

  private _epoch: unknown = null;
  private _seq = Number.NaN;
}

function toTextOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function toIntegerOrNull(value: unknown): number | null {
  return Number.isInteger(value) ? (value as number) : null;
}

/** Return the operations of an event that have the form of one. */
function parseOperations(operations: unknown): OperationEntry[] {
  return Array.isArray(operations) ? operations.flatMap(parseOperation) : [];
}

function parseOperation(operation: unknown): OperationEntry[] {
  const { op, cell_id, index } = (operation ?? {}) as Record<string, unknown>;
  return typeof op === 'string'
    ? [{ op, cell_id: toTextOrNull(cell_id), index: toIntegerOrNull(index) }]
    : [];
}

/**
 * Return the socket of the event manager, or null if it cannot be found.
 *
 * The socket is private: the event manager has no signal for a new connection.
 */
function getEventSocket(events: Event.IManager): WebSocket | null {
  return (events as { _socket?: WebSocket | null })._socket ?? null;
}
