import type { TranslationBundle } from '@jupyterlab/translation';
import type { Cell } from '@jupyterlab/cells';
import { CellBlock, type BlockAction } from '../blocks/cellBlock';
import { drawCellDiff } from '../blocks/cellDiffView';
import { CellMarks } from '../blocks/cellMark';
import { NO_ACTIONS, type BarItem } from '../blocks/notebookBar';
import type {
  BlockEntry,
  BlockProvider,
  NotebookBlocks,
  ProviderState
} from '../blocks/notebookBlocks';
import { RedrawnBlock } from '../blocks/redrawnBlock';
import type { Cell as MergedCell } from '../merge/notebook';
import type { CellDiff, CellState } from '../server/models';
import { getCellId } from '../ui/cellIds';
import type { DiffServices } from '../ui/codeMirrorDiff';
import type { DiffView } from '../ui/diffView';
import { makeElement } from '../ui/elements';
import type { ConflictChoice, OpenConflict, OpenConflicts } from './openConflicts';
import { describeConflict, describeConflictCount, describeSides, formatOpponents } from './wording';

const CONFLICT_CLASS = 'jp-nbedit-conflict';
/** The marks of all notebooks. */
const CONFLICT_MARKS = new CellMarks('jp-nbedit-conflict-mark');

class ShownConflict extends RedrawnBlock {
  constructor(
    readonly conflict: OpenConflict,
    public cellIndex: number
  ) {
    super();
  }

  whenDrawn = Promise.resolve();
}

/** Return the key of a conflict among all that waits for the user. */
export function getConflictEntryKey(cellKey: string): string {
  return `conflict/${cellKey}`;
}

/** The open conflicts of one notebook in one of its views: a block and a mark at each cell. */
export class ConflictBlocks implements BlockProvider {
  readonly kind = 'conflict';

  constructor(
    private readonly _blocks: NotebookBlocks,
    private readonly _conflicts: OpenConflicts,
    private readonly _diffs: DiffServices
  ) {
    const { panel, requestUpdate } = _blocks;
    _conflicts.changed.connect(requestUpdate);
    panel.disposed.connect(() => {
      this._shownConflicts.forEach(shown => shown.cancelRedraw());
    });
    _blocks.addProvider(this);
  }

  get isEmpty(): boolean {
    return this._shownConflicts.size === 0 && this._conflicts.all.length === 0;
  }

  update(): ProviderState {
    const cells = this._blocks.panel.content.widgets;
    const indexes = new Map(cells.map((cell, index) => [getCellId(cell), index] as const));
    const removed = [...this._shownConflicts.values()].filter(
      ({ conflict }) => !this._conflicts.has(conflict) || !indexes.has(conflict.key)
    );
    removed.forEach(shown => {
      shown.cancelRedraw();
      this._shownConflicts.delete(shown.conflict.key);
    });
    for (const conflict of this._conflicts.all) {
      const cellIndex = indexes.get(conflict.key);
      if (cellIndex !== undefined) {
        const shown = this._shownConflicts.get(conflict.key) ?? this._add(conflict, cellIndex);
        shown.cellIndex = cellIndex;
        shown.requestRedraw(this._formatTexts(shown), () => this._redraw(shown));
      }
    }
    this._updateMarks(cells);
    const shownConflicts = [...this._shownConflicts.values()];
    return {
      entries: shownConflicts.map(shown => makeEntry(shown, this._diffs.trans)),
      removedWidgets: removed.flatMap(({ block }) => block ?? []),
      hiddenCells: shownConflicts.flatMap(({ conflict: { key, conflict } }) => [
        key,
        ...conflict.absorbed.flatMap(cell => cell.key ?? [])
      ]),
      barItem: shownConflicts.length === 0 ? null : this._describeAll(shownConflicts)
    };
  }

  private _add(conflict: OpenConflict, cellIndex: number): ShownConflict {
    const shown = new ShownConflict(conflict, cellIndex);
    this._shownConflicts.set(conflict.key, shown);
    shown.whenDrawn = this._makeBlock(shown);
    return shown;
  }

  /** Draw the diff before the block is shown, so that the block does not grow. */
  private async _makeBlock(shown: ShownConflict): Promise<void> {
    const { trans } = this._diffs;
    const { conflict } = shown;
    const { kind, mine, theirs } = conflict.conflict;
    const diff = await this._draw(shown);
    if (this._shownConflicts.get(conflict.key) !== shown || this._blocks.panel.isDisposed) {
      diff?.dispose();
      return;
    }
    const block = new CellBlock({
      actor: formatOpponents(conflict.clients, trans),
      title: describeConflict(conflict.clients, kind, trans),
      identity: '',
      purpose: '',
      diff,
      actions: this._listActions(conflict)
    });
    if (mine !== null && theirs !== null) {
      block.details.append(makeElement('div', '', describeSides(conflict.clients, trans)));
    }
    shown.block = block;
    // A removed cell disposes its block: the block is made again at its new position.
    block.disposed.connect(() => {
      if (this._shownConflicts.get(conflict.key) === shown) {
        this._shownConflicts.delete(conflict.key);
        this._blocks.requestUpdate();
      }
    });
    this._blocks.requestUpdate();
  }

