import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { EditReply, OperationEntry } from './models';

export type { EditReply, OperationEntry, TabCounts } from './models';

/** What any edit may say of itself. */
export interface EditOptions {
  /** What makes the edit, as the history and the toast name it. */
  readonly client?: string;
  /** Why it is made. */
  readonly message?: string;
  /** The only version of the notebook the edit is for. */
  readonly hash?: string;
  /** Answer what would be, and write nothing. */
  readonly dry_run?: boolean;
  /** How long to wait until every open tab has told what it made of it, in milliseconds. */
  readonly wait_tabs?: number;
}

/** Somebody says that a notebook was edited. It is a hint: read the notebook before believing it. */
export interface EditNotice {
  readonly path: string;
  /** The edit's number, or null if the history has not kept it. */
  readonly edit_id: number | null;
  /** The version it made. */
  readonly hash: string;
  /** What calls itself the editor, or else the user's name. */
  readonly client: string | null;
  /** The first operations. */
  readonly operations: readonly OperationEntry[];
  /** Whether there were more. */
  readonly truncated: boolean;
}

/**
 * Edits notebooks, open or not, as their user.
 *
 * What the server refuses is thrown as an error with its `status`, `reason`, `message` and `details`;
 * then nothing was written.
 */
export interface INbEdit {
  /**
   * Apply operations to a notebook, all of them or none.
   *
   * @param path The notebook's path on the server, without a drive.
   * @param operations As in the body of a `PATCH`.
   */
  edit(path: string, operations: readonly object[], options?: EditOptions): Promise<EditReply>;

  /**
   * Take an edit back.
   *
   * @param editId Its number; without it the newest that can be taken back.
   */
  undo(path: string, editId?: number, options?: EditOptions): Promise<EditReply>;

  /** Tells of each edit that was made through the server, whoever made it. */
  readonly edited: ISignal<INbEdit, EditNotice>;
}

/** What other extensions ask for. */
export const INbEdit = new Token<INbEdit>(
  'jupyter-nbedit:INbEdit',
  'Edits notebooks on the server, and tells of edits.'
);
