import type { TranslationBundle } from '@jupyterlab/translation';
import { NbEditError } from '../server/client';
import type { ConflictingCell } from '../server/models';
import type { ProposalModel } from './proposalModel';
import type { ShownPart } from './proposalPartView';
import * as wording from './wording';

/** What a decision needs from the tab. */
export interface DecisionHost {
  /** Return whether the tab has changes that the server does not have. */
  hasUnsavedChanges(): boolean;
  /** Return the source of a part's cell in the tab. */
  getSource(shownPart: ShownPart): string | null;
  /** Update the shown parts, and show a notice about all of them. */
  showNotice(notice: string): void;
}

/** Accepts and rejects parts in one view of a notebook, and shows the result. */
export class DecisionController {
  constructor(
    private readonly _proposals: Pick<ProposalModel, 'accept' | 'reject'>,
    private readonly _host: DecisionHost,
    private readonly _trans: TranslationBundle
  ) {}

  /** @param entries Parts of one proposal. */
  async decide(shownParts: readonly ShownPart[], isAccepted: boolean): Promise<void> {
    const open = shownParts.filter(({ isBusy }) => !isBusy);
    const [first] = open;
    if (first === undefined || (isAccepted && this._hasUnsavedConflicts(open))) {
      return;
    }
    const parts = open.map(({ part }) => part.part);
    open.forEach(shownPart => Object.assign(shownPart, { isBusy: true, problem: null }));
    this._host.showNotice('');
    let notice = '';
    try {
      const { proposal } = first;
      await (isAccepted
        ? this._proposals.accept(proposal, parts)
        : this._proposals.reject(proposal, parts));
    } catch (error) {
      notice = this._describeFailure(open, error);
    } finally {
      open.forEach(shownPart => (shownPart.isBusy = false));
      this._host.showNotice(notice);
    }
  }

  /**
   * Return whether the user has changed one of the cells in this tab and not saved it.
   *
   * The server would edit the file, and the tab would report a conflict afterwards.
   */
  private _hasUnsavedConflicts(parts: readonly ShownPart[]): boolean {
    const changed = parts.filter(({ position }) => position.state !== 'as-proposed');
    if (changed.length === 0 || !this._host.hasUnsavedChanges()) {
      return false;
    }
    for (const shownPart of changed) {
      this._setProblem(
        shownPart,
        wording.describeConflict(
          shownPart.position.state === 'gone' ? 'gone' : 'changed',
          this._trans
        )
      );
    }
    this._host.showNotice(describeTotal(parts, changed, this._trans));
    return true;
  }

  /** Show at the cells why nothing was done; return the notice about all of them. */
  private _describeFailure(shownParts: readonly ShownPart[], error: unknown): string {
    const { reason, message, details } = toNbEditError(error);
    if (reason === 'proposal_closed' || reason === 'proposal_not_found') {
      // Another client has decided: the blocks will be removed.
      return '';
    }
    const cells = reason === 'cell_changed' ? ((details.cells ?? []) as ConflictingCell[]) : [];
    const conflicting = shownParts.filter(shownPart => {
      const cell = cells.find(other => wording.isConflictOf(other, shownPart.part));
      if (cell !== undefined) {
        this._setProblem(shownPart, wording.describeConflict(cell.why, this._trans));
      }
      return cell !== undefined;
    });
    if (conflicting.length > 0) {
      return describeTotal(shownParts, conflicting, this._trans);
    }
    const [only, another] = shownParts;
    if (only !== undefined && another === undefined) {
      this._setProblem(only, message);
      return '';
    }
    return message;
  }

  private _setProblem(shownPart: ShownPart, text: string): void {
    shownPart.problem = { text, source: this._host.getSource(shownPart) };
  }
}

function describeTotal(
  shownParts: readonly ShownPart[],
  conflicting: readonly ShownPart[],
  trans: TranslationBundle
): string {
  return shownParts.length === 1
    ? ''
    : trans._n(
        'Nothing was accepted: %1 change cannot be made any more.',
        'Nothing was accepted: %1 changes cannot be made any more.',
        conflicting.length,
        conflicting.length
      );
}

function toNbEditError(error: unknown): NbEditError {
  return error instanceof NbEditError ? error : new NbEditError(0, 'unknown', String(error));
}