  private _listActions(conflict: OpenConflict): BlockAction[] {
    const { trans } = this._diffs;
    const { mine, theirs } = conflict.conflict;
    const choose = (choice: ConflictChoice) => (): void =>
      void this._blocks.decide(getConflictEntryKey(conflict.key), () =>
        this._conflicts.decide([conflict], choice)
      );
    return [
      {
        label: trans.__('Mine'),
        name: mine === null ? trans.__('Mine: delete this cell') : trans.__('Mine: keep my text'),
        kind: 'reject',
        run: choose('mine')
      },
      {
        label: trans.__('Theirs'),
        name:
          theirs === null
            ? trans.__('Theirs: delete this cell')
            : trans.__('Theirs: take the other text'),
        kind: 'accept',
        run: choose('theirs')
      },
      ...(mine === null || theirs === null
        ? []
        : [
            {
              label: trans.__('Both'),
              name: trans.__('Both: my text, then the other text'),
              kind: 'other' as const,
              run: choose('both')
            }
          ])
    ];
  }

  /** Draw the text of the tab as it is now beside the other text. */
  private async _draw(shown: ShownConflict): Promise<DiffView | null> {
    const { key, conflict } = shown.conflict;
    const [mine, theirs] = this._getSides(shown);
    shown.drawnTexts = this._formatTexts(shown);
    const cell: CellDiff = {
      part: 0,
      cell_id: key,
      index_before: shown.cellIndex,
      index: shown.cellIndex,
      moved: false,
      outputs_cleared: false,
      before: conflict.mine === null ? null : mine,
      after: theirs
    };
    const diff = drawCellDiff(cell, this._blocks.panel.content.codeMimetype, this._diffs);
    await diff?.whenDrawn();
    return diff;
  }

  private async _redraw(shown: ShownConflict): Promise<void> {
    const diff = await this._draw(shown);
    if (this._shownConflicts.get(shown.conflict.key) === shown && shown.block !== null) {
      shown.block.diff = diff;
    } else {
      diff?.dispose();
    }
  }

  private _formatTexts(shown: ShownConflict): string {
    return JSON.stringify([this._getSides(shown), this._blocks.panel.content.codeMimetype]);
  }

  private _getSides({ cellIndex, conflict }: ShownConflict): [CellState | null, CellState | null] {
    const model = this._blocks.panel.content.widgets[cellIndex]?.model;
    const mine =
      model === undefined
        ? null
        : { cell_type: model.type, source: model.sharedModel.getSource(), metadata: {} };
    return [mine, getState(conflict.conflict.theirs)];
  }

  private _updateMarks(cells: readonly Cell[]): void {
    const { trans } = this._diffs;
    for (const cell of cells) {
      const key = getCellId(cell);
      const shown = this._shownConflicts.get(key);
      cell.toggleClass(CONFLICT_CLASS, shown !== undefined);
      if (shown === undefined) {
        CONFLICT_MARKS.set(cell, null);
      } else {
        const { clients, conflict } = shown.conflict;
        const sentence = describeConflict(clients, conflict.kind, trans);
        CONFLICT_MARKS.set(cell, {
          label: trans.__('%1. Show both', sentence),
          onClick: () => void this._blocks.goToEntry(getConflictEntryKey(key))
        });
      }
    }
  }

  private _describeAll(shownConflicts: readonly ShownConflict[]): BarItem {
    const { trans } = this._diffs;
    const conflicts = shownConflicts.map(({ conflict }) => conflict);
    const clients = [...new Set(conflicts.flatMap(conflict => conflict.clients))];
    const { length: count } = conflicts;
    return {
      ...NO_ACTIONS,
      summary: describeConflictCount(clients, null, count, trans),
      shortSummary: trans._n('%1 conflict', '%1 conflicts', count),
      isNotified: true,
      actions: [
        {
          label: trans.__('All mine'),
          name: trans.__('Keep my text in all conflicts'),
          kind: 'reject',
          run: () => void this._conflicts.decide(conflicts, 'mine')
        },
        {
          label: trans.__('All theirs'),
          name: trans.__('Take the other text in all conflicts'),
          kind: 'accept',
          run: () => void this._conflicts.decide(conflicts, 'theirs')
        }
      ]
    };
  }

  private readonly _shownConflicts = new Map<string, ShownConflict>();
}

function makeEntry(shown: ShownConflict, trans: TranslationBundle): BlockEntry {
  const { block, cellIndex, conflict } = shown;
  return {
    key: getConflictEntryKey(conflict.key),
    position: { cell: cellIndex, side: 'below' },
    widgets: block === null ? [] : [block],
    isAboutCell: true,
    isLocal: true,
    commandLabels: [trans.__('Take Theirs'), trans.__('Keep Mine')],
    block,
    open: async () => {
      await shown.whenDrawn;
      return shown.block;
    }
  };
}

function getState(cell: MergedCell | null): CellState | null {
  return cell === null ? null : { cell_type: cell.type, source: cell.source, metadata: {} };
}
