import type { TranslationBundle } from '@jupyterlab/translation';
import { describeError } from '../notify/wording';
import { NbEditError } from '../server/client';
import type {
  ChosenSource,
  ConflictingCell,
  EditReply,
  Proposal,
  ProposedPart
} from '../server/models';
import type { ProposalModel } from '../server/proposalModel';
import type { ShownPart } from './proposalPartView';
import * as wording from './wording';

/** What a decision needs from the tab. */
export interface DecisionHost {
  /** Return whether the tab has changes that the server does not have. */
  hasUnsavedChanges(): boolean;
  /** Save the notebook. */
  save(): Promise<void>;
  /** Return the source of a part's cell in the tab. */
  getSource(shownPart: ShownPart): string | null;
  /** Insert the cell that a part makes where its cell was. */
  insertCell(shownPart: ShownPart): void;
  /**
   * Update the shown parts, and show a notice about all of them.
   *
   * @param acceptable Parts that can be accepted without the parts that the notice is about.
   */
  showNotice(notice: string, acceptable: readonly ShownPart[]): void;
  /** Tell what was decided. */
  showDecision(decision: Decision): void;
}

/** A decision that was carried out. */
export interface Decision {
  readonly verdict: 'accepted' | 'rejected';
  readonly count: number;
  /** The decided parts, by proposal; without `parts`, it was decided as a whole. */
  readonly proposals: readonly { readonly id: number; readonly parts?: readonly number[] }[];
  /** The edits that accepted them, oldest first. */
  readonly edits: readonly number[];
}

type Proposals = Pick<ProposalModel, 'accept' | 'reject' | 'read' | 'getSourceHash'>;

/** A cell has changed since its block showed it. */
class ChangedPart extends Error {
  constructor(readonly shownPart: ShownPart) {
    super();
  }
}

/** Accepts and rejects parts in one view of a notebook, and shows the result. */
export class DecisionController {
  constructor(
    private readonly _proposals: Proposals,
    private readonly _host: DecisionHost,
    private readonly _trans: TranslationBundle
  ) {}

  /** Accept one part as its block shows it, also where it overwrites lines of the cell. */
  async accept(shownPart: ShownPart): Promise<void> {
    if (shownPart.isBusy) {
      return;
    }
    if (shownPart.outcome.kind === 'gone') {
      await this._acceptElsewhere(shownPart);
    } else {
      await this._acceptParts([shownPart]);
    }
  }

  /**
   * Accept parts of one or several proposals, or no part if one needs a decision of its own.
   */
  async acceptAll(shownParts: readonly ShownPart[]): Promise<void> {
    const open = shownParts.filter(({ isBusy }) => !isBusy);
    const undecided = open.filter(
      ({ outcome, editedSource }) =>
        outcome.kind === 'gone' || (outcome.kind === 'conflict' && editedSource === null)
    );
    if (undecided.length === 0) {
      await this._acceptParts(open);
      return;
    }
    const acceptable = open.filter(shownPart => !undecided.includes(shownPart));
    this._host.showNotice(wording.describeUndecided(undecided.length, this._trans), acceptable);
  }

  /**
   * Reject parts of one or several proposals.
   *
   * @param reason Why, for the agent; or ''.
   */
  async reject(shownParts: readonly ShownPart[], reason = ''): Promise<void> {
    const open = shownParts.filter(({ isBusy }) => !isBusy);
    const decided: ShownPart[] = [];
    await this._run(open, async () => {
      for (const [proposal, parts] of groupByProposal(open)) {
        await this._proposals.reject(proposal, listNumbers(parts), reason);
        decided.push(...parts);
      }
    });
    this._report('rejected', decided, []);
  }

  private async _acceptParts(shownParts: readonly ShownPart[]): Promise<void> {
    const decided: ShownPart[] = [];
    const replies: EditReply[] = [];
    await this._run(shownParts, async () => {
      for (const [proposal, parts] of groupByProposal(shownParts)) {
        const sources = await this._chooseSources(proposal, parts);
        replies.push(await this._proposals.accept(proposal, listNumbers(parts), sources));
        decided.push(...parts);
      }
    });
    this._report(
      'accepted',
      decided,
      replies.flatMap(({ edit_id }) => edit_id ?? [])
    );
  }

  /** Insert the text for a cell that is gone as a new cell of the tab. */
  private async _acceptElsewhere(shownPart: ShownPart): Promise<void> {
    await this._run([shownPart], async () => {
      const reason = this._trans.__(
        'The cell was gone. The user has inserted the text as a new cell.'
      );
      await this._proposals.reject(shownPart.proposal, [shownPart.part.part], reason);
      this._host.insertCell(shownPart);
    });
  }

  /**
   * Return the sources of the cells that others have changed since, or for which the user has
   * edited the proposed text.
   *
   * The server gets the sources with the text that the block has shown. If the stored cell has
   * another text, the notebook is saved first. But if both changes fit together and only the tab has
   * one of them, the tab merges the proposed change with its own text.
   */
  private async _chooseSources(
    proposal: Proposal,
    shownParts: readonly ShownPart[]
  ): Promise<ChosenSource[]> {
    const changed = shownParts.filter(
      ({ outcome, editedSource }) => outcome.kind !== 'as-proposed' || editedSource !== null
    );
    if (changed.length === 0) {
      return [];
    }
    let choices = await this._compareStored(proposal, changed);
    if (choices.some(({ isSame }) => !isSame) && this._host.hasUnsavedChanges()) {
      await this._host.save();
      choices = await this._compareStored(proposal, changed);
    }
    const other = choices.find(({ isSame }) => !isSame);
    if (other !== undefined) {
      throw new ChangedPart(other.shownPart);
    }
    return Promise.all(
      choices.map(async ({ shownPart, hash }) => ({
        part: shownPart.part.part,
        source_hash: hash ?? (await this._findSourceHash(proposal, shownPart.part)),
        source: shownPart.editedSource ?? shownPart.outcome.diff.after?.source ?? null
      }))
    );
  }

