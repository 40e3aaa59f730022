import type { Event } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';
import type { EditReply, Proposal } from '../server/models';
import type { ProposalCounts } from './modeModel';
import { pendingParts } from './wording';

const SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/proposal/v1';

/** How many are asked for, the newest: as many as the server lists. */
const MOST = 200;

/** How long after a read the end of a proposal is looked for, at least and at most (a timer can
 * run no longer), in milliseconds. */
const SOONEST_EXPIRY = 5000;
const LATEST_EXPIRY = 2 ** 31 - 1;

/** What of the server the proposals need. */
export interface ProposalServer {
  proposals(options: { status: 'pending'; limit: number }): Promise<readonly Proposal[]>;
  accept(id: number, parts?: readonly number[]): Promise<EditReply>;
  reject(id: number, parts?: readonly number[]): Promise<Proposal>;
}

/** The changes that wait for somebody's word, as far as this page knows. */
export class Proposals {
  /**
   * @param events The server's events: hints only. What is pending is read from the server.
   */
  constructor(
    private readonly _server: ProposalServer,
    events: Event.IManager
  ) {
    events.stream.connect((_, { schema_id: schema }) => {
      if (schema === SCHEMA) {
        this.refresh();
      }
    });
  }

  /** What is pending has become something else. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** All that are pending, oldest first. */
  get pending(): readonly Proposal[] {
    return this._pending;
  }

  /** Those of one notebook, by its path in the contents API. */
  of(path: string): readonly Proposal[] {
    return this._pending.filter(proposal => proposal.path === path);
  }

  /** Count the changes that are proposed for one notebook, and for all others. */
  count(path: string | null): ProposalCounts {
    const sum = (proposals: readonly Proposal[]): number =>
      proposals.reduce((total, proposal) => total + pendingParts(proposal).length, 0);
    const here = path === null ? 0 : sum(this.of(path));
    return { here, elsewhere: sum(this._pending) - here };
  }

  /** Ask the server soon what is pending. */
  refresh(): void {
    this._isStale = true;
    this._reading ??= this._read().finally(() => {
      this._reading = null;
    });
  }

  /**
   * Make the edit that is proposed, or these parts of it.
   *
   * @throws Refusal if it cannot be made any more.
   */
  async accept(proposal: Proposal, parts?: readonly number[]): Promise<void> {
    await this._decide(() => this._server.accept(proposal.proposal_id, parts));
  }

  /** Turn down a proposal, or these parts of it. */
  async reject(proposal: Proposal, parts?: readonly number[]): Promise<void> {
    await this._decide(() => this._server.reject(proposal.proposal_id, parts));
  }

  private async _decide(ask: () => Promise<unknown>): Promise<void> {
    try {
      await ask();
    } finally {
      this.refresh();
      await this._reading;
    }
  }

  private async _read(): Promise<void> {
    while (this._isStale) {
      this._isStale = false;
      try {
        this._take(await this._server.proposals({ status: 'pending', limit: MOST }));
        this._isFailing = false;
      } catch (error) {
        // The next event or resync asks again; to say so once is enough.
        if (!this._isFailing) {
          console.warn('jupyter-nbedit: the proposals could not be read.', error);
        }
        this._isFailing = true;
      }
    }
  }

  private _take(proposals: readonly Proposal[]): void {
    const pending = [...proposals].reverse();
    clearTimeout(this._expiry);
    if (pending.length > 0) {
      const next = Math.min(...pending.map(({ expires }) => Date.parse(expires)));
      const wait = Math.max(SOONEST_EXPIRY, Math.min(next - Date.now(), LATEST_EXPIRY));
      this._expiry = setTimeout(() => this.refresh(), wait);
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
  private _reading: Promise<void> | null = null;
  private _expiry: ReturnType<typeof setTimeout> | undefined;
}
