import { Notification } from '@jupyterlab/apputils';
import type { Widget } from '@lumino/widgets';
import { comparePositions } from '../blocks/blockPosition';
import { CellBlock, type BlockAction } from '../blocks/cellBlock';
import { drawCellDiff } from '../blocks/cellDiffView';
import { CellMarks, type CellMark } from '../blocks/cellMark';
import { ChangeLine, type LineAction } from '../blocks/changeLine';
import type { BarItem } from '../blocks/notebookBar';
import { RedrawnBlock } from '../blocks/redrawnBlock';
import type {
  BlockEntry,
  BlockProvider,
  NotebookBlocks,
  ProviderState
} from '../blocks/notebookBlocks';
import { showBriefToast } from '../notify/liveToast';
import { carryOutDecision, type Decidable } from '../notify/decision';
import { describeError, formatChangeCount } from '../notify/wording';
import { isUndoCancelled } from '../server/client';
import { isUndoneAlready } from '../server/undoEdits';
import type { EditOrigin, UnseenCell, UnseenReply } from '../server/models';
import type { UnseenModel } from '../server/unseenModel';
import type { NbEditServices } from '../services/servicesPlugin';
import { getCellId } from '../ui/cellIds';
import type { DiffView } from '../ui/diffView';
import { preserveViewport } from '../ui/viewport';
import { UnseenLocator, type UnseenPosition } from './unseenPosition';
import * as wording from './wording';

/** The marks of all notebooks. */
const UNSEEN_MARKS = new CellMarks('jp-nbedit-mark');

/** How long a toast about a decision on all changes is shown, in milliseconds. */
const TOAST_TIME = 10_000;

/** Changes that are shown together: one of a cell, or all deleted cells of a gap. */
class ShownChange extends RedrawnBlock implements Decidable {
  /** @param line Between the cells; null if there is a mark at a cell instead. */
  constructor(
    readonly key: string,
    public cells: readonly UnseenCell[],
    public edits: readonly EditOrigin[],
    public position: UnseenPosition,
    readonly line: ChangeLine | null
  ) {
    super();
  }

  /** Resolves when the block is drawn; null while it is closed. */
  whenDrawn: Promise<CellBlock | null> | null = null;
  /** The newest edit of what is shown. */
  until = 0;
  isBusy = false;
  problem = '';
}

/** The unseen changes of one notebook in one of its views. */
export class UnseenBlocks implements BlockProvider {
  readonly kind = 'unseen';

  constructor(
    private readonly _blocks: NotebookBlocks,
    private readonly _services: NbEditServices
  ) {
    const { panel, requestUpdate } = _blocks;
    const { unseen, settings } = _services;
    const onUnseen = (_: UnseenModel, path: string): void => {
      if (path === panel.context.localPath) {
        requestUpdate();
      }
    };
    unseen.changed.connect(onUnseen);
    settings.changed.connect(this._read);
    panel.context.pathChanged.connect(this._read);
    void panel.context.ready.then(this._read);
    panel.disposed.connect(() => {
      unseen.changed.disconnect(onUnseen);
      settings.changed.disconnect(this._read);
    });
    _blocks.addProvider(this);
  }

  /** Number of unseen changes, except changes of cells with conflicts. */
  get count(): number {
    return this._openCells.length;
  }

  get isEmpty(): boolean {
    return this._shownChanges.size === 0 && (this._reply?.cells.length ?? 0) === 0;
  }

  /** A cell with a conflict has one question: the decision on the conflict also keeps the change. */
  update(hiddenCells: ReadonlySet<string>): ProviderState {
    const reply = this._reply;
    const removedWidgets = this._updateChanges(reply, hiddenCells);
    this._shownReply = reply;
    if (this.isEmpty) {
      this._allChanges.problem = '';
    }
    this._updateMarks();
    const shownChanges = [...this._shownChanges.values()];
    for (const shown of shownChanges) {
      this._describe(shown);
      this._requestRedraw(shown, reply);
    }
    return {
      entries: shownChanges
        .sort((a, b) => comparePositions(a.position, b.position))
        .map(shown => this._makeEntry(shown)),
      removedWidgets,
      barItem: reply === null || this.count === 0 ? null : this._describeAll(reply)
    };
  }

