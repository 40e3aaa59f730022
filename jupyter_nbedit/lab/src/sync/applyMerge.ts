import { hasCarriageReturn } from './lineEnds';
import type { ISharedCell, ISharedCodeCell, ISharedNotebook, SharedCell } from '@jupyter/ydoc';
import type { ICellModel } from '@jupyterlab/cells';
import type { INotebookModel } from '@jupyterlab/notebook';
import { isSameRun } from '../merge/cellMerge';
import {
  isRepeatedId,
  isSameJson,
  type Cell,
  type JsonObject,
  type Notebook
} from '../merge/notebook';
import type { NotebookMerge } from '../merge/notebookMerge';
import { findHeaviestIncreasing, makeRange } from '../merge/sequence';
import { computeHunks } from '../merge/textMerge';
import { readExecutedSource, writeExecutedSource } from './jupyterlabInternals';

/**
 * Apply a merge to an open notebook by the smallest changes of its shared model: a cell that can
 * stay keeps its model, and so its editor, caret, outputs and execution request.
 *
 * A cell with a carriage return in its old or new source is replaced unless it is pinned:
 * CodeMirror counts CR LF as one character, and would apply changes of such a source at a wrong
 * position.
 *
 * @param current The content of the notebook now.
 * @param getWeight Returns the cost of moving the cell with this key rather than others.
 * @param pinnedKeys The keys of the cells that must keep their models.
 */
export function applyMerge(
  model: INotebookModel,
  current: Notebook,
  result: Pick<NotebookMerge, 'cells' | 'localIndexes' | 'metadata' | 'minor' | 'modifiedSinceRun'>,
  getWeight: (key: string) => number,
  pinnedKeys: ReadonlySet<string> = new Set()
): void {
  const canStay = (cell: Cell, currentCell: Cell): boolean => {
    const isPinned = cell.key !== null && pinnedKeys.has(cell.key);
    return (
      currentCell.type === cell.type &&
      (isPinned || !hasCarriageReturn(currentCell.source, cell.source))
    );
  };
  // Where each cell can stay in the tab; null for a cell that is inserted or replaced.
  const origins = result.cells.map((cell, index) => {
    const localIndex = result.localIndexes[index] ?? null;
    const currentCell = localIndex === null ? undefined : current.cells[localIndex];
    return currentCell !== undefined && canStay(cell, currentCell) ? localIndex : null;
  });
  const arrangement = planArrangement(current.cells.length, result.cells, origins, getWeight);
  const executedSources = listExecutedSources(model, current, result, arrangement);
  result.cells.forEach((cell, index) => {
    const localIndex = origins[index] ?? null;
    const currentCell = localIndex === null ? undefined : current.cells[localIndex];
    if (
      localIndex !== null &&
      currentCell !== undefined &&
      currentCell !== cell &&
      isUnmoved(arrangement, index)
    ) {
      writeCell(
        model.sharedModel.getCell(localIndex),
        model.cells.get(localIndex),
        currentCell,
        cell
      );
    }
  });
  arrangeCells(model.sharedModel, result, origins, arrangement);
  for (const [index, executedSource] of executedSources) {
    const { key = null, executionCount = null, source = '' } = result.cells[index] ?? {};
    const hasRun = executionCount !== null || (key !== null && pinnedKeys.has(key));
    writeExecutedSource(model.cells.get(index), hasRun ? executedSource : source);
  }
  writeMetadata(model.sharedModel, current.metadata, result.metadata);
  if (result.minor !== current.minor) {
    (model.sharedModel as { nbformat_minor: number }).nbformat_minor = result.minor;
  }
}

/**
 * Return for each code cell that the merge changes or moves, by its index, the source that was run
 * last; null if it is not known.
 */
