import type { Cell } from '@jupyterlab/cells';
import type { PartialJSONObject } from '@lumino/coreutils';
import type { BlockAction } from '../blocks/cellBlock';
import type { BarItem } from '../blocks/notebookBar';
import type {
  BlockEntry,
  BlockProvider,
  NotebookBlocks,
  ProviderState
} from '../blocks/notebookBlocks';
import { mergeLines } from '../merge/textMerge';
import type { CellDiff, Proposal, ProposedPart } from '../server/models';
import type { NbEditServices } from '../services/servicesPlugin';
import { DecisionController, type Decision, type DecisionHost } from './decisionController';
import { DecisionToast } from './decisionToast';
import { PartRenderer } from './partRenderer';
import { computeOutcome, type PartOutcome } from './partOutcome';
import {
  isInsert,
  locateMoveTarget,
  locatePart,
  type Anchor,
  type TabCell
} from './proposalPartPosition';
import { ProposalBlock } from './proposalBlock';
import { listPendingParts } from '../server/proposalModel';
import { getPartKey, makePartKey, MoveLine, ShownPart, sortParts } from './proposalPartView';
import * as wording from './wording';

/** A part that waits for a decision. */
interface PendingPart {
  readonly proposal: Proposal;
  readonly part: ProposedPart;
}

/** What the user has edited for a part before it was decided, or before the user cancelled. */
interface UnusedEdit {
  readonly source: string;
  /** The source of the cell at that time; null for a new cell. */
  readonly before: string | null;
}

/** The proposals for one notebook in one of its views. */
export class ProposalBlocks implements BlockProvider {
  readonly kind = 'proposal';

  constructor(
    private readonly _blocks: NotebookBlocks,
    private readonly _services: NbEditServices
  ) {
    const { panel, requestUpdate } = _blocks;
    const { proposals, trans } = _services;
    const onUndone = (decision: Decision): void => void this._showUndone(decision);
    this._toast = new DecisionToast(_services, () => panel.context.localPath, onUndone);
    this._decisions = new DecisionController(proposals, this._makeHost(), trans);
    this._renderer = new PartRenderer(panel, _services, {
      makeBlock: shownPart => this._makeBlock(getPartKey(shownPart), shownPart),
      isShown: shownPart => this._parts.get(getPartKey(shownPart)) === shownPart,
      requestUpdate
    });
    proposals.changed.connect(requestUpdate);
    _blocks.addProvider(this);
  }

  /** Number of changes that are proposed for the notebook. */
  get count(): number {
    return this._listPending().length;
  }

  get isEmpty(): boolean {
    return this._parts.size === 0 && this.count === 0;
  }

  /** Whether a decision can be undone. */
  get canUndo(): boolean {
    return this._toast.canUndo;
  }

  update(): ProviderState {
    const pendingParts = this._listPending();
    const cells = this._blocks.panel.content.widgets.map(readTabCell);
    const keys = new Set(pendingParts.map(getPartKey));
    const removedParts = [...this._parts].filter(([key]) => !keys.has(key));
    for (const item of pendingParts) {
      this._updatePart(item, cells);
    }
    for (const [key, shownPart] of removedParts) {
      this._keepEdit(key, shownPart);
      this._parts.delete(key);
    }
    if (this._parts.size === 0) {
      this._notice = '';
    }
    const barItem = this._parts.size === 0 ? null : this._describeAll();
    this._describeBlocks(barItem?.purpose !== '');
    const order = sortParts(this._parts);
    return {
      entries: order.map(({ key, shownPart }) => this._makeEntry(key, shownPart)),
      lines: order.flatMap(({ shownPart: { moveLine } }) =>
        moveLine === null ? [] : [{ widget: moveLine, position: moveLine.position }]
      ),
      removedWidgets: removedParts.flatMap(([, { block, moveLine }]) =>
        [block, moveLine].filter(widget => widget !== null)
      ),
      barItem
    };
  }

  /** Accept or reject everything that is proposed for the notebook. */
  decideAll(isAccepted: boolean): void {
    const shownParts = [...this._parts.values()];
    void (isAccepted ? this._decisions.acceptAll(shownParts) : this._decisions.reject(shownParts));
  }

  /** Undo the last decision. */
  async undoDecision(): Promise<void> {
    await this._toast.undo();
  }

  /**
   * Move the focus to the first part that waits again, or to the notebook: the toast with the button
   * that had it is gone.
   */
  private async _showUndone({ proposals }: Decision): Promise<void> {
    const { _blocks: blocks } = this;
    if (!blocks.panel.isVisible || !blocks.canMoveFocus()) {
      return;
    }
    blocks.update();
    const keys = new Set(
      proposals.flatMap(({ id, parts = [] }) => parts.map(part => makePartKey(id, part)))
    );
    const entry = blocks.entries.find(({ key }) => keys.has(key));
    if (entry === undefined) {
      blocks.returnFocus();
    } else {
      await blocks.goToEntry(entry.key);
    }
  }

