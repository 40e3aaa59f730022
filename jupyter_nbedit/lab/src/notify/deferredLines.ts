import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal, type ISignal } from '@lumino/signaling';
import { ChangeLine } from '../blocks/changeLine';
import { NO_ACTIONS, type BarItem } from '../blocks/notebookBar';
import type { BlockProvider, NotebookBlocks, ProviderState } from '../blocks/notebookBlocks';
import type { DeferredKind } from '../merge/notebookMerge';
import { getCellId } from '../ui/cellIds';
import { carryOutDecision, type Decidable } from './decision';
import { describeDeferred, describeDeferredCount, formatClients } from './wording';

/** A change of a running cell, which waits until the cell has finished. */
export interface DeferredChange {
  /** The key of the cell. */
  readonly key: string;
  readonly kind: DeferredKind;
  /** The clients that made it; empty if they are not known. */
  readonly clients: readonly string[];
}

/** Undoes changes that wait. */
export interface DeferredChangeUndo {
  /** Return whether the change of a cell can be undone. */
  canUndo(key: string): boolean;
  /** Undo the change of a cell; rejects if the server refuses it. */
  undo(key: string): Promise<void>;
}

/** The changes of one notebook that wait for running cells. */
export class DeferredChanges {
  /** Emitted when the changes, or whether they can be undone, may have changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get all(): readonly DeferredChange[] {
    return this._all;
  }

  set(changes: readonly DeferredChange[]): void {
    if (JSON.stringify(changes) !== JSON.stringify(this._all)) {
      this._all = changes;
      this._changed.emit();
    }
  }

  /** Emit `changed` if there is a change: perhaps this change can be undone now. */
  refresh(): void {
    if (this._all.length > 0) {
      this._changed.emit();
    }
  }

  /** Null if nothing can be undone. */
  undo: DeferredChangeUndo | null = null;

  private readonly _changed = new Signal<this, void>(this);
  private _all: readonly DeferredChange[] = [];
}

interface ShownLine extends Decidable {
  readonly line: ChangeLine;
}

/** Says above running cells, in one view of a notebook, what happens when they have finished. */
export class DeferredLines implements BlockProvider {
  readonly kind = 'deferred';

  constructor(
    private readonly _blocks: NotebookBlocks,
    private readonly _deferred: DeferredChanges,
    private readonly _trans: TranslationBundle
  ) {
    _deferred.changed.connect(_blocks.requestUpdate);
    _blocks.addProvider(this);
  }

  get isEmpty(): boolean {
    return this._lines.size === 0 && this._deferred.all.length === 0;
  }

  update(): ProviderState {
    const cells = this._blocks.panel.content.widgets;
    const indexes = new Map(cells.map((cell, index) => [getCellId(cell), index] as const));
    const changes = this._deferred.all.filter(({ key }) => indexes.has(key));
    const keys = new Set(changes.map(({ key }) => key));
    const removed = [...this._lines].filter(([key]) => !keys.has(key));
    removed.forEach(([key]) => this._lines.delete(key));
    return {
      entries: changes.map(change => {
        const { key } = change;
        const shown = this._lines.get(key) ?? this._addLine(key);
        this._describe(shown, change);
        return {
          key: `deferred/${key}`,
          position: { cell: indexes.get(key) ?? 0, side: 'above' },
          widgets: [shown.line],
          isAboutCell: false,
          block: null,
          open: () => Promise.resolve(null)
        };
      }),
      removedWidgets: removed.map(([, { line }]) => line),
      hiddenCells: [...keys],
      barItem: changes.length === 0 ? null : this._describeAll(changes)
    };
  }

  private _addLine(key: string): ShownLine {
    const shown = { line: new ChangeLine(), problem: '', isBusy: false };
    this._lines.set(key, shown);
    // A removed cell disposes its line: it is made again at its new position.
    shown.line.disposed.connect(() => {
      if (this._lines.get(key) === shown) {
        this._lines.delete(key);
        this._blocks.requestUpdate();
      }
    });
    return shown;
  }

  private _describe({ line, problem, isBusy }: ShownLine, change: DeferredChange): void {
    const { key, kind } = change;
    const canUndo = this._deferred.undo?.canUndo(key) === true;
    line.actions = canUndo
      ? [{ label: this._trans.__('Undo'), run: () => void this._undo(key) }]
      : [];
    line.text = describeDeferred(this._formatClients([change]), kind, this._trans);
    line.notice = problem;
    line.isEnabled = !isBusy;
  }

  private async _undo(key: string): Promise<void> {
    const shown = this._lines.get(key);
    if (shown !== undefined) {
      await carryOutDecision(shown, this._blocks, this._trans, async () =>
        this._deferred.undo?.undo(key)
      );
    }
  }

  private _describeAll(changes: readonly DeferredChange[]): BarItem {
    const summary = describeDeferredCount(
      this._formatClients(changes),
      changes.map(({ kind }) => kind),
      this._trans
    );
    return { ...NO_ACTIONS, summary, shortSummary: summary };
  }

  private _formatClients(changes: readonly DeferredChange[]): string {
    const clients = [...new Set(changes.flatMap(change => change.clients))];
    return formatClients(clients, this._trans);
  }

  /** By the keys of the cells. */
  private readonly _lines = new Map<string, ShownLine>();
}
