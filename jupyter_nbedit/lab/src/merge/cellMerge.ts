import { sameJson, sameList, type Cell, type Json, type JsonObject } from './notebook';
import { mergeText } from './textMerge';

/**
 * What happened to a cell that both sides changed. One that was changed on disk and deleted here is
 * put back: a deletion is easier to repeat than a change.
 */
export type ConflictKind = 'changed' | 'deleted-on-disk' | 'deleted-here';

/** What becomes of a cell. */
export interface CellMerge {
  /** The merged cell, or null if it is gone. */
  readonly cell: Cell | null;
  readonly conflict: ConflictKind | null;
  /** Whether a change of the disk was left out because the cell is pinned. */
  readonly deferred: boolean;
}

/**
 * Merge the versions of one cell; null stands for a version that does not have it.
 *
 * @param pinned Whether the cell is running here: it is not replaced or removed, and keeps its
 *   outputs.
 */
export function mergeCell(
  base: Cell | null,
  local: Cell | null,
  disk: Cell | null,
  pinned: boolean
): CellMerge {
  if (local === null) {
    return disk === null ? outcome(null) : mergeMissingHere(base, disk);
  }
  if (disk === null) {
    return base === null ? outcome(local) : mergeMissingOnDisk(base, local, pinned);
  }
  return mergeBoth(base, local, disk, pinned);
}

/** Merge objects key by key; a key both sides changed keeps its local value. */
export function mergeMetadata(base: JsonObject, local: JsonObject, disk: JsonObject): JsonObject {
  const keys = new Set([...Object.keys(local), ...Object.keys(disk)]);
  const merged: [string, Json][] = [];
  for (const key of keys) {
    const value = pick(own(base, key), own(local, key), own(disk, key));
    if (value !== undefined) {
      merged.push([key, value]);
    }
  }
  return Object.fromEntries(merged);
}

/** Whether two cells have the same content, outputs included. */
export function sameCell(a: Cell, b: Cell): boolean {
  return sameWriting(a, b) && sameRun(a, b);
}

/** Whether the two cells have the same outputs and execution count. */
export function sameRun(a: Cell, b: Cell): boolean {
  return a.executionCount === b.executionCount && sameList(a.outputs, b.outputs);
}

function sameWriting(a: Cell, b: Cell): boolean {
  return (
    a.type === b.type &&
    a.source === b.source &&
    sameJson(a.metadata, b.metadata) &&
    sameJson(a.attachments, b.attachments)
  );
}

function mergeMissingHere(base: Cell | null, disk: Cell): CellMerge {
  if (base === null) {
    return outcome(asNew(disk));
  }
  return sameWriting(base, disk) ? outcome(null) : outcome(asNew(disk), 'deleted-here');
}

function mergeMissingOnDisk(base: Cell, local: Cell, pinned: boolean): CellMerge {
  if (pinned) {
    return { cell: local, conflict: null, deferred: true };
  }
  if (sameCell(base, local)) {
    return outcome(null);
  }
  // Who fills a blank cell writes as much as who inserts one: there is nothing to choose.
  return outcome(local, sameCell(base, blank(base)) ? null : 'deleted-on-disk');
}

function mergeBoth(known: Cell | null, local: Cell, disk: Cell, pinned: boolean): CellMerge {
  const base = known ?? blank(local);
  const type = local.type === base.type ? disk.type : local.type;
  if (pinned && type !== local.type) {
    return { cell: local, conflict: null, deferred: true };
  }
  const source = mergeSource(base.source, local.source, disk.source);
  const metadata = mergeMetadata(base.metadata, local.metadata, disk.metadata);
  const typeClash = type !== disk.type && disk.type !== base.type;
  if (source === null || typeClash) {
    return outcome({ ...local, metadata }, 'changed');
  }
  const ranThere = !pinned && sameRun(base, local) && !sameRun(local, disk);
  const run = type !== 'code' ? blank(local) : ranThere || local.type !== 'code' ? disk : local;
  return outcome({
    ...local,
    type,
    source,
    metadata,
    attachments: pick(base.attachments, local.attachments, disk.attachments) ?? null,
    outputs: run.outputs,
    executionCount: run.executionCount,
    trusted: run === disk ? asNew(disk).trusted : local.trusted
  });
}

function mergeSource(base: string, local: string, disk: string): string | null {
  if (local === disk || disk === base) {
    return local;
  }
  return local === base ? disk : mergeText(base, local, disk);
}

/** The side that changed a value; the local one if both did. */
function pick<T extends Json | undefined>(base: T, local: T, disk: T): T {
  return sameJson(local, base) ? disk : local;
}

/** A cell as it is inserted: code without outputs has nothing in it that could be distrusted. */
function asNew(cell: Cell): Cell {
  const harmless = cell.type === 'code' && cell.outputs.length === 0;
  return { ...cell, trusted: cell.trusted || harmless };
}

function blank(cell: Cell): Cell {
  return {
    ...cell,
    source: '',
    metadata: {},
    attachments: null,
    outputs: [],
    executionCount: null
  };
}

function outcome(cell: Cell | null, conflict: ConflictKind | null = null): CellMerge {
  return { cell, conflict, deferred: false };
}

function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