  /** Keep all changes. */
  async keepAll(): Promise<void> {
    const { unseen, trans } = this._services;
    const keys = await this._listOpenKeys();
    const { length: count } = keys;
    if (count === 0) {
      return;
    }
    const isAll = count === this._reply?.cells.length;
    await this._decideAll(async () => {
      await unseen.keep(this._path, isAll ? undefined : keys);
      Notification.success(trans.__('Kept: %1', formatChangeCount(count, trans)), {
        autoClose: TOAST_TIME
      });
    });
  }

  /** Undo all changes. */
  async undoAll(): Promise<void> {
    const { unseen, right, server, trans } = this._services;
    const keys = await this._listOpenKeys();
    if (keys.length === 0) {
      return;
    }
    await this._decideAll(async () => {
      const { reply, keptKeys } = await unseen.undo(this._path, keys);
      if (reply === null) {
        return;
      }
      const { edit_id: editId } = reply;
      const count = keys.length - keptKeys.length;
      const restore = async (): Promise<void> => {
        try {
          await server.undo(this._path, editId ?? 0);
        } catch (error) {
          if (!isUndoneAlready(error) && !isUndoCancelled(error)) {
            Notification.warning(describeError(error, trans), { autoClose: false });
          }
        }
      };
      showBriefToast({
        message: trans.__('Undone: %1', formatChangeCount(count, trans)),
        type: 'success',
        actions:
          editId === null
            ? []
            : [...right.offer([{ label: trans.__('Undo'), callback: () => void restore() }])]
      });
    });
  }

  /** Return the keys of all changes that are shown, or about to be shown. */
  private async _listOpenKeys(): Promise<string[]> {
    const { unseen } = this._services;
    if (this._reply === null) {
      await unseen.read(this._path);
    }
    this._blocks.update();
    const reply = this._reply;
    // A notebook that is not visible yet shows none of them.
    const cells = reply === this._shownReply ? this._openCells : (reply?.cells ?? []);
    return cells.map(({ key }) => key);
  }

  private _decideAll(carryOut: () => Promise<void>): Promise<void> {
    return carryOutDecision(this._allChanges, this._blocks, this._services.trans, carryOut);
  }

  /** The path of the notebook in the Contents API. */
  private get _path(): string {
    return this._blocks.panel.context.localPath;
  }

  /** The unseen changes, if they are shown and known. */
  private get _reply(): UnseenReply | null {
    const { settings, unseen } = this._services;
    return settings.current.marks ? unseen.get(this._path) : null;
  }

  private readonly _read = (): void => {
    const { settings, unseen } = this._services;
    if (settings.current.marks && this._blocks.panel.context.isReady) {
      void unseen.read(this._path);
    }
    this._blocks.requestUpdate();
  };

  /** Add, update and remove changes; return the widgets of removed ones. */
  private _updateChanges(reply: UnseenReply | null, hiddenCells: ReadonlySet<string>): Widget[] {
    const cells = this._blocks.panel.content.widgets.map(cell => ({
      id: getCellId(cell),
      getSource: () => cell.model.sharedModel.getSource()
    }));
    const { context } = this._blocks.panel;
    const hash = context.model.collaborative === true ? undefined : context.contentsModel?.hash;
    // Not all contents managers have hashes.
    const isSameVersion = hash === undefined || hash === reply?.hash;
    const located = this._locator.locate(reply?.cells ?? [], cells, isSameVersion);
    const positions = [...located].filter(([{ cell_id: fileId }, position]) => {
      const id = position?.isOwnCell === true ? cells[position.cell]?.id : fileId;
      return id == null || !hiddenCells.has(id);
    });
    this._openCells = positions.map(([cell]) => cell);
    const groups = groupChanges(positions);
    for (const [key, { position, cells }] of groups) {
      const edits = wording.listEdits(cells, reply ?? { edits: [] });
      const known = this._shownChanges.get(key);
      if (known === undefined) {
        this._shownChanges.set(key, this._makeChange(key, cells, edits, position));
      } else {
        Object.assign(known, { cells, edits, position });
      }
    }
    const removed = [...this._shownChanges.values()].filter(({ key }) => !groups.has(key));
    removed.forEach(({ key }) => this._shownChanges.delete(key));
    removed.forEach(shown => shown.cancelRedraw());
    return removed.flatMap(({ line, block }) => [line, block].filter(widget => widget !== null));
  }

