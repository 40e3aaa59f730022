import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Proposal, ProposalPart } from '../server/models';
import type { Comparison } from '../ui/diffView';
import { goToCell, keepView, letGo } from '../ui/viewport';
import { Decisions, type DecisionTab } from './decisionController';
import { placeOf, type Anchor, type ShownCell } from './partPosition';
import { Block } from './proposalBlock';
import type { Proposals } from './proposalModel';
import { ReviewBar } from './reviewBar';
import { inOrder, keyOf, moves, type Entry } from './shownPart';
import * as wording from './wording';

/** Changes within this time are answered together, in milliseconds. */
const PAUSE = 50;

/** Draws what a part would change, or answers null if there is no text to compare. */
export type Draw = (part: ProposalPart) => Comparison | null;

/** The proposals for one notebook in one of its views: a bar above it, and a block at each cell. */
export class NotebookReview {
  /** @param _path The notebook's path in the contents API. */
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _proposals: Proposals,
    private readonly _path: () => string,
    private readonly _draw: Draw,
    private readonly _trans: TranslationBundle
  ) {
    this._bar = new ReviewBar(
      {
        acceptAll: () => this.decideAll(true),
        rejectAll: () => this.decideAll(false),
        next: () => void this.next()
      },
      _trans
    );
    this._bar.hide();
    const tab: DecisionTab = {
      // In a room the server knows of a change at once.
      isUnsaved: () => _panel.context.model.dirty && _panel.context.model.collaborative !== true,
      source: ({ place }) =>
        _panel.content.widgets[place.cell]?.model.sharedModel.getSource() ?? null,
      tell: notice => {
        this._bar.notice = notice;
        this._describe();
      }
    };
    this._decisions = new Decisions(_proposals, tab, _trans);
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

  /** How many changes are proposed for the notebook. */
  get count(): number {
    return this._wanted().length;
  }

  /** Bring what is shown up to date soon. */
  readonly update = (): void => {
    if (!this._isDue && (this._entries.size > 0 || this.count > 0)) {
      this._isDue = true;
      setTimeout(() => {
        this._isDue = false;
        this._update();
      }, PAUSE);
    }
  };

  /** Go to the next block, and to the first after the last. */
  async next(): Promise<void> {
    const { content } = this._panel;
    const order = inOrder(this._entries);
    const last = order.findIndex(({ key }) => key === this._visited);
    const next =
      (last < 0
        ? order.find(({ entry }) => entry.place.cell >= content.activeCellIndex)
        : order[last + 1]) ?? order[0];
    const cell = content.widgets[next?.entry.place.cell ?? -1];
    if (next === undefined || cell === undefined) {
      return;
    }
    this._visited = next.key;
    await next.entry.made;
    if (cell.isDisposed || this._entries.get(next.key) !== next.entry) {
      return;
    }
    NotebookActions.expandParent(cell, content);
    await goToCell(content, cell);
    await cell.ready;
    this._update();
    letGo(content);
    next.entry.block?.node.scrollIntoView({ block: 'nearest' });
    next.entry.block?.node.focus({ preventScroll: true });
  }

  /** Accept or reject all that is proposed for the notebook. */
  decideAll(isAccepted: boolean): void {
    const entries = [...this._entries.values()];
    for (const id of new Set(entries.map(({ proposal }) => proposal.proposal_id))) {
      const all = entries.filter(({ proposal }) => proposal.proposal_id === id);
      void this._decisions.decide(all, isAccepted);
    }
  }

  private _wanted(): { readonly proposal: Proposal; readonly part: ProposalPart }[] {
    return this._proposals
      .of(this._path())
      .filter(({ kind }) => kind === 'edit')
      .flatMap(proposal => wording.pendingParts(proposal).map(part => ({ proposal, part })));
  }

  private _update(): void {
    const { content } = this._panel;
    // What is not in sight cannot be held in place; it is brought up to date when it is.
    if (this._panel.isDisposed || !this._panel.isVisible || content.model === null) {
      return;
    }
    // Until it is loaded, neither its cells nor its language are known.
    if (!this._panel.context.isReady) {
      return;
    }
    const wanted = this._wanted();
    const cells = content.widgets.map(shown);
    const keys = new Set(wanted.map(keyOf));
    const gone = [...this._entries].filter(([key]) => !keys.has(key));
    for (const item of wanted) {
      this._take(item, cells);
    }
    gone.forEach(([key]) => this._entries.delete(key));
    const order = inOrder(this._entries);
    const placed = order.flatMap(({ entry: { block: widget, place } }) =>
      widget === null ? [] : [{ widget, place }]
    );
    const steps = moves(content.widgets, placed);
    const isShown = wanted.length > 0;
    this._describe();
    if (gone.length > 0 || steps.length > 0 || isShown === this._bar.isHidden) {
      const hadFocus = this._bar.node.contains(document.activeElement);
      if (content.outerNode.scrollTop === 0) {
        // At the top the cells make room for the bar; their places are held from there on.
        this._bar.setShown(isShown);
      }
      keepView(content, () => {
        gone.forEach(([, { block }]) => block?.dispose());
        steps.forEach(step => step());
        this._bar.setShown(isShown);
      });
      if (hadFocus && !isShown) {
        content.activate();
      }
    }
    this._awaitCells(placed.map(({ place }) => content.widgets[place.cell]));
  }

  /** Know a part, as it is by now, and where it is to be shown. */
  private _take(
    item: { readonly proposal: Proposal; readonly part: ProposalPart },
    cells: readonly ShownCell[]
  ): void {
    const { proposal, part } = item;
    const key = keyOf(item);
    const language = this._panel.content.codeMimetype;
    const drawn = this._entries.get(key);
    const known = drawn?.language === language ? drawn : undefined;
    const place = placeOf(part, proposal.parts, cells, this._anchors.get(key));
    const { id } = cells[place.cell] ?? {};
    if (id !== undefined) {
      this._anchors.set(key, { id, side: place.side });
    }
    if (known === undefined) {
      const entry: Entry = {
        proposal,
        part,
        place,
        language,
        block: null,
        made: Promise.resolve(),
        refused: drawn?.refused ?? null,
        isBusy: false
      };
      this._entries.set(key, entry);
      // In the colours of another language: drawn anew.
      drawn?.block?.dispose();
      entry.made = this._makeBlock(key, entry);
    } else {
      Object.assign(known, { proposal, part, place });
      const source = cells[place.cell]?.source ?? null;
      if (known.refused !== null && known.refused.source !== source) {
        known.refused = null;
      }
    }
  }

  /** Draw the difference first, so that the block does not grow under the reader's eyes. */
  private async _makeBlock(key: string, entry: Entry): Promise<void> {
    const comparison = this._draw(entry.part);
    const block = new Block(
      entry.proposal,
      entry.part,
      comparison,
      isAccepted => void this._decisions.decide([entry], isAccepted),
      () => {
        // JupyterLab leaves the focus where it is as long as that is within the notebook.
        (document.activeElement as HTMLElement | null)?.blur();
        this._panel.content.activate();
      },
      this._trans
    );
    await comparison?.ready.catch((error: unknown) => {
      console.warn('jupyter-nbedit: a difference could not be drawn.', error);
    });
    if (this._entries.get(key) !== entry || this._panel.isDisposed) {
      block.dispose();
      return;
    }
    entry.block = block;
    // A cell takes its block along when it goes: it is made anew where the change belongs then.
    block.disposed.connect(() => {
      if (this._entries.get(key) === entry) {
        this._entries.delete(key);
        this.update();
      }
    });
    this.update();
  }

  /** Bring the blocks of cells that are not drawn yet to them when they are. */
  private _awaitCells(cells: readonly (Cell | undefined)[]): void {
    for (const cell of cells) {
      if (cell?.inputArea === null && !this._awaited.has(cell)) {
        this._awaited.add(cell);
        void cell.ready.then(() => this._update());
      }
    }
  }

  private _describe(): void {
    const entries = [...this._entries.values()];
    const proposals = [...new Set(entries.map(({ proposal }) => proposal))];
    const purposes = new Set(proposals.map(wording.purpose));
    this._bar.describe(
      wording.summary(
        proposals.map(proposal => wording.proposer(proposal, this._trans)),
        entries.length,
        this._trans
      ),
      purposes.size === 1 ? ([...purposes][0] ?? '') : ''
    );
    this._bar.isEnabled = !entries.every(({ isBusy }) => isBusy);
    for (const { block, refused, place, isBusy } of entries) {
      if (block !== null) {
        block.notice = refused?.text ?? wording.warning(place.state, this._trans);
        block.isEnabled = !isBusy;
      }
    }
  }

  private readonly _bar: ReviewBar;
  private readonly _decisions: Decisions;
  private readonly _entries = new Map<string, Entry>();
  /** Where the parts were shown last. */
  private readonly _anchors = new Map<string, Anchor>();
  private readonly _awaited = new WeakSet<Cell>();
  private _visited = '';
  private _isDue = false;
}

function shown({ model }: Cell): ShownCell {
  return { id: model.id, type: model.type, source: model.sharedModel.getSource() };
}