function listExecutedSources(
  model: INotebookModel,
  current: Notebook,
  { cells, localIndexes, modifiedSinceRun }: Parameters<typeof applyMerge>[2],
  arrangement: Arrangement
): Map<number, string | null> {
  const sources = new Map<number, string | null>();
  cells.forEach((cell, index) => {
    const localIndex = localIndexes[index] ?? null;
    const currentCell = localIndex === null ? undefined : current.cells[localIndex];
    if (cell.type !== 'code' || (cell === currentCell && isUnmoved(arrangement, index))) {
      return;
    }
    const isRunHere =
      localIndex !== null && currentCell?.type === 'code' && isSameRun(currentCell, cell);
    sources.set(
      index,
      isRunHere
        ? readExecutedSource(model.cells.get(localIndex), currentCell.source)
        : modifiedSinceRun.has(index)
          ? null
          : cell.source
    );
  });
  return sources;
}

function writeCell(shared: ISharedCell, model: ICellModel, current: Cell, next: Cell): void {
  writeRun(shared, model, current, next);
  writeSource(shared, next.source);
  writeMetadata(shared, current.metadata, next.metadata);
  if ('attachments' in shared && !isSameJson(current.attachments, next.attachments)) {
    (shared as { attachments: unknown }).attachments = next.attachments ?? undefined;
  }
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

/** Which cells stay in their order, with their models, while all others are inserted. */
interface Arrangement {
  /** The index of the first cell that may be inserted: the cells before it stay. */
  readonly start: number;
  /** The index after the last cell that may be inserted: the cells from there on stay. */
  readonly stop: number;
  /** The indexes of the cells between that stay. */
  readonly unmoved: ReadonlySet<number>;
}

function isUnmoved({ start, stop, unmoved }: Arrangement, index: number): boolean {
  return index < start || index >= stop || unmoved.has(index);
}

/**
 * Choose which cells stay, so that the moves of the other cells cost little.
 *
 * @param count The number of cells of the tab.
 * @param origins For each merged cell its index in the tab, or null if it cannot stay.
 */
function planArrangement(
  count: number,
  cells: readonly Cell[],
  origins: readonly (number | null)[],
  getWeight: (key: string) => number
): Arrangement {
  const limit = Math.min(count, cells.length);
  let start = 0;
  while (start < limit && origins[start] === start) {
    start++;
  }
  let end = 0;
  while (end < limit - start && origins[cells.length - 1 - end] === count - 1 - end) {
    end++;
  }
  const stop = cells.length - end;
  const staying = makeRange(start, stop).filter(index => origins[index] !== null);
  const increasing = findHeaviestIncreasing(
    staying.map(index => origins[index] ?? -1),
    item => getWeight(cells[staying[item] ?? -1]?.key ?? '')
  );
  return { start, stop, unmoved: new Set(staying.filter((_, item) => increasing.has(item))) };
}

/** Remove, move and insert cells; cells that cannot stay are replaced. */
function arrangeCells(
  shared: ISharedNotebook,
  { cells, localIndexes }: Pick<NotebookMerge, 'cells' | 'localIndexes'>,
  origins: readonly (number | null)[],
  { start, stop, unmoved }: Arrangement
): void {
  const stopBefore = shared.cells.length - (cells.length - stop);
  if (start === stop && start === stopBefore) {
    return;
  }
  const unmovedOrigins = new Set([...unmoved].map(index => origins[index]));
  const usedIds = new Set(cells.flatMap(({ key }) => key ?? []));
  const ids = shared.cells.map(({ id }) => id);
  shared.transact(() => {
    for (let index = stopBefore - 1; index >= start; index--) {
      if (!unmovedOrigins.has(index)) {
        shared.deleteCell(index);
      }
    }
    for (let index = start; index < stop; index++) {
      const cell = cells[index];
      if (cell !== undefined && !unmoved.has(index)) {
        const localIndex = localIndexes[index] ?? null;
        const id = localIndex === null ? getFreeId(cell, usedIds) : ids[localIndex];
        shared.insertCell(index, toSharedCell(cell, id));
      }
    }
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