  private _makeChange(
    key: string,
    cells: readonly UnseenCell[],
    edits: readonly EditOrigin[],
    position: UnseenPosition
  ): ShownChange {
    const line = hasNoCell(cells[0]) ? new ChangeLine() : null;
    // A removed cell disposes its widgets: they are made again at their new position.
    line?.disposed.connect(() => {
      if (this._shownChanges.get(key)?.line === line) {
        this._shownChanges.delete(key);
        this._blocks.requestUpdate();
      }
    });
    return new ShownChange(key, cells, edits, position, line);
  }

  private _makeEntry(shown: ShownChange): BlockEntry {
    const { key, position, line, block } = shown;
    return {
      key,
      position,
      widgets: [line, block].filter(widget => widget !== null),
      isAboutCell: line === null && position.isOwnCell,
      changeCount: shown.cells.length,
      commandLabels: [
        this._services.trans.__('Keep This Change'),
        this._services.trans.__('Undo This Change')
      ],
      block,
      open: () => this._open(shown),
      close: () => this._close(shown)
    };
  }

  /** Show or hide the block of a change. */
  private async _toggle(key: string, isFocused: boolean): Promise<void> {
    const shown = this._shownChanges.get(key);
    if (shown === undefined) {
      return;
    }
    if (shown.whenDrawn !== null) {
      this._close(shown);
      this._blocks.update();
    } else if (isFocused) {
      await this._blocks.goToEntry(key);
    } else {
      await this._open(shown);
    }
  }

  private _open(shown: ShownChange): Promise<CellBlock | null> {
    shown.whenDrawn ??= this._makeBlock(shown);
    return shown.whenDrawn;
  }

  private _close(shown: ShownChange): void {
    const { block } = shown;
    shown.block = null;
    shown.whenDrawn = null;
    shown.cancelRedraw();
    if (block !== null) {
      preserveViewport(this._blocks.panel.content, () => block.dispose());
      this._blocks.requestUpdate();
    }
  }

  /** Draw the diffs before the block is shown, so that the block does not grow. */
  private async _makeBlock(shown: ShownChange): Promise<CellBlock | null> {
    const { trans } = this._services;
    const { cells, edits } = shown;
    const [first] = cells;
    shown.drawnTexts = this._describeTexts(shown);
    const actor = wording.formatAuthors(edits, trans);
    const phrase =
      first === undefined || hasNoCell(first)
        ? wording.describeMissing(cells, trans)
        : wording.describeChange(first, trans);
    const diffs = cells.flatMap(cell => this._drawDiff(shown, cell) ?? []);
    const [diff = null] = diffs;
    const block = new CellBlock({
      actor,
      title: trans.__('%1 %2', actor, phrase),
      identity: wording.describeIdentity(edits, trans),
      purpose: wording.formatMessages(edits),
      diff: diffs.length === 1 ? diff : null,
      actions: []
    });
    block.addClass('jp-nbedit-change');
    block.actions = this._listActions(shown, block.name);
    if (diffs.length > 1) {
      block.details.append(...diffs.map(({ node }) => node));
      block.disposed.connect(() => diffs.forEach(each => each.dispose()));
    }
    await Promise.all(diffs.map(diff => diff.whenDrawn()));
    if (this._shownChanges.get(shown.key) !== shown || shown.whenDrawn === null) {
      block.dispose();
      return null;
    }
    shown.block = block;
    block.disposed.connect(() => {
      if (shown.block === block) {
        // Its cell was removed or has another widget.
        shown.block = null;
        shown.whenDrawn = null;
        this._blocks.requestUpdate();
      }
    });
    this._blocks.update();
    return block;
  }

  private _listLineActions({ key, cells }: ShownChange): LineAction[] {
    const { right, trans } = this._services;
    return [
      {
        label: trans.__('Show'),
        run: () => void this._toggle(key, this._blocks.canMoveFocus())
      },
      ...right.offer([
        { label: trans.__('Keep'), run: () => this._decideAtLine(key, 'keep') },
        {
          label: isRestorable(cells) ? trans.__('Restore') : trans.__('Undo'),
          run: () => this._decideAtLine(key, 'undo')
        }
      ])
    ];
  }

