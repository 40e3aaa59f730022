import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Proposal, ProposedPart } from '../server/models';
import type { DiffView } from '../ui/diffView';
import { goToCell, preserveViewport, releaseScrollHold } from '../ui/viewport';
import { DecisionController, type DecisionHost } from './decisionController';
import { locatePart, type Anchor, type TabCell } from './proposalPartPosition';
import { ProposalBlock } from './proposalBlock';
import type { ProposalModel } from './proposalModel';
import { ReviewBar } from './reviewBar';
import { getPartKey, planLayoutChanges, sortParts, type ShownPart } from './proposalPartView';
import * as wording from './wording';

/** Changes within this time cause one update, in milliseconds. */
const UPDATE_DELAY = 50;

/** Draws the diff of a part, or returns null if there is no text to compare. */
export type DrawDiff = (part: ProposedPart) => DiffView | null;

/** The proposals for one notebook in one of its views: a bar above it, and a block at each cell. */
export class NotebookReview {
  /** @param _getPath Returns the path of the notebook in the Contents API. */
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _proposals: ProposalModel,
    private readonly _getPath: () => string,
    private readonly _drawDiff: DrawDiff,
    private readonly _trans: TranslationBundle
  ) {
    this._bar = new ReviewBar(
      {
        acceptAll: () => this.decideAll(true),
        rejectAll: () => this.decideAll(false),
        goToNext: () => void this.goToNext()
      },
      _trans
    );
    this._bar.hide();
    const tab: DecisionHost = {
      // In a room the server has every change at once.
      hasUnsavedChanges: () =>
        _panel.context.model.dirty && _panel.context.model.collaborative !== true,
      getSource: ({ position }) =>
        _panel.content.widgets[position.cell]?.model.sharedModel.getSource() ?? null,
      showNotice: notice => {
        this._bar.notice = notice;
        this._describe();
      }
    };
    this._decisions = new DecisionController(_proposals, tab, _trans);
    _panel.contentHeader.addWidget(this._bar);
    const { content, context } = _panel;
    const listen = (): void => {
      content.model?.metadataChanged.connect(this.update);
      content.model?.contentChanged.connect(this.update);
      content.model?.cells.changed.connect(this.update);
      this.update();
    };
    content.modelChanged.connect(listen);
    context.pathChanged.connect(this.update);
    void context.ready.then(this.update);
    _proposals.changed.connect(this.update);
    _panel.disposed.connect(() => _proposals.changed.disconnect(this.update));
    listen();
  }

  /** Number of changes that are proposed for the notebook. */
  get count(): number {
    return this._listPending().length;
  }

  /** Schedule an update. */
  readonly update = (): void => {
    if (!this._isScheduled && (this._parts.size > 0 || this.count > 0)) {
      this._isScheduled = true;
      setTimeout(() => {
        this._isScheduled = false;
        this._updateNow();
      }, UPDATE_DELAY);
    }
  };

  /** Go to the next block, or from the last one to the first. */
  async goToNext(): Promise<void> {
    const { content } = this._panel;
    const order = sortParts(this._parts);
    const last = order.findIndex(({ key }) => key === this._visitedKey);
    const next =
      (last < 0
        ? order.find(({ shownPart }) => shownPart.position.cell >= content.activeCellIndex)
        : order[last + 1]) ?? order[0];
    const cell = content.widgets[next?.shownPart.position.cell ?? -1];
    if (next === undefined || cell === undefined) {
      return;
    }
    this._visitedKey = next.key;
    await next.shownPart.whenDrawn;
    if (cell.isDisposed || this._parts.get(next.key) !== next.shownPart) {
      return;
    }
    NotebookActions.expandParent(cell, content);
    await goToCell(content, cell);
    await cell.ready;
    this._updateNow();
    releaseScrollHold(content);
    next.shownPart.block?.node.scrollIntoView({ block: 'nearest' });
    next.shownPart.block?.node.focus({ preventScroll: true });
  }

  /** Accept or reject everything that is proposed for the notebook. */
  decideAll(isAccepted: boolean): void {
    const shownParts = [...this._parts.values()];
    for (const id of new Set(shownParts.map(({ proposal }) => proposal.proposal_id))) {
      const all = shownParts.filter(({ proposal }) => proposal.proposal_id === id);
      void this._decisions.decide(all, isAccepted);
    }
  }

  private _listPending(): { readonly proposal: Proposal; readonly part: ProposedPart }[] {
    return this._proposals
      .listForNotebook(this._getPath())
      .filter(({ kind }) => kind === 'edit')
      .flatMap(proposal => wording.listPendingParts(proposal).map(part => ({ proposal, part })));
  }

  private _updateNow(): void {
    const { content } = this._panel;
    // The viewport of a hidden notebook cannot be preserved; it is updated when it is shown.
    if (this._panel.isDisposed || !this._panel.isVisible || content.model === null) {
      return;
    }
    // Before it is loaded, neither its cells nor its language are known.
    if (!this._panel.context.isReady) {
      return;
    }
    const pendingParts = this._listPending();
    const cells = content.widgets.map(readTabCell);
    const keys = new Set(pendingParts.map(getPartKey));
    const removedParts = [...this._parts].filter(([key]) => !keys.has(key));
    for (const item of pendingParts) {
      this._updatePart(item, cells);
    }
    removedParts.forEach(([key]) => this._parts.delete(key));
    const order = sortParts(this._parts);
    const placedWidgets = order.flatMap(({ shownPart: { block: widget, position } }) =>
      widget === null ? [] : [{ widget, position }]
    );
    const layoutChanges = planLayoutChanges(content.widgets, placedWidgets);
    const isShown = pendingParts.length > 0;
    this._describe();
    if (removedParts.length > 0 || layoutChanges.length > 0 || isShown === this._bar.isHidden) {
      const hadFocus = this._bar.node.contains(document.activeElement);
      if (content.outerNode.scrollTop === 0) {
        // At the top, the cells move down for the bar; their position is held from there.
        this._bar.setShown(isShown);
      }
      preserveViewport(content, () => {
        removedParts.forEach(([, { block }]) => block?.dispose());
        layoutChanges.forEach(step => step());
        this._bar.setShown(isShown);
      });
      if (hadFocus && !isShown) {
        content.activate();
      }
    }
    this._awaitCells(placedWidgets.map(({ position }) => content.widgets[position.cell]));
  }

  /** Add or update a part, and compute its position. */
  private _updatePart(
    item: { readonly proposal: Proposal; readonly part: ProposedPart },
    cells: readonly TabCell[]
  ): void {
    const { proposal, part } = item;
    const key = getPartKey(item);
    const language = this._panel.content.codeMimetype;
    const previous = this._parts.get(key);
    const reusable = previous?.language === language ? previous : undefined;
    const position = locatePart(part, proposal.parts, cells, this._anchors.get(key));
    const { id } = cells[position.cell] ?? {};
    if (id !== undefined) {
      this._anchors.set(key, { id, side: position.side });
    }
    if (reusable === undefined) {
      const shownPart: ShownPart = {
        proposal,
        part,
        position,
        language,
        block: null,
        whenDrawn: Promise.resolve(),
        problem: previous?.problem ?? null,
        isBusy: false
      };
      this._parts.set(key, shownPart);
      // Drawn again with the highlighting of another language.
      previous?.block?.dispose();
      shownPart.whenDrawn = this._makeBlock(key, shownPart);
    } else {
      Object.assign(reusable, { proposal, part, position });
      const source = cells[position.cell]?.source ?? null;
      if (reusable.problem !== null && reusable.problem.source !== source) {
        reusable.problem = null;
      }
    }
  }

  /** Draw the diff before the block is shown, so that the block does not grow. */
  private async _makeBlock(key: string, shownPart: ShownPart): Promise<void> {
    const diffView = this._drawDiff(shownPart.part);
    const block = new ProposalBlock(
      shownPart.proposal,
      shownPart.part,
      diffView,
      isAccepted => void this._decisions.decide([shownPart], isAccepted),
      () => {
        // JupyterLab does not move the focus while it is within the notebook.
        (document.activeElement as HTMLElement | null)?.blur();
        this._panel.content.activate();
      },
      this._trans
    );
    await diffView?.ready.catch((error: unknown) => {
      console.warn('jupyter-nbedit: a difference could not be drawn.', error);
    });
    if (this._parts.get(key) !== shownPart || this._panel.isDisposed) {
      block.dispose();
      return;
    }
    shownPart.block = block;
    // A removed cell disposes its block: the block is made again at its new position.
    block.disposed.connect(() => {
      if (this._parts.get(key) === shownPart) {
        this._parts.delete(key);
        this.update();
      }
    });
    this.update();
  }

  /** Update when cells that are not rendered yet are ready. */
  private _awaitCells(cells: readonly (Cell | undefined)[]): void {
    for (const cell of cells) {
      if (cell?.inputArea === null && !this._awaitedCells.has(cell)) {
        this._awaitedCells.add(cell);
        void cell.ready.then(() => this._updateNow());
      }
    }
  }

  private _describe(): void {
    const shownParts = [...this._parts.values()];
    const proposals = [...new Set(shownParts.map(({ proposal }) => proposal))];
    const purposes = new Set(proposals.map(wording.formatPurpose));
    this._bar.describe(
      wording.describeProposals(
        proposals.map(proposal => wording.getProposer(proposal, this._trans)),
        shownParts.length,
        this._trans
      ),
      purposes.size === 1 ? ([...purposes][0] ?? '') : ''
    );
    this._bar.isEnabled = !shownParts.every(({ isBusy }) => isBusy);
    for (const { block, problem, position, isBusy } of shownParts) {
      if (block !== null) {
        block.notice = problem?.text ?? wording.describeCellState(position.state, this._trans);
        block.isEnabled = !isBusy;
      }
    }
  }

  private readonly _bar: ReviewBar;
  private readonly _decisions: DecisionController;
  private readonly _parts = new Map<string, ShownPart>();
  /** The last positions of the parts. */
  private readonly _anchors = new Map<string, Anchor>();
  private readonly _awaitedCells = new WeakSet<Cell>();
  private _visitedKey = '';
  private _isScheduled = false;
}

function readTabCell({ model }: Cell): TabCell {
  return { id: model.id, type: model.type, source: model.sharedModel.getSource() };
}
