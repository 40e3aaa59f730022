import type { Event } from '@jupyterlab/services';
import { PromiseDelegate } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';
import type { NbEditClient } from './client';
import type { ChosenSource, EditReply, Proposal, ProposedPart } from './models';
import { isUndoneAlready } from './undoEdits';

const PROPOSAL_SCHEMA = 'urn:jupyter-nbedit:proposal:v1';

/** Maximum number of proposals in a reply of the server; the newest are listed. */
const MAX_PROPOSALS = 200;

/**
 * Minimum and maximum time until the next expiry is checked, in milliseconds; a timer takes no
 * more than this maximum.
 */
const MIN_EXPIRY_DELAY = 5000;
const MAX_EXPIRY_DELAY = 2 ** 31 - 1;

/** Number of changes that wait for a decision. */
export interface ProposalCounts {
  /** In the current notebook. */
  readonly currentNotebook: number;
  /** In all other notebooks. */
  readonly otherNotebooks: number;
}

/** Return the parts that are not decided yet. */
export function listPendingParts({ parts }: Proposal): ProposedPart[] {
  return parts.filter(({ status }) => status === 'pending');
}

/** Return whether the proposals are about one notebook that exists. */
export function isAboutOneNotebook(proposals: readonly Proposal[]): boolean {
  const paths = new Set(proposals.map(({ path }) => path));
  return paths.size === 1 && proposals.every(({ kind }) => kind === 'edit');
}

/** The requests that the model sends. */
export type ProposalClient = Pick<
  NbEditClient,
  | 'listProposals'
  | 'getProposal'
  | 'getSourceHash'
  | 'acceptProposal'
  | 'rejectProposal'
  | 'reopenProposal'
  | 'undo'
>;

/** The pending proposals. */
export class ProposalModel {
  /** @param events The server's events: hints only. Proposals are read from the server. */
  constructor(
    private readonly _client: ProposalClient,
    events: Event.IManager
  ) {
    events.stream.connect((_, { schema_id: schema }) => {
      if (schema === PROPOSAL_SCHEMA) {
        this.refresh();
      }
    });
  }

  /** Resolves when the proposals were read for the first time. */
  get ready(): Promise<void> {
    return this._ready.promise;
  }

  /** Emitted when the pending proposals have changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** All pending proposals, oldest first. */
  get pending(): readonly Proposal[] {
    return this._pending;
  }

  /** List the proposals of one notebook, by its path in the Contents API. */
  listForNotebook(path: string): readonly Proposal[] {
    return this._pending.filter(proposal => proposal.path === path);
  }

  /** Count the changes that are proposed for one notebook, and for all others. */
  count(path: string | null): ProposalCounts {
    const sum = (proposals: readonly Proposal[]): number =>
      proposals.reduce((total, proposal) => total + listPendingParts(proposal).length, 0);
    const currentNotebook = path === null ? 0 : sum(this.listForNotebook(path));
    return { currentNotebook, otherNotebooks: sum(this._pending) - currentNotebook };
  }

  /** Read the proposals from the server. */
  refresh(): void {
    this._isStale = true;
    this._currentRead ??= this._read().finally(() => {
      this._currentRead = null;
    });
  }

  /** Read a proposal, and how its parts fit to the notebook as it is stored now. */
  async read({ proposal_id: id }: Proposal): Promise<Proposal> {
    return this._client.getProposal(id);
  }

  /** Return the source hash of the cell that a part changes. */
  async getSourceHash({ path }: Proposal, part: ProposedPart): Promise<string> {
    return this._client.getSourceHash(path, part.cell_id ?? part.index_before ?? 0);
  }

  /**
   * Accept a proposal, or parts of it.
   *
   * @param sources The sources of cells that differ from what is proposed.
   * @throws NbEditError if it cannot be accepted any more.
   */
  async accept(
    proposal: Proposal,
    parts?: readonly number[],
    sources: readonly ChosenSource[] = []
  ): Promise<EditReply> {
    const options = sources.length > 0 ? { sources } : {};
    return this._decide(() => this._client.acceptProposal(proposal.proposal_id, parts, options));
  }

  /**
   * Reject a proposal, or parts of it.
   *
   * @param reason Why, for the agent; or ''.
   */
  async reject(proposal: Proposal, parts?: readonly number[], reason = ''): Promise<void> {
    const text = reason.trim() === '' ? undefined : reason.trim();
    await this._decide(() => this._client.rejectProposal(proposal.proposal_id, parts, text));
  }

  /** Let rejected parts wait for a decision again. */
  async reopen(id: number, parts?: readonly number[]): Promise<void> {
    await this._decide(() => this._client.reopenProposal(id, parts));
  }

  /** Undo edits that accepted a proposal, newest first, unless that was done elsewhere. */
  async undoEdits(path: string, edits: readonly number[]): Promise<void> {
    await this._decide(async () => {
      for (const edit of [...edits].reverse()) {
        try {
          await this._client.undo(path, edit);
        } catch (error) {
          if (!isUndoneAlready(error)) {
            throw error;
          }
        }
      }
    });
  }

  private async _decide<Reply>(sendDecision: () => Promise<Reply>): Promise<Reply> {
    try {
      return await sendDecision();
    } finally {
      this.refresh();
      await this._currentRead;
    }
  }

  private async _read(): Promise<void> {
    while (this._isStale) {
      this._isStale = false;
      try {
        this._setPending(
          await this._client.listProposals({ status: 'pending', limit: MAX_PROPOSALS })
        );
        this._isFailing = false;
      } catch (error) {
        // The next event or resync reads again; one warning is enough.
        if (!this._isFailing) {
          console.warn('jupyter-nbedit: the proposals could not be read.', error);
        }
        this._isFailing = true;
      }
    }
  }

  private _setPending(proposals: readonly Proposal[]): void {
    const pending = [...proposals].reverse();
    clearTimeout(this._expiry);
    if (pending.length > 0) {
      const next = Math.min(...pending.map(({ expires }) => Date.parse(expires)));
      const delay = Math.max(MIN_EXPIRY_DELAY, Math.min(next - Date.now(), MAX_EXPIRY_DELAY));
      this._expiry = setTimeout(() => this.refresh(), delay);
    }
    if (JSON.stringify(pending) !== JSON.stringify(this._pending)) {
      this._pending = pending;
      this._changed.emit();
    }
    this._ready.resolve();
  }

  private readonly _ready = new PromiseDelegate<void>();
  private readonly _changed = new Signal<this, void>(this);
  private _pending: readonly Proposal[] = [];
  private _isStale = false;
  private _isFailing = false;
  private _currentRead: Promise<void> | null = null;
  private _expiry: ReturnType<typeof setTimeout> | undefined;
}
