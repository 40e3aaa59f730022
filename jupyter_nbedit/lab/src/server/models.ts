/** The replies of the server, with the names of the REST API. */

/** What changes a notebook takes: `edit`, `review` (changes become proposals) or `plan` (none). */
export type Mode = 'edit' | 'plan' | 'review';

/** A cell that an operation has affected. */
export interface CellEntry {
  readonly cell_id: string | null;
  /** The index of the cell after the edit; null for the notebook as a whole. */
  readonly index: number | null;
}

/** One operation of an edit. */
export interface OperationEntry extends CellEntry {
  readonly op: string;
  /** The cells of an operation that affects several; the fields above are null then. */
  readonly cells?: readonly CellEntry[];
}

/** The description of the server; only the fields that the page needs. */
export interface AboutReply {
  readonly name: string;
  readonly version: string;
  readonly mode: Mode;
  readonly epoch: string;
}

/** Who made an edit, when and why. */
export interface EditOrigin {
  readonly edit_id: number;
  /** When the edit was made, as defined in RFC 3339. */
  readonly time: string;
  readonly kind: 'edit' | 'create' | 'undo' | 'redo' | 'undo_cells' | 'restore' | 'outside';
  /** The user that the server knows. */
  readonly user: string;
  /** What the program that made the edit calls itself; not verified. */
  readonly client: string | null;
  readonly message: string | null;
  /** The user who accepted the proposal. */
  readonly accepted_by: string | null;
}

/** One edit of the history. */
export interface HistoryEdit extends EditOrigin {
  readonly path: string;
  readonly operations: readonly OperationEntry[];
  /** Whether there are more operations. */
  readonly truncated: boolean;
  readonly cells_changed: number;
  readonly hash_before: string | null;
  readonly hash: string;
  readonly applied_via: string;
  readonly total_cells: number;
  readonly cells_delta: number;
  /** The edit that an undo or a redo reverts. */
  readonly undoes: number | null;
  readonly undone_by: number | null;
  readonly undoable: boolean;
  /** Number of lines of sources that it added, or null if it is not known. */
  readonly lines_added: number | null;
  readonly lines_removed: number | null;
  /** The first line that it added, or else removed. */
  readonly snippet: string | null;
}

/** A page of the history, newest first. */
export interface HistoryReply {
  readonly edits: readonly HistoryEdit[];
  /** The `before` of the next page, or null if this is the last one. */
  readonly next: number | null;
}

/** A cell, or the notebook itself if it has neither type nor source. */
export interface CellState {
  readonly cell_type: string | null;
  readonly source: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** One cell before and after an edit, or the notebook's metadata if it has neither id nor index. */
export interface CellDiff {
  readonly part: number;
  readonly cell_id: string | null;
  readonly index_before: number | null;
  readonly index: number | null;
  readonly moved: boolean;
  readonly outputs_cleared: boolean;
  readonly before: CellState | null;
  readonly after: CellState | null;
}

/** The net change of a cell since this user's last Keep; of the notebook if it has neither id nor index. */
export interface UnseenCell extends CellDiff {
  /** Names the change in keep and undo; the same as long as its first edit is not kept. */
  readonly key: string;
  /** The edits that made the change, oldest first. */
  readonly edit_ids: readonly number[];
  /** Of a deleted or moved cell: the number of cells that are now before the place where it was. */
  readonly gap: number | null;
}

/** What edits have changed in a notebook since this user's last Keep. */
export interface UnseenReply {
  readonly path: string;
  readonly hash: string;
  /** The newest edit that is considered, or 0 if there is none. */
  readonly until: number;
  readonly cells: readonly UnseenCell[];
  /** The edits that the cells name, oldest first. */
  readonly edits: readonly EditOrigin[];
  /** Whether there are more edits than are compared; older ones count as seen. */
  readonly truncated: boolean;
}

/** The result of a restore, with the cells that it changes. */
export interface RestoreReply extends EditReply {
  /** The cells before and after it, in the order of the notebook. */
  readonly parts: readonly CellDiff[];
}

/** The source of a cell before and after an edit. */
export interface CellSources {
  readonly cell_id: string | null;
  /** The index before the edit; null if the cell is new. */
  readonly index_before: number | null;
  /** The index after the edit; null if the cell is deleted. */
  readonly index: number | null;
  /** Null if the cell is new. */
  readonly before: string | null;
  /** Null if the cell is deleted. */
  readonly after: string | null;
}

/** A notebook with edits that this user has not kept. */
export interface UnseenNotebook {
  readonly path: string;
  /** Number of edits. */
  readonly edits: number;
  readonly clients: readonly string[];
  /** The time of the newest edit, as defined in RFC 3339. */
  readonly time: string;
}

/** An edit with its cell diffs. */
export interface DetailedEdit extends HistoryEdit {
  readonly parts: readonly CellDiff[];
}

/** What the open tabs made of an edit. */
export interface TabCounts {
  readonly open: number;
  readonly shown: number;
  readonly merged: number;
  readonly waiting: number;
}

/** The reply to a change. */
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
  /** Of a dry run of an undo, redo or restore: the sources that it changes. */
  readonly sources?: readonly CellSources[];
  readonly warnings: readonly string[];
  readonly tabs?: TabCounts;
  /** The edits that were undone or redone. */
  readonly undone?: readonly { readonly kind: HistoryEdit['kind'] }[];
}