  private _listActions(shown: ShownChange, name: string): BlockAction[] {
    const { right, trans } = this._services;
    const decide = (decision: Decision): void => {
      void this._blocks.decide(shown.key, () => this._decide(shown, decision));
    };
    return [
      {
        label: trans.__('Close'),
        name: trans.__('Close: %1', name),
        kind: 'other',
        run: () => {
          const hadFocus = shown.block?.node.contains(document.activeElement) === true;
          this._close(shown);
          if (hadFocus) {
            this._blocks.returnFocus();
          }
        }
      },
      ...right.offer<BlockAction>([
        {
          label: isRestorable(shown.cells) ? trans.__('Restore') : trans.__('Undo'),
          name: isRestorable(shown.cells)
            ? trans.__('Restore: %1', name)
            : trans.__('Undo: %1', name),
          kind: 'reject',
          run: () => decide('undo')
        },
        {
          label: trans.__('Keep'),
          name: trans.__('Keep: %1', name),
          kind: 'accept',
          run: () => decide('keep')
        }
      ])
    ];
  }

  /** Decide on a change at its line, and go on to the next change if the focus is there. */
  private _decideAtLine(key: string, decision: Decision): void {
    const shown = this._shownChanges.get(key);
    if (shown === undefined) {
      return;
    }
    const hasFocus = shown.line?.node.contains(document.activeElement) === true;
    const carryOut = (): Promise<void> => this._decide(shown, decision);
    void (hasFocus ? this._blocks.decide(key, carryOut) : carryOut());
  }

  private _decide(shown: ShownChange, decision: Decision): Promise<void> {
    const { unseen, trans } = this._services;
    const keys = shown.cells.map(({ key }) => key);
    return carryOutDecision(shown, this._blocks, trans, () =>
      decision === 'keep'
        ? unseen.keep(this._path, keys, shown.until)
        : unseen.undo(this._path, keys, shown.until)
    );
  }

  private _describe(shown: ShownChange): void {
    const { line, block, cells, edits, problem, isBusy } = shown;
    const { trans } = this._services;
    if (line !== null) {
      const phrase = wording.describeMissing(cells, trans);
      line.actions = this._listLineActions(shown);
      line.text = trans.__('%1 %2', wording.formatAuthors(edits, trans), phrase);
      line.notice = block === null ? problem : '';
      line.isEnabled = !isBusy;
      line.isOpen = shown.whenDrawn !== null;
    }
    if (block !== null) {
      block.actions = this._listActions(shown, block.name);
      block.notice = problem;
      block.isEnabled = !isBusy;
    }
  }

  private _describeAll(reply: UnseenReply): BarItem {
    const { right, trans } = this._services;
    const openReply = { ...reply, cells: this._openCells };
    const edits = wording.listEdits(this._openCells, reply);
    const truncation = reply.truncated
      ? trans.__('Only the newest edits are shown here; all of them are in the history.')
      : '';
    return {
      summary: wording.describeChanges(openReply, trans),
      shortSummary: wording.describeChanges(openReply, trans),
      purpose: wording.summarizeMessages(edits, trans),
      noticeActions: [],
      notice: this._allChanges.problem === '' ? truncation : this._allChanges.problem,
      actions: right.offer<BlockAction>([
        {
          label: trans.__('Undo all'),
          name: trans.__('Undo all changes'),
          kind: 'reject',
          run: () => void this.undoAll()
        },
        {
          label: trans.__('Keep all'),
          name: trans.__('Keep all changes'),
          kind: 'accept',
          run: () => void this.keepAll()
        }
      ]),
      isEnabled: !this._allChanges.isBusy
    };
  }

  /** Show a mark at each changed cell, and at no other. */
  private _updateMarks(): void {
    const marks = new Map<number, CellMark>();
    const { trans } = this._services;
    for (const { key, cells, edits, line, position, whenDrawn } of this._shownChanges.values()) {
      const [cell] = cells;
      if (line === null && cell !== undefined) {
        marks.set(position.cell, {
          label: wording.describeMark(cell, edits, trans),
          isOpen: whenDrawn !== null,
          onClick: isByKey => void this._toggle(key, isByKey || this._blocks.canMoveFocus())
        });
      }
    }
    if (marks.size > 0 || this._hasMarks) {
      this._hasMarks = marks.size > 0;
      this._blocks.panel.content.widgets.forEach((cell, index) =>
        UNSEEN_MARKS.set(cell, marks.get(index) ?? null)
      );
    }
  }

