import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { EditReply, OperationEntry } from './models';

export type { EditReply, OperationEntry, TabCounts } from './models';

/** Options of every change. */
export interface EditOptions {
  /** The program that makes the change, as the history and the toast name it. */
  readonly client?: string;
  /** Why the change is made. */
  readonly message?: string;
  /** The only version of the notebook that the change applies to. */
  readonly hash?: string;
  /** Return what the change would do, and write nothing. */
  readonly dry_run?: boolean;
  /** How long to wait until every open tab has reported its result, in milliseconds. */
  readonly wait_tabs?: number;
}

/** An edit as reported by an event. It is a hint: read the notebook before relying on it. */
export interface EditNotice {
  readonly path: string;
  /** The number of the edit, or null if it is not in the history. */
  readonly edit_id: number | null;
  /** The version that the edit made. */
  readonly hash: string;
  /** The client that made the edit, or else the name of the user. */
  readonly client: string | null;
  /** The first operations. */
  readonly operations: readonly OperationEntry[];
  /** Whether there are more operations. */
  readonly truncated: boolean;
}

/**
 * Edits notebooks, open or not, as the user of the page.
 *
 * If a promise is rejected, nothing was written. Its error has `status`, `reason`, `message` and
 * `details`.
 */
export interface INbEdit {
  /**
   * Apply operations to a notebook, all of them or none.
   *
   * @param path The path of the notebook on the server, without a drive.
   * @param operations The operations, as in the body of a `PATCH`.
   */
  edit(path: string, operations: readonly object[], options?: EditOptions): Promise<EditReply>;

  /**
   * Undo an edit.
   *
   * @param editId The number of the edit; by default the newest of the same client that can be undone.
   */
  undo(path: string, editId?: number, options?: EditOptions): Promise<EditReply>;

  /** Emitted for each edit that was made through the server, by any client. */
  readonly edited: ISignal<INbEdit, EditNotice>;
}

/** The token by which other extensions get `INbEdit`. */
export const INbEdit = new Token<INbEdit>(
  'jupyter-nbedit:INbEdit',
  'Edits notebooks on the server, and tells of edits.'
);