/** The mode of a notebook, or of the server. */
export interface ModeReply {
  readonly path: string | null;
  /** The effective mode. */
  readonly mode: Mode;
  /** The notebook's own mode. */
  readonly own: Mode | null;
  readonly server: Mode;
  /** Whether the mode cannot be changed. */
  readonly fixed: boolean;
  /**
   * Why the server cannot read the modes of notebooks, or null if it can. It refuses all changes
   * until a user sets a mode. Servers without this field can read them.
   */
  readonly unreadable?: string | null;
  /** Whether the user may change notebooks. Servers without this field do not say. */
  readonly writable?: boolean;
}

export type ProposalStatus = 'pending' | 'accepted' | 'rejected' | 'partly_accepted' | 'expired';

export interface ProposedPart extends CellDiff {
  readonly status: 'pending' | 'accepted' | 'rejected';
  /** The ids of the cells beside the new place of a cell that do not move; null if not known. */
  readonly cell_above?: string | null;
  readonly cell_below?: string | null;
  /**
   * Of a pending part: its cell in the notebook as it is stored now. This and the fields below are
   * in the reply for a single proposal.
   */
  readonly state?: 'as_proposed' | 'changed' | 'gone' | 'ambiguous';
  /** The cell now, if it has changed. */
  readonly current?: CellState;
  /** The source hash of `current`. */
  readonly current_hash?: string;
  /** The source with both changes merged by line, or null if lines conflict. */
  readonly merged?: string | null;
}

/** The source that a person wants in the cell of a part. */
export interface ChosenSource {
  readonly part: number;
  /** The source hash that the cell must have; null for a new cell. */
  readonly source_hash: string | null;
  /** Null deletes the cell, if the part is about that. */
  readonly source: string | null;
}

/** A change that waits for the decision of a person. */
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
  /** The language of the code cells, or null if the notebook does not name one. */
  readonly language: string | null;
  readonly operations: readonly OperationEntry[];
  readonly truncated: boolean;
  readonly diff: string;
  readonly parts: readonly ProposedPart[];
  readonly edit_ids: readonly number[];
  readonly decided_by: string | null;
  /** Why a person rejected it; servers that take no reason do not have the field. */
  readonly reason?: string | null;
}

/** A cell that prevents an undo or the acceptance of a proposal. */
export interface ConflictingCell {
  readonly cell_id: string | null;
  readonly index: number | null;
  readonly why: 'changed' | 'gone' | 'ambiguous' | 'no_place';
  readonly source?: string;
}

/** What a user does to set up a client. */
export interface SetupStep {
  /** Whether `text` is a command for a terminal, or the content of a file. */
  readonly kind: 'command' | 'file';
  readonly text: string;
  /** The file that has the configuration, also if a command writes it. */
  readonly file: string;
  /** A command that adds the content to the file, or null if there is none. */
  readonly write_command: string | null;
  /** Whether the client starts the bridge, the command `jupyter-nbedit` on its own machine. */
  readonly starts_bridge: boolean;
  /** What else to know, or ''. */
  readonly note: string;
  /** The URL that sets up the client when it is opened, or ''. */
  readonly link: string;
}

/** A program that drives a model, and how it is set up. */
export interface AgentClient {
  readonly id: string;
  readonly title: string;
  /** For a client on the machine of the server. */
  readonly local: SetupStep;
  /** For a client on another machine. */
  readonly remote: SetupStep;
}

/** How agents are connected, and what they did last. */
export interface AgentsReply {
  readonly clients: readonly AgentClient[];
  /** The command that a local client starts, or null if the server's environment has none. */
  readonly bridge: string | null;
  /** The environment variable from which remote clients take the token. */
  readonly token_variable: string;
  /** The newest edit of each agent, newest first; null if the history cannot be read. */
  readonly last_edits: readonly HistoryEdit[] | null;
}
