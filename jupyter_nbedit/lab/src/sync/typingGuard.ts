import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Notebook } from '../merge/notebook';
import { mergeTouchingChanges } from '../merge/textMerge';
import type { CellSources } from '../server/models';
import type { ReversalVerb, TypingGuard, UndoDecision } from '../server/unsavedTyping';

/** A cell whose typed text and an undo change the same lines. */
interface OverlappingCell {
  /** The index in the tab. */
  readonly index: number;
  readonly source: CellSources;
  /** The source on disk. */
  readonly saved: string;
  readonly typed: string;
  readonly setSource: (from: string, to: string) => void;
}

/** Keeps an undo from removing what the user of a tab has typed, unless he wants that. */
export class TabTypingGuard implements TypingGuard {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    private readonly _services: {
      /** Return the version that the tab and its file have in common; null if it is unknown. */
      readonly getBase: () => Notebook | null;
      readonly trans: TranslationBundle;
    }
  ) {}

  get path(): string {
    return this._context.localPath;
  }

  get hasUnsavedTyping(): boolean {
    return this._context.model.dirty && this._services.getBase() !== null;
  }

  async confirmUndo(
    verb: ReversalVerb,
    sources: readonly CellSources[],
    canKeep: boolean
  ): Promise<UndoDecision> {
    const cells = this._listOverlaps(sources);
    const keptCells: CellSources[] = [];
    if (cells.length > 0) {
      const { accept, className } = await this._ask(verb, cells, canKeep);
      if (!accept) {
        return { isConfirmed: false, keptCells, restoreTyping: () => undefined };
      }
      if (className === KEEP_CLASS) {
        keptCells.push(...cells.map(({ source }) => source));
      } else {
        cells.forEach(({ typed, saved, setSource }) => setSource(typed, saved));
      }
    }
    return {
      isConfirmed: true,
      keptCells,
      restoreTyping: () => {
        if (keptCells.length === 0) {
          cells.forEach(({ typed, saved, setSource }) => setSource(saved, typed));
        }
      }
    };
  }

  private _listOverlaps(sources: readonly CellSources[]): OverlappingCell[] {
    const base = this._services.getBase();
    const { sharedModel } = this._context.model;
    const indexes = new Map(sharedModel.cells.map(({ id }, index) => [id, index]));
    return sources.flatMap((source): OverlappingCell[] => {
      const { index_before: indexOnDisk, before, after } = source;
      const saved = indexOnDisk === null ? undefined : base?.cells[indexOnDisk];
      const index = indexes.get(saved?.key ?? '') ?? -1;
      const cell = sharedModel.cells[index];
      if (cell === undefined || before === null) {
        return [];
      }
      const typed = cell.getSource();
      // The server merges or refuses another version than the version of the tab.
      const isTyped = saved?.source === before && typed !== before;
      if (!isTyped || (after !== null && mergeTouchingChanges(before, typed, after) !== null)) {
        return [];
      }
      const setSource = (from: string, to: string): void => {
        if (cell.getSource() === from) {
          cell.setSource(to);
        }
      };
      return [{ index, source, saved: before, typed, setSource }];
    });
  }

  private async _ask(
    verb: ReversalVerb,
    cells: readonly OverlappingCell[],
    canKeep: boolean
  ): Promise<Dialog.IButton> {
    const { trans } = this._services;
    const [title, label] = {
      undo: [trans.__('Undo also removes what you typed'), trans.__('Undo')],
      redo: [trans.__('Redo also removes what you typed'), trans.__('Redo')],
      restore: [trans.__('Restore also removes what you typed'), trans.__('Restore')]
    }[verb] as [string, string];
    const names = cells.map(({ index }) => index + 1).join(', ');
    const body =
      cells.length === 1
        ? trans.__('In cell %1 you have typed in the lines that it changes.', names)
        : trans.__('In the cells %1 you have typed in the lines that it changes.', names);
    const keepButton = Dialog.okButton({ label: trans.__('Keep Both'), className: KEEP_CLASS });
    const { button } = await showDialog({
      title,
      body,
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        ...(canKeep ? [keepButton] : []),
        Dialog.warnButton({ label })
      ],
      defaultButton: 0
    });
    return button;
  }
}

const KEEP_CLASS = 'jp-nbedit-keep-both';
