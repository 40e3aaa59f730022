import type { Event } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';
import type { EditReply, Proposal } from '../server/models';
import type { ProposalCounts } from './modeModel';
import { listPendingParts } from './wording';

const PROPOSAL_SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/proposal/v1';

/** Maximum number of proposals in a reply of the server; the newest are listed. */
const MAX_PROPOSALS = 200;

/**
 * Minimum and maximum time until the next expiry is checked, in milliseconds; the maximum is that
 * of a timer.
 */
const MIN_EXPIRY_DELAY = 5000;
const MAX_EXPIRY_DELAY = 2 ** 31 - 1;

/** The requests that the model sends. */
export interface ProposalClient {
  listProposals(options: { status: 'pending'; limit: number }): Promise<readonly Proposal[]>;
  acceptProposal(id: number, parts?: readonly number[]): Promise<EditReply>;
  rejectProposal(id: number, parts?: readonly number[]): Promise<Proposal>;
}

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

  /**
   * Accept a proposal, or parts of it.
   *
   * @throws NbEditError if it cannot be accepted any more.
   */
  async accept(proposal: Proposal, parts?: readonly number[]): Promise<void> {
    await this._decide(() => this._client.acceptProposal(proposal.proposal_id, parts));
  }

  /** Reject a proposal, or parts of it. */
  async reject(proposal: Proposal, parts?: readonly number[]): Promise<void> {
    await this._decide(() => this._client.rejectProposal(proposal.proposal_id, parts));
  }

  private async _decide(sendDecision: () => Promise<unknown>): Promise<void> {
    try {
      await sendDecision();
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
  }

  private readonly _changed = new Signal<this, void>(this);
  private _pending: readonly Proposal[] = [];
  private _isStale = false;
  private _isFailing = false;
  private _currentRead: Promise<void> | null = null;
  private _expiry: ReturnType<typeof setTimeout> | undefined;
}