  private _makeHost(): DecisionHost {
    const { panel } = this._blocks;
    const { content, context } = panel;
    return {
      // In a room the server has every change at once.
      hasUnsavedChanges: () => context.model.dirty && context.model.collaborative !== true,
      save: async () => context.save(),
      getSource: ({ position }) =>
        content.widgets[position.cell]?.model.sharedModel.getSource() ?? null,
      insertCell: ({ part: { after }, editedSource, position }) => {
        content.model?.sharedModel.insertCell(position.cell + 1, {
          cell_type: after?.cell_type ?? 'code',
          source: editedSource ?? after?.source ?? '',
          metadata: { ...(after?.metadata as PartialJSONObject | undefined) }
        });
      },
      showNotice: (notice, acceptable) => {
        this._notice = notice;
        this._acceptable = acceptable;
        this._blocks.update();
      },
      showDecision: decision => this._toast.show(decision)
    };
  }

  private _listPending(): PendingPart[] {
    return this._services.proposals
      .listForNotebook(this._blocks.panel.context.localPath)
      .filter(({ kind }) => kind === 'edit')
      .flatMap(proposal => listPendingParts(proposal).map(part => ({ proposal, part })));
  }

  /** Add or update a part, and compute its position. */
  private _updatePart(item: PendingPart, cells: readonly TabCell[]): void {
    const { proposal, part } = item;
    const key = getPartKey(item);
    const previous = this._parts.get(key);
    if (previous?.isBusy === true) {
      // The tab may have the result before the decision is known: only the index of the cell changes.
      const index = cells.findIndex(({ id }) => id === this._anchors.get(key)?.id);
      previous.position = index < 0 ? previous.position : { ...previous.position, cell: index };
      return;
    }
    const { content } = this._blocks.panel;
    const found = locatePart(part, proposal.parts, cells, this._anchors.get(key));
    const cell = cells[found.cell];
    const outcome = computeOutcome(part, found.state, cell);
    const standsForCell = found.state !== 'gone' && changesSource(part);
    // In place of the text that it compares.
    const position = standsForCell ? { ...found, side: 'above' as const } : found;
    if (cell !== undefined) {
      this._anchors.set(key, { id: cell.id, side: position.side });
    }
    const shownPart =
      previous ??
      new ShownPart(proposal, part, position, outcome, standsForCell, this._takeEdit(key, outcome));
    rebaseEdit(shownPart, outcome.diff.before?.source ?? null);
    Object.assign(shownPart, { proposal, part, position, outcome, standsForCell });
    if (content.mode === 'edit' && content.activeCellIndex === position.cell) {
      // A cell in which somebody types is not folded, such as when its block is drawn late.
      shownPart.isCellShown = true;
    }
    if (shownPart.problem !== null && shownPart.problem.source !== (cell?.source ?? null)) {
      shownPart.problem = null;
    }
    this._parts.set(key, shownPart);
    this._updateMoveLine(shownPart, cells);
    this._renderer.update(shownPart);
  }

  private _updateMoveLine(shownPart: ShownPart, cells: readonly TabCell[]): void {
    const { proposal, part } = shownPart;
    if (part.moved && part.before !== null && part.after !== null) {
      shownPart.moveLine ??= new MoveLine(proposal, part, this._services.trans);
      shownPart.moveLine.position = locateMoveTarget(part, proposal.parts, cells);
    }
  }

  private _makeBlock(key: string, shownPart: ShownPart): ProposalBlock {
    const { requestUpdate, panel } = this._blocks;
    const block = new ProposalBlock(
      shownPart.proposal,
      shownPart.part,
      {
        accept: () => void this._blocks.decide(key, () => this._decisions.accept(shownPart)),
        reject: reason =>
          void this._blocks.decide(key, () => this._decisions.reject([shownPart], reason)),
        edit: () => {
          const { outcome } = shownPart;
          shownPart.editedSource = this._takeEdit(key, outcome) ?? outcome.diff.after?.source ?? '';
          this._blocks.update();
        },
        cancelEdit: () => {
          this._keepEdit(key, shownPart);
          shownPart.editedSource = null;
          shownPart.hasEditor = false;
          block.node.focus({ preventScroll: true });
          this._blocks.update();
        },
        toggleCell: () => {
          shownPart.isCellShown = !shownPart.isCellShown;
          if (!shownPart.isCellShown) {
            this._blocks.leaveEditor(shownPart.position.cell);
          }
          this._blocks.update();
        }
      },
      this._services.right,
      this._services.trans
    );
    block.reason = shownPart.reason;
    // A removed cell disposes its block: the block is made again at its new position.
    block.disposed.connect(() => {
      if (this._parts.get(key) === shownPart && !panel.isDisposed) {
        const { reason, diff } = block;
        Object.assign(shownPart, { block: null, drawnKey: '', reason, caret: diff?.caret ?? null });
        requestUpdate();
      }
    });
    return block;
  }

  /** Keep what the user has edited for a part: it may be edited, or wait for a decision, again. */
  private _keepEdit(key: string, { editedSource, outcome }: ShownPart): void {
    if (editedSource !== null) {
      this._edits.set(key, { source: editedSource, before: outcome.diff.before?.source ?? null });
    }
  }

