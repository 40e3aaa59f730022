import type { TranslationBundle } from '@jupyterlab/translation';
import { Refusal } from '../server/client';
import type { InTheWay } from '../server/models';
import type { Proposals } from './proposalModel';
import type { Entry } from './shownPart';
import * as wording from './wording';

/** What a decision needs to know of the tab, and to tell there. */
export interface DecisionTab {
  /** Whether the tab has changes that the server does not know of. */
  isUnsaved(): boolean;
  /** What the tab has of an entry's cell. */
  source(entry: Entry): string | null;
  /** Show the entries as they are by now, and this of all of them. */
  tell(notice: string): void;
}

/** Accepts and rejects in one view of a notebook, and tells there what came of it. */
export class Decisions {
  constructor(
    private readonly _proposals: Pick<Proposals, 'accept' | 'reject'>,
    private readonly _tab: DecisionTab,
    private readonly _trans: TranslationBundle
  ) {}

  /** @param entries Parts of one proposal. */
  async decide(entries: readonly Entry[], isAccepted: boolean): Promise<void> {
    const open = entries.filter(({ isBusy }) => !isBusy);
    const [first] = open;
    if (first === undefined || (isAccepted && this._areInTheWay(open))) {
      return;
    }
    const parts = open.map(({ part }) => part.part);
    open.forEach(entry => Object.assign(entry, { isBusy: true, refused: null }));
    this._tab.tell('');
    let notice = '';
    try {
      const { proposal } = first;
      await (isAccepted
        ? this._proposals.accept(proposal, parts)
        : this._proposals.reject(proposal, parts));
    } catch (error) {
      notice = this._explain(open, error);
    } finally {
      open.forEach(entry => (entry.isBusy = false));
      this._tab.tell(notice);
    }
  }

  /**
   * Whether the user has changed one of the cells in this tab and not saved it.
   *
   * The server would make the edit of the file, and ask the user between the two afterwards.
   */
  private _areInTheWay(entries: readonly Entry[]): boolean {
    const changed = entries.filter(({ place }) => place.state !== 'as-proposed');
    if (changed.length === 0 || !this._tab.isUnsaved()) {
      return false;
    }
    for (const entry of changed) {
      this._refuse(
        entry,
        wording.refusal(entry.place.state === 'gone' ? 'gone' : 'changed', this._trans)
      );
    }
    this._tab.tell(inAll(entries, changed, this._trans));
    return true;
  }

  /** Say at the cells why nothing was done; answers what is to be said of all of them. */
  private _explain(entries: readonly Entry[], error: unknown): string {
    const { reason, message, details } = asRefusal(error);
    if (reason === 'proposal_closed' || reason === 'proposal_not_found') {
      // Somebody else was faster: the blocks go by themselves.
      return '';
    }
    const cells = reason === 'cell_changed' ? ((details.cells ?? []) as InTheWay[]) : [];
    const told = entries.filter(entry => {
      const cell = cells.find(other => wording.isInTheWay(other, entry.part));
      if (cell !== undefined) {
        this._refuse(entry, wording.refusal(cell.why, this._trans));
      }
      return cell !== undefined;
    });
    if (told.length > 0) {
      return inAll(entries, told, this._trans);
    }
    const [only, another] = entries;
    if (only !== undefined && another === undefined) {
      this._refuse(only, message);
      return '';
    }
    return message;
  }

  private _refuse(entry: Entry, text: string): void {
    entry.refused = { text, source: this._tab.source(entry) };
  }
}

function inAll(
  entries: readonly Entry[],
  refused: readonly Entry[],
  trans: TranslationBundle
): string {
  return entries.length === 1
    ? ''
    : trans._n(
        'Nothing was accepted: %1 change cannot be made any more.',
        'Nothing was accepted: %1 changes cannot be made any more.',
        refused.length,
        refused.length
      );
}

function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(0, 'unknown', String(error));
}
