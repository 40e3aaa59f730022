/** What the server's answers have in them. Names are those of the REST API. */

/** How edits of a notebook are taken: at once, not at all, or as proposals. */
export type Mode = 'edit' | 'plan' | 'review';

/** A cell that an operation is about. */
export interface CellEntry {
  readonly cell_id: string | null;
  /** Where the cell stands after the edit; null for the notebook as a whole. */
  readonly index: number | null;
}

/** One operation of an edit, as far as it is told. */
export interface OperationEntry extends CellEntry {
  readonly op: string;
  /** The cells, where the reply to a change is about several; the fields above are null then. */
  readonly cells?: readonly CellEntry[];
}

/** What the server says of itself; only what the page needs of it. */
export interface About {
  readonly name: string;
  readonly version: string;
  readonly mode: Mode;
  readonly epoch: string;
}

/** One edit of the history. */
export interface Edit {
  readonly edit_id: number;
  /** When it was made, as RFC 3339 has it. */
  readonly time: string;
  readonly path: string;
  readonly kind: 'edit' | 'create' | 'undo' | 'redo';
  /** Who made it, as the server knows. */
  readonly user: string;
  /** What the one who made it calls itself: a claim. */
  readonly client: string | null;
  readonly message: string | null;
  /** Who accepted the proposal it was. */
  readonly accepted_by: string | null;
  readonly operations: readonly OperationEntry[];
  /** Whether there were more operations. */
  readonly truncated: boolean;
  readonly cells_changed: number;
  readonly hash_before: string | null;
  readonly hash: string;
  readonly applied_via: string;
  readonly total_cells: number;
  readonly cells_delta: number;
  /** Which edit an undo or a redo takes back. */
  readonly undoes: number | null;
  readonly undone_by: number | null;
  readonly undoable: boolean;
}

/** A page of the history, newest first. */
export interface Page {
  readonly edits: readonly Edit[];
  /** The `before` of the next page, or null if this is the last. */
  readonly next: number | null;
}

/** A cell, or the notebook itself if it has neither type nor source. */
export interface Version {
  readonly cell_type: string | null;
  readonly source: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What an edit did to one cell, or to the notebook's metadata if it has neither id nor index. */
export interface Part {
  readonly part: number;
  readonly cell_id: string | null;
  readonly index_before: number | null;
  readonly index: number | null;
  readonly moved: boolean;
  readonly outputs_cleared: boolean;
  readonly before: Version | null;
  readonly after: Version | null;
}

/** An edit with all that it did. */
export interface EditDetail extends Edit {
  readonly parts: readonly Part[];
}

/** What became of an edit in the open tabs. */
export interface TabCounts {
  readonly open: number;
  readonly shown: number;
  readonly merged: number;
  readonly waiting: number;
}

/** The answer to a change. */
export interface EditReply {
  readonly path: string;
  readonly edit_id: number | null;
  readonly proposal_id?: number;
  readonly hash_before: string | null;
  readonly hash: string;
  readonly last_modified: string;
  readonly applied_via: string;
  readonly bytes_preserved: boolean;
  readonly persisted: boolean;
  readonly dry_run: boolean;
  readonly total_cells: number;
  readonly cells_delta: number;
  readonly language: string | null;
  readonly operations: readonly OperationEntry[];
  readonly diff: string;
  readonly warnings: readonly string[];
  readonly tabs?: TabCounts;
}

/** How edits of a notebook, or of all, are taken. */
export interface ModeReply {
  readonly path: string | null;
  /** What holds. */
  readonly mode: Mode;
  /** What the notebook itself is set to. */
  readonly own: Mode | null;
  readonly server: Mode;
  /** Whether nobody may change it. */
  readonly fixed: boolean;
  /**
   * Why the server cannot read the notebooks' own modes, or null if it can. Until a person sets a
   * mode it refuses all changes. Servers that do not say so can read them.
   */
  readonly unreadable?: string | null;
}

export type ProposalStatus = 'pending' | 'accepted' | 'rejected' | 'partly_accepted' | 'expired';

export interface ProposalPart extends Part {
  readonly status: 'pending' | 'accepted' | 'rejected';
}

/** A change that waits for somebody's word. */
export interface Proposal {
  readonly proposal_id: number;
  readonly path: string;
  readonly kind: 'edit' | 'create';
  readonly status: ProposalStatus;
  readonly created: string;
  readonly expires: string;
  readonly user: string;
  readonly client: string | null;
  readonly message: string | null;
  readonly hash_before: string | null;
  /** The language of the code cells, or null if the notebook does not say. */
  readonly language: string | null;
  readonly operations: readonly OperationEntry[];
  readonly truncated: boolean;
  readonly diff: string;
  readonly parts: readonly ProposalPart[];
  readonly edit_ids: readonly number[];
  readonly decided_by: string | null;
}

/** A cell that stands in the way of an undo or of a proposal. */
export interface InTheWay {
  readonly cell_id: string | null;
  readonly index: number | null;
  readonly why: 'changed' | 'gone' | 'ambiguous' | 'no_place';
  readonly source?: string;
}