  /** Return what the user has edited for a part before, in its cell as it is now; null if nothing. */
  private _takeEdit(key: string, { diff }: PartOutcome): string | null {
    const edit = this._edits.get(key);
    this._edits.delete(key);
    return edit === undefined
      ? null
      : rebaseSource(edit.source, edit.before, diff.before?.source ?? null);
  }

  private _describeAll(): BarItem {
    const { right, trans } = this._services;
    const shownParts = [...this._parts.values()];
    const proposals = [...new Set(shownParts.map(({ proposal }) => proposal))];
    const purposes = new Set(proposals.map(wording.formatPurpose));
    const proposers = proposals.map(proposal => wording.getProposer(proposal, trans));
    return {
      summary: wording.describeProposals(proposers, shownParts.length, trans),
      shortSummary: trans.__('%1 proposed', shownParts.length),
      purpose: purposes.size === 1 ? ([...purposes][0] ?? '') : '',
      notice: this._notice,
      noticeActions: this._listNoticeActions(shownParts),
      actions: right.offer<BlockAction>([
        {
          label: trans.__('Reject all'),
          name: trans.__('Reject all proposed changes'),
          kind: 'reject',
          run: () => this.decideAll(false)
        },
        {
          label: trans.__('Accept all'),
          name: trans.__('Accept all proposed changes'),
          kind: 'accept',
          run: () => this.decideAll(true)
        }
      ]),
      isEnabled: !shownParts.every(({ isBusy }) => isBusy)
    };
  }

  private _listNoticeActions(shownParts: readonly ShownPart[]): readonly BlockAction[] {
    const acceptable = this._acceptable.filter(shownPart => shownParts.includes(shownPart));
    const { length: count } = acceptable;
    const label = this._services.trans._n(
      'Accept the other %1',
      'Accept the other %1',
      count,
      count
    );
    const run = (): void => void this._decisions.acceptAll(acceptable);
    return this._notice === '' || count === 0
      ? []
      : this._services.right.offer([{ label, name: label, kind: 'accept', run }]);
  }

  /** @param isPurposeShown Whether the bar shows the purpose of all proposals. */
  private _describeBlocks(isPurposeShown: boolean): void {
    for (const shownPart of this._parts.values()) {
      const { block, problem, proposal, outcome, editedSource, isBusy } = shownPart;
      if (block !== null) {
        const isEdited = editedSource !== null;
        block.purpose = isPurposeShown ? '' : wording.formatPurpose(proposal);
        block.notice =
          problem?.text ??
          wording.describeOutcome(
            outcome,
            isEdited,
            this._services.right.isGranted,
            this._services.trans
          );
        const isCellFolded = shownPart.standsForCell ? !shownPart.isCellShown : null;
        block.state = { outcome, isEdited, isCellFolded };
        block.isEnabled = !isBusy;
      }
    }
  }

  private _makeEntry(key: string, shownPart: ShownPart): BlockEntry {
    const { block, part, position, standsForCell, isCellShown } = shownPart;
    return {
      key,
      position,
      widgets: block === null ? [] : [block],
      block,
      isAboutCell: !isInsert(part) && position.state !== 'gone',
      commandLabels: [
        this._services.trans.__('Accept This Change'),
        this._services.trans.__('Reject This Change')
      ],
      isCellFolded: block !== null && standsForCell && !isCellShown,
      showCell: () => (shownPart.isCellShown = true),
      open: async () => {
        await this._renderer.draw(shownPart);
        return shownPart.block;
      }
    };
  }

  private readonly _decisions: DecisionController;
  private readonly _renderer: PartRenderer;
  private readonly _toast: DecisionToast;
  private readonly _parts = new Map<string, ShownPart>();
  /** The last positions of the parts. */
  private readonly _anchors = new Map<string, Anchor>();
  private readonly _edits = new Map<string, UnusedEdit>();
  private _notice = '';
  /** The parts that can be accepted without the parts that the notice is about. */
  private _acceptable: readonly ShownPart[] = [];
}

/** Keep what the user has edited if the cell has changed meanwhile. */
function rebaseEdit(shownPart: ShownPart, source: string | null): void {
  const { editedSource, outcome } = shownPart;
  if (editedSource !== null) {
    const former = outcome.diff.before?.source ?? null;
    shownPart.editedSource = rebaseSource(editedSource, former, source);
  }
}

/** Return an edited source for a cell that has changed from one source to another meanwhile. */
function rebaseSource(edited: string, former: string | null, source: string | null): string {
  return former === null || source === null || former === source
    ? edited
    : mergeLines(former, source, edited).text;
}

/** Return whether a part changes the source of a cell, or deletes it. */
function changesSource({ before, after }: CellDiff): boolean {
  return before?.source != null && before.source !== after?.source;
}

function readTabCell({ model }: Cell): TabCell {
  return { id: model.id, type: model.type, source: model.sharedModel.getSource() };
}