  /** Draw the diff of an open block again if the user has changed the cell. */
  private _requestRedraw(shown: ShownChange, reply: UnseenReply | null): void {
    const texts = this._describeTexts(shown);
    if (shown.block === null || texts === shown.drawnTexts) {
      shown.until = reply?.until ?? 0;
    } else {
      shown.requestRedraw(texts, () => this._redraw(shown));
    }
  }

  private async _redraw(shown: ShownChange): Promise<void> {
    const { block, cells, line } = shown;
    const [cell] = cells;
    if (block === null || cell === undefined) {
      return;
    }
    if (line !== null) {
      await this._reopen(shown, block.node.contains(document.activeElement));
      return;
    }
    shown.drawnTexts = this._describeTexts(shown);
    const diff = this._drawDiff(shown, cell);
    const { drawnTexts } = shown;
    await diff?.whenDrawn();
    if (shown.block === block && shown.drawnTexts === drawnTexts) {
      preserveViewport(this._blocks.panel.content, () => (block.diff = diff));
    } else {
      diff?.dispose();
    }
  }

  /** Show the deleted cells of a gap again, which have become others. */
  private async _reopen(shown: ShownChange, hadFocus: boolean): Promise<void> {
    this._close(shown);
    await (hadFocus ? this._blocks.goToEntry(shown.key) : this._open(shown));
  }

  private _drawDiff({ position }: ShownChange, cell: UnseenCell): DiffView | null {
    const { content } = this._blocks.panel;
    const source = content.widgets[position.cell]?.model.sharedModel.getSource();
    const { after } = cell;
    // While a cell has unsaved typing, it is compared as it is in the tab.
    const current =
      after === null || !position.isOwnCell || source === undefined
        ? cell
        : { ...cell, after: { ...after, source } };
    return drawCellDiff(current, content.codeMimetype, this._services);
  }

  /** Return what the diffs of a change depend on. */
  private _describeTexts({ cells, position }: ShownChange): string {
    const { content } = this._blocks.panel;
    const source = position.isOwnCell
      ? content.widgets[position.cell]?.model.sharedModel.getSource()
      : '';
    const texts = cells.map(({ before, after }) => [before, after]);
    return JSON.stringify([content.codeMimetype, source, texts]);
  }

  private readonly _locator = new UnseenLocator();
  private readonly _shownChanges = new Map<string, ShownChange>();
  /** The changes on which the user can decide. */
  private _openCells: readonly UnseenCell[] = [];
  /** The reply with the changes that are shown. */
  private _shownReply: UnseenReply | null = null;
  private _hasMarks = false;
  private readonly _allChanges: Decidable = { isBusy: false, problem: '' };
}

type Decision = 'keep' | 'undo';

/** Return the key of each change that is shown, with its cells: deleted cells of a gap are one. */
function groupChanges(
  positions: Iterable<[UnseenCell, UnseenPosition | null]>
): Map<string, { position: UnseenPosition; cells: UnseenCell[] }> {
  const groups = new Map<string, { position: UnseenPosition; cells: UnseenCell[] }>();
  const keysByGap = new Map<string, string>();
  for (const [cell, position] of positions) {
    if (position === null) {
      continue;
    }
    const gap = `${position.cell}/${position.side}`;
    const key = isRestorable([cell])
      ? (keysByGap.get(gap) ?? `change/${cell.key}`)
      : `change/${cell.key}`;
    const group = groups.get(key);
    if (group !== undefined) {
      group.cells.push(cell);
      continue;
    }
    groups.set(key, { position, cells: [cell] });
    if (isRestorable([cell])) {
      keysByGap.set(gap, key);
    }
  }
  return groups;
}

/** Return whether a change is not of a cell that the notebook has. */
function hasNoCell(cell: UnseenCell | undefined): boolean {
  return cell?.after == null || cell.index === null;
}

/** Return whether changes are deleted cells. */
function isRestorable([cell]: readonly UnseenCell[]): boolean {
  return cell?.after === null && cell.index_before !== null;
}
