import {
  hasNewContent,
  listConflicts,
  mergeAttachments,
  mergeSource,
  type TextMerge
} from './members';
import { isSameJson, isSameList, type Cell, type Json, type JsonObject } from './notebook';

/**
 * How both sides changed a cell. A cell that was changed on disk and deleted in the tab is
 * restored, because a deletion is easier to repeat than a change.
 */
export type ConflictKind = 'changed' | 'deleted-on-disk' | 'deleted-here';

/** The result of merging the versions of one cell. */
export interface CellMerge {
  /** The merged cell, or null if it is deleted. */
  readonly cell: Cell | null;
  readonly conflict: ConflictKind | null;
  /** Whether a change on disk was left out because the cell is pinned. */
  readonly isDeferred: boolean;
  /** Whether the cell has the run of the disk, but not the source of the disk. */
  readonly isModifiedSinceRun: boolean;
}

/**
 * Merge the versions of one cell; null stands for a version without it.
 *
 * @param isPinned Whether the cell is running in the tab: it is not replaced or removed, and keeps
 *   its outputs.
 * @param mergeTexts Merges two changes of a source; by default by line.
 */
export function mergeCell(
  base: Cell | null,
  local: Cell | null,
  disk: Cell | null,
  isPinned: boolean,
  mergeTexts?: TextMerge
): CellMerge {
  if (local === null) {
    return disk === null ? buildResult(null) : mergeDeletedLocally(base, disk);
  }
  if (disk === null) {
    return base === null ? buildResult(local) : mergeDeletedOnDisk(base, local, isPinned);
  }
  // Usual for nearly all cells, and quick if the versions share their cells.
  return disk === base
    ? buildResult(local)
    : mergeChangedCell(base, local, disk, isPinned, mergeTexts);
}

/** Merge objects key by key; a key that both sides changed keeps its local value. */
export function mergeMetadata(base: JsonObject, local: JsonObject, disk: JsonObject): JsonObject {
  const keys = new Set([...Object.keys(local), ...Object.keys(disk)]);
  const merged: [string, Json][] = [];
  for (const key of keys) {
    const value = pickChanged(getOwn(base, key), getOwn(local, key), getOwn(disk, key));
    if (value !== undefined) {
      merged.push([key, value]);
    }
  }
  return Object.fromEntries(merged);
}

/** Return whether two cells have the same content, outputs included. */
export function isSameCell(a: Cell, b: Cell): boolean {
  return a === b || (isSameInput(a, b) && isSameRun(a, b));
}

/** Return whether two cells have the same outputs and execution count. */
export function isSameRun(a: Cell, b: Cell): boolean {
  return a.executionCount === b.executionCount && isSameList(a.outputs, b.outputs);
}

function isSameInput(a: Cell, b: Cell): boolean {
  return (
    a.type === b.type &&
    a.source === b.source &&
    isSameJson(a.metadata, b.metadata) &&
    isSameJson(a.attachments, b.attachments)
  );
}

function mergeDeletedLocally(base: Cell | null, disk: Cell): CellMerge {
  if (base === null) {
    return buildResult(trustIfEmpty(disk));
  }
  return listConflicts(base, null, disk).length === 0
    ? buildResult(null)
    : buildResult(trustIfEmpty(disk), 'deleted-here');
}

function mergeDeletedOnDisk(base: Cell, local: Cell, isPinned: boolean): CellMerge {
  if (isPinned) {
    return { ...buildResult(local), isDeferred: true };
  }
  if (listConflicts(base, local, null).length === 0) {
    return buildResult(null);
  }
  // Filling a blank cell counts as inserting one: there is no conflict.
  return buildResult(local, hasNewContent(clearCell(base), base) ? 'deleted-on-disk' : null);
}

function mergeChangedCell(
  baseOrNull: Cell | null,
  local: Cell,
  disk: Cell,
  isPinned: boolean,
  mergeTexts: TextMerge | undefined
): CellMerge {
  const base = baseOrNull ?? clearCell(local);
  const type = local.type === base.type ? disk.type : local.type;
  if (isPinned && type !== local.type) {
    return { ...buildResult(local), isDeferred: true };
  }
  const conflicts = listConflicts(base, local, disk);
  const source = mergeSource(base.source, local.source, disk.source, mergeTexts);
  const metadata = mergeMetadata(base.metadata, local.metadata, disk.metadata);
  if (source === null || conflicts.includes('type')) {
    return buildResult({ ...local, metadata }, 'changed');
  }
  const hasRunOnDisk = !isPinned && isSameRun(base, local) && !isSameRun(local, disk);
  const run =
    type !== 'code' ? clearCell(local) : hasRunOnDisk || local.type !== 'code' ? disk : local;
  const cell = {
    ...local,
    type,
    source,
    metadata,
    attachments: type === 'code' ? null : mergeAttachments(base, local, disk, source),
    outputs: run.outputs,
    executionCount: run.executionCount,
    trusted: run === disk ? trustIfEmpty(disk).trusted : local.trusted
  };
  return {
    ...buildResult(isSameCell(cell, local) ? local : cell),
    isModifiedSinceRun: run === disk && source !== disk.source
  };
}

/** Return the value of the side that changed it; the local one if both did. */
function pickChanged<T extends Json | undefined>(base: T, local: T, disk: T): T {
  return isSameJson(local, base) ? disk : local;
}

/** Return a cell as it is inserted: code without outputs has nothing that needs trust. */
function trustIfEmpty(cell: Cell): Cell {
  const isHarmless = cell.type === 'code' && cell.outputs.length === 0;
  return { ...cell, trusted: cell.trusted || isHarmless };
}

function clearCell(cell: Cell): Cell {
  return {
    ...cell,
    source: '',
    metadata: {},
    attachments: null,
    outputs: [],
    executionCount: null
  };
}

function buildResult(cell: Cell | null, conflict: ConflictKind | null = null): CellMerge {
  return { cell, conflict, isDeferred: false, isModifiedSinceRun: false };
}

function getOwn(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
