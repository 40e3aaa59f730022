import type { ISharedCell, ISharedCodeCell, ISharedNotebook, SharedCell } from '@jupyter/ydoc';
import type { ICellModel } from '@jupyterlab/cells';
import type { INotebookModel } from '@jupyterlab/notebook';
import { isSameRun } from '../merge/cellMerge';
import {
  buildKeys,
  isRepeatedId,
  isSameJson,
  readNotebook,
  setKeys,
  type Cell,
  type JsonObject,
  type Notebook
} from '../merge/notebook';
import type { MergedCell, NotebookMerge } from '../merge/notebookMerge';
import { findHeaviestIncreasing } from '../merge/sequence';
import { computeHunks } from '../merge/textMerge';

/** Return the content of an open notebook as a value. */
export function readTabNotebook(model: INotebookModel): Notebook {
  const shared = model.sharedModel;
  return setKeys(readNotebook(shared.toJSON()), getTabKeys(shared));
}

/**
 * Apply a merge to an open notebook by the smallest changes of its shared model: a cell that can
 * stay keeps its model, and so its editor, caret, outputs and execution request.
 *
 * A cell with a carriage return in its old or new source is replaced unless it is pinned:
 * CodeMirror counts CR LF as one character, and would apply changes of such a source at a wrong
 * position.
 *
 * @param getWeight Returns the cost of moving the cell with this key rather than others.
 * @param pinnedKeys The keys of the cells that must keep their models.
 * @returns The keys of the merged cells.
 */
export function applyMerge(
  model: INotebookModel,
  result: Pick<NotebookMerge, 'cells' | 'metadata' | 'minor'>,
  getWeight: (key: string) => number,
  pinnedKeys: ReadonlySet<string> = new Set()
): string[] {
  const current = readTabNotebook(model);
  const canStay = (cell: MergedCell): boolean => {
    const currentCell = cell.localIndex === null ? undefined : current.cells[cell.localIndex];
    const isPinned = cell.key !== null && pinnedKeys.has(cell.key);
    return (
      currentCell?.type === cell.type &&
      (isPinned || !hasCarriageReturn(currentCell.source, cell.source))
    );
  };
  for (const cell of result.cells) {
    const currentCell = cell.localIndex === null ? undefined : current.cells[cell.localIndex];
    if (currentCell !== undefined && cell.localIndex !== null && canStay(cell)) {
      const shared = model.sharedModel.getCell(cell.localIndex);
      writeRun(shared, model.cells.get(cell.localIndex), currentCell, cell);
      writeSource(shared, cell.source);
      writeMetadata(shared, currentCell.metadata, cell.metadata);
      if ('attachments' in shared && !isSameJson(currentCell.attachments, cell.attachments)) {
        (shared as { attachments: unknown }).attachments = cell.attachments ?? undefined;
      }
    }
  }
  arrangeCells(model.sharedModel, current, result.cells, canStay, getWeight);
  writeMetadata(model.sharedModel, current.metadata, result.metadata);
  if (result.minor !== current.minor) {
    (model.sharedModel as { nbformat_minor: number }).nbformat_minor = result.minor;
  }
  return getTabKeys(model.sharedModel);
}

/** Return the keys of the cells of an open notebook. */
export function getTabKeys(shared: ISharedNotebook): string[] {
  return buildKeys(shared.cells.map(cell => cell.id));
}

function writeSource(cell: ISharedCell, source: string): void {
  const sourceHunks = computeHunks(cell.source, source);
  if (sourceHunks.length === 0) {
    return;
  }
  // A separate undo step of the editor, apart from typing before and after.
  const { undoManager } = cell as { undoManager?: { stopCapturing(): void } | null };
  undoManager?.stopCapturing();
  cell.transact(() => {
    // From the end, so that the offsets of earlier hunks stay valid.
    for (const { start, end, text } of sourceHunks.reverse()) {
      cell.updateSource(start, end, text);
    }
  });
  undoManager?.stopCapturing();
}

function writeRun(shared: ISharedCell, cell: ICellModel, current: Cell, next: Cell): void {
  if (shared.cell_type !== 'code' || isSameRun(current, next)) {
    return;
  }
  const code = shared as ISharedCodeCell;
  if (!next.trusted) {
    // The model leaves `trusted` in the metadata, which a save would turn into a signature.
    code.deleteMetadata('trusted');
  }
  cell.trusted = next.trusted;
  code.setOutputs(next.outputs as unknown as Parameters<ISharedCodeCell['setOutputs']>[0]);
  code.execution_count = next.executionCount;
}

function writeMetadata(
  target: Pick<ISharedCell, 'deleteMetadata' | 'setMetadata'>,
  current: JsonObject,
  next: JsonObject
): void {
  for (const key of Object.keys(current)) {
    if (!Object.hasOwn(next, key)) {
      target.deleteMetadata(key);
    }
  }
  for (const [key, value] of Object.entries(next)) {
    if (!Object.hasOwn(current, key) || !isSameJson(current[key], value)) {
      target.setMetadata(key, value as Parameters<typeof target.setMetadata>[1]);
    }
  }
}

/** Return whether a text changes and one of its versions has a carriage return. */
function hasCarriageReturn(from: string, to: string): boolean {
  return from !== to && (from.includes('\r') || to.includes('\r'));
}

/** Remove, move and insert cells; those that cannot stay are replaced. */
function arrangeCells(
  shared: ISharedNotebook,
  current: Notebook,
  cells: readonly MergedCell[],
  canStay: (cell: MergedCell) => boolean,
  getWeight: (key: string) => number
): void {
  const reusedCells = cells.filter(canStay);
  const increasing = findHeaviestIncreasing(
    reusedCells.map(cell => cell.localIndex ?? -1),
    index => getWeight(reusedCells[index]?.key ?? '')
  );
  const unmovedCells = new Set(reusedCells.filter((_, index) => increasing.has(index)));
  const unmovedIndexes = new Set([...unmovedCells].map(cell => cell.localIndex));
  const usedIds = new Set(cells.flatMap(cell => cell.key ?? []));
  if (unmovedCells.size === current.cells.length && unmovedCells.size === cells.length) {
    return;
  }
  const ids = shared.cells.map(cell => cell.id);
  shared.transact(() => {
    for (let index = current.cells.length - 1; index >= 0; index--) {
      if (!unmovedIndexes.has(index)) {
        shared.deleteCell(index);
      }
    }
    cells.forEach((cell, index) => {
      if (!unmovedCells.has(cell)) {
        const id = cell.localIndex === null ? getFreeId(cell, usedIds) : ids[cell.localIndex];
        shared.insertCell(index, toSharedCell(cell, id));
      }
    });
  });
}

/** Return the id that a new cell has in the file, unless another cell has it. */
function getFreeId({ id }: Cell, usedIds: ReadonlySet<string>): string | undefined {
  return id === null || isRepeatedId(id) || usedIds.has(id) ? undefined : id;
}

function toSharedCell(cell: Cell, id: string | undefined): SharedCell.Cell {
  const isCode = cell.type === 'code';
  return {
    ...(id === undefined ? {} : { id }),
    cell_type: cell.type,
    source: cell.source,
    metadata: isCode && cell.trusted ? { ...cell.metadata, trusted: true } : cell.metadata,
    ...(isCode ? { outputs: cell.outputs, execution_count: cell.executionCount } : {}),
    ...(cell.attachments === null ? {} : { attachments: cell.attachments })
  } as unknown as SharedCell.Cell;
}
