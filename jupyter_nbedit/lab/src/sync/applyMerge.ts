import type { ISharedCell, ISharedCodeCell, ISharedNotebook, SharedCell } from '@jupyter/ydoc';
import type { ICellModel } from '@jupyterlab/cells';
import type { INotebookModel } from '@jupyterlab/notebook';
import { sameRun } from '../merge/cellMerge';
import {
  isRepeated,
  keysOf,
  readNotebook,
  sameJson,
  withKeys,
  type Cell,
  type JsonObject,
  type Notebook
} from '../merge/notebook';
import type { Merge, MergedCell } from '../merge/notebookMerge';
import { heaviestIncreasing } from '../merge/sequence';
import { hunks } from '../merge/textMerge';

/** What an open notebook shows, as a value. */
export function readTab(model: INotebookModel): Notebook {
  const shared = model.sharedModel;
  return withKeys(readNotebook(shared.toJSON()), tabKeys(shared));
}

/**
 * Make an open notebook show what a merge came to, by the smallest changes to its shared model:
 * every cell that can stay keeps its model, and so its editor, caret, outputs and running kernel
 * request.
 *
 * A cell with a carriage return in its former or its new source is replaced, unless it is pinned:
 * CodeMirror counts CR LF as one character, so that what is changed in such a source lands in a wrong
 * place of its editor.
 *
 * @param weight How much it takes to move the cell with this key rather than others around it.
 * @param pinned The keys of the cells that must keep their models.
 * @returns The keys of the merged cells.
 */
export function applyMerge(
  model: INotebookModel,
  merged: Pick<Merge, 'cells' | 'metadata' | 'minor'>,
  weight: (key: string) => number,
  pinned: ReadonlySet<string> = new Set()
): string[] {
  const before = readTab(model);
  const canStay = (cell: MergedCell): boolean => {
    const now = cell.local === null ? undefined : before.cells[cell.local];
    const isPinned = cell.key !== null && pinned.has(cell.key);
    return now?.type === cell.type && (isPinned || !hasCarriageReturn(now.source, cell.source));
  };
  for (const cell of merged.cells) {
    const now = cell.local === null ? undefined : before.cells[cell.local];
    if (now !== undefined && cell.local !== null && canStay(cell)) {
      const shared = model.sharedModel.getCell(cell.local);
      writeRun(shared, model.cells.get(cell.local), now, cell);
      writeSource(shared, cell.source);
      writeMetadata(shared, now.metadata, cell.metadata);
      if ('attachments' in shared && !sameJson(now.attachments, cell.attachments)) {
        (shared as { attachments: unknown }).attachments = cell.attachments ?? undefined;
      }
    }
  }
  arrange(model.sharedModel, before, merged.cells, canStay, weight);
  writeMetadata(model.sharedModel, before.metadata, merged.metadata);
  if (merged.minor !== before.minor) {
    (model.sharedModel as { nbformat_minor: number }).nbformat_minor = merged.minor;
  }
  return tabKeys(model.sharedModel);
}

/** The keys of the cells of an open notebook. */
export function tabKeys(shared: ISharedNotebook): string[] {
  return keysOf(shared.cells.map(cell => cell.id));
}

function writeSource(cell: ISharedCell, source: string): void {
  const changes = hunks(cell.source, source);
  if (changes.length === 0) {
    return;
  }
  // A step of its own for the editor's undo, apart from the typing before and after it.
  const { undoManager } = cell as { undoManager?: { stopCapturing(): void } | null };
  undoManager?.stopCapturing();
  cell.transact(() => {
    // From the end, so that the offsets of the hunks before stay right.
    for (const { start, end, text } of changes.reverse()) {
      cell.updateSource(start, end, text);
    }
  });
  undoManager?.stopCapturing();
}

function writeRun(shared: ISharedCell, cell: ICellModel, now: Cell, next: Cell): void {
  if (shared.cell_type !== 'code' || sameRun(now, next)) {
    return;
  }
  const code = shared as ISharedCodeCell;
  if (!next.trusted) {
    // The model leaves the mark in the metadata, from where a save would make it a signature.
    code.deleteMetadata('trusted');
  }
  cell.trusted = next.trusted;
  code.setOutputs(next.outputs as unknown as Parameters<ISharedCodeCell['setOutputs']>[0]);
  code.execution_count = next.executionCount;
}

function writeMetadata(
  target: Pick<ISharedCell, 'deleteMetadata' | 'setMetadata'>,
  now: JsonObject,
  next: JsonObject
): void {
  for (const key of Object.keys(now)) {
    if (!Object.hasOwn(next, key)) {
      target.deleteMetadata(key);
    }
  }
  for (const [key, value] of Object.entries(next)) {
    if (!Object.hasOwn(now, key) || !sameJson(now[key], value)) {
      target.setMetadata(key, value as Parameters<typeof target.setMetadata>[1]);
    }
  }
}

/** Whether one text is to become another, and one of them has a carriage return. */
function hasCarriageReturn(from: string, to: string): boolean {
  return from !== to && (from.includes('\r') || to.includes('\r'));
}

/** Remove, move and insert cells; those that cannot stay are replaced. */
function arrange(
  shared: ISharedNotebook,
  before: Notebook,
  cells: readonly MergedCell[],
  canStay: (cell: MergedCell) => boolean,
  weight: (key: string) => number
): void {
  const kept = cells.filter(canStay);
  const still = heaviestIncreasing(
    kept.map(cell => cell.local ?? -1),
    index => weight(kept[index]?.key ?? '')
  );
  const standing = new Set(kept.filter((_, index) => still.has(index)));
  const standingAt = new Set([...standing].map(cell => cell.local));
  const used = new Set(cells.flatMap(cell => cell.key ?? []));
  if (standing.size === before.cells.length && standing.size === cells.length) {
    return;
  }
  const ids = shared.cells.map(cell => cell.id);
  shared.transact(() => {
    for (let index = before.cells.length - 1; index >= 0; index--) {
      if (!standingAt.has(index)) {
        shared.deleteCell(index);
      }
    }
    cells.forEach((cell, index) => {
      if (!standing.has(cell)) {
        const id = cell.local === null ? freeId(cell, used) : ids[cell.local];
        shared.insertCell(index, asShared(cell, id));
      }
    });
  });
}

/** The id a new cell has in the file, unless a cell here has it. */
function freeId({ id }: Cell, used: ReadonlySet<string>): string | undefined {
  return id === null || isRepeated(id) || used.has(id) ? undefined : id;
}

function asShared(cell: Cell, id: string | undefined): SharedCell.Cell {
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