  /** Return the source hash of a part's cell, or null for a new cell. */
  private async _findSourceHash(proposal: Proposal, part: ProposedPart): Promise<string | null> {
    return part.before === null ? null : this._proposals.getSourceHash(proposal, part);
  }

  /** Compare stored cells with what blocks show, without cells that only the tab merges. */
  private async _compareStored(
    proposal: Proposal,
    shownParts: readonly ShownPart[]
  ): Promise<
    { readonly shownPart: ShownPart; readonly hash: string | null; readonly isSame: boolean }[]
  > {
    const { parts } = await this._proposals.read(proposal);
    return shownParts.flatMap(shownPart => {
      const { part, outcome, editedSource } = shownPart;
      const stored = parts.find(other => other.part === part.part);
      const isChanged = stored?.state === 'changed';
      if (!isChanged && outcome.kind === 'merged' && editedSource === null) {
        return [];
      }
      const source = (isChanged ? stored.current?.source : part.before?.source) ?? null;
      return [
        {
          shownPart,
          hash: isChanged ? (stored.current_hash ?? null) : null,
          isSame: source === (outcome.diff.before?.source ?? null)
        }
      ];
    });
  }

  /** Disable the buttons of parts while something is done, and show why it failed. */
  private async _run(shownParts: readonly ShownPart[], carryOut: () => Promise<void>) {
    shownParts.forEach(shownPart => Object.assign(shownPart, { isBusy: true, problem: null }));
    this._host.showNotice('', []);
    let [notice, acceptable]: [string, readonly ShownPart[]] = ['', []];
    try {
      await carryOut();
    } catch (error) {
      [notice, acceptable] = this._describeFailure(shownParts, error);
    } finally {
      shownParts.forEach(shownPart => (shownPart.isBusy = false));
      this._host.showNotice(notice, acceptable);
    }
  }

  private _report(
    verdict: Decision['verdict'],
    shownParts: readonly ShownPart[],
    edits: readonly number[]
  ): void {
    if (shownParts.length > 0) {
      const proposals = groupByProposal(shownParts).map(([{ proposal_id }, parts]) => ({
        id: proposal_id,
        parts: listNumbers(parts)
      }));
      this._host.showDecision({ verdict, count: shownParts.length, proposals, edits });
    }
  }

  /**
   * Show at the cells why nothing was done; return the notice about all of them, and the parts that
   * can be accepted nevertheless.
   */
  private _describeFailure(
    shownParts: readonly ShownPart[],
    error: unknown
  ): [string, readonly ShownPart[]] {
    if (error instanceof ChangedPart) {
      return this._describeConflicts(shownParts, [
        { shownPart: error.shownPart, why: 'changed' as const }
      ]);
    }
    const { reason, details } = toNbEditError(error);
    const message = describeError(error, this._trans);
    if (reason === 'proposal_closed' || reason === 'proposal_not_found') {
      // Another client has decided: the blocks will be removed.
      return ['', []];
    }
    const cells = reason === 'cell_changed' ? ((details.cells ?? []) as ConflictingCell[]) : [];
    const conflicts = shownParts.flatMap(shownPart => {
      const cell = cells.find(other => wording.isConflictOf(other, shownPart.part));
      return cell === undefined ? [] : [{ shownPart, why: cell.why }];
    });
    if (conflicts.length > 0) {
      return this._describeConflicts(shownParts, conflicts);
    }
    const [only, another] = shownParts;
    if (only !== undefined && another === undefined) {
      this._setProblem(only, message);
      return ['', []];
    }
    return [message, []];
  }

  private _describeConflicts(
    shownParts: readonly ShownPart[],
    conflicts: readonly { readonly shownPart: ShownPart; readonly why: ConflictingCell['why'] }[]
  ): [string, readonly ShownPart[]] {
    for (const { shownPart, why } of conflicts) {
      this._setProblem(shownPart, wording.describeConflict(why, this._trans));
    }
    if (shownParts.length === 1) {
      return ['', []];
    }
    const others = shownParts.filter(each =>
      conflicts.every(({ shownPart }) => shownPart !== each)
    );
    return [wording.describeUndecided(conflicts.length, this._trans), others];
  }

  private _setProblem(shownPart: ShownPart, text: string): void {
    shownPart.problem = { text, source: this._host.getSource(shownPart) };
  }
}

function groupByProposal(shownParts: readonly ShownPart[]): [Proposal, ShownPart[]][] {
  const groups = new Map<number, [Proposal, ShownPart[]]>();
  for (const shownPart of shownParts) {
    const { proposal } = shownPart;
    const group = groups.get(proposal.proposal_id) ?? [proposal, []];
    group[1].push(shownPart);
    groups.set(proposal.proposal_id, group);
  }
  return [...groups.values()];
}

function listNumbers(shownParts: readonly ShownPart[]): number[] {
  return shownParts.map(({ part }) => part.part);
}

function toNbEditError(error: unknown): NbEditError {
  return error instanceof NbEditError
    ? error
    : new NbEditError(0, 'unknown', error instanceof Error ? error.message : String(error));
}
