import { alignByContent } from './align';
import { isSameCell, mergeCell, mergeMetadata, type ConflictKind } from './cellMerge';
import { mergeOrder } from './cellOrder';
import type { TextMerge } from './members';
import { isSameJson, type Cell, type JsonObject, type Notebook } from './notebook';
import { makeRange } from './sequence';

/** A cell that both sides changed. The text of the tab is kept until the user has chosen. */
export interface CellConflict {
  /** The cell's index in the merged notebook. */
  readonly index: number;
  readonly kind: ConflictKind;
  readonly mine: Cell | null;
  readonly theirs: Cell | null;
  /**
   * The cells whose text is part of `theirs`, and which are deleted on disk, as by a merge of cells.
   * The tab keeps them until the user has chosen: with `mine`, their text would be nowhere.
   */
  readonly absorbed: readonly Cell[];
}

/** What happens to a pinned cell when it is pinned no more. */
export type DeferredKind = 'deleted' | 'changed' | 'moved';

/** A pinned cell, with the change on disk that waits for it. */
export interface DeferredChange {
  /** The cell's index in the merged notebook. */
  readonly index: number;
  readonly kind: DeferredKind;
}

/** The result of a three-way merge of notebooks. */
export interface NotebookMerge {
  /** The merged cells; a cell that the merge does not change is the object of the tab. */
  readonly cells: readonly Cell[];
  /** For each cell its index in the tab before the merge, or null if it is new in the tab. */
  readonly localIndexes: readonly (number | null)[];
  readonly metadata: JsonObject;
  readonly minor: number;
  readonly conflicts: readonly CellConflict[];
  /** The changes on disk that wait, because their cells are pinned. */
  readonly deferred: readonly DeferredChange[];
  /** Indexes of the merged cells that the merge changed, inserted or moved. */
  readonly changedIndexes: readonly number[];
  /** Indexes of the merged cells that have the run of the disk, but another source. */
  readonly modifiedSinceRun: ReadonlySet<number>;
  /** Number of cells of the tab that the merge removed. */
  readonly removedCount: number;
  /** Whether the merge changed the metadata of the notebook. */
  readonly hasNewMetadata: boolean;
  /** The version on disk: the base version of the next merge. */
  readonly newBase: UnkeyedNotebook;
  /**
   * The version on disk without its changes to pinned cells; null if it has no such changes. If the
   * disk is merged with this base later, when the cells are not pinned, these changes are applied.
   */
  readonly newBaseWithoutDeferred: UnkeyedNotebook | null;
}

/** A notebook whose new cells get their keys when the tab has inserted them. */
export interface UnkeyedNotebook {
  readonly notebook: Notebook;
  /** For each cell its index among the merged cells, or null if it is not one of them. */
  readonly indexes: readonly (number | null)[];
}

/**
 * Return the notebook with the keys that the tab gave to the merged cells.
 *
 * What is equal in the tab becomes the same object, so that the next merge need not compare it.
 *
 * @param tab The content of the tab after the merge.
 */
export function resolveKeys({ notebook, indexes }: UnkeyedNotebook, tab: Notebook): Notebook {
  const cells = notebook.cells.map((cell, index) => {
    const mergedIndex = indexes[index] ?? null;
    const tabCell = mergedIndex === null ? undefined : tab.cells[mergedIndex];
    if (tabCell === undefined || tabCell === cell) {
      return cell;
    }
    return tabCell.id === cell.id && isSameCell(tabCell, cell)
      ? tabCell
      : { ...cell, key: tabCell.key };
  });
  const { metadata } = isSameJson(tab.metadata, notebook.metadata) ? tab : notebook;
  return { ...notebook, cells, metadata };
}

/**
 * Merge the notebook of the tab with the one on disk, both changed since `base`.
 *
 * A change made on one side only is applied. The text of a cell that both sides changed is merged
 * by line if that is possible; otherwise the text of the tab is kept and a conflict is reported.
 *
 * @param base The version that the tab last loaded or saved, with the keys of `local`.
 * @param pinnedKeys Keys of running cells: they are not replaced, moved or removed, and keep their
 *   outputs.
 * @param mergeTexts Merges two changes of a source; by default by line.
 */
export function mergeNotebooks(
  base: Notebook,
  local: Notebook,
  disk: Notebook,
  pinnedKeys: ReadonlySet<string> = new Set(),
  mergeTexts?: TextMerge
): NotebookMerge {
  const { start, end } = countSharedEnds(base.cells, local.cells, disk.cells);
  const cut = ({ cells }: Notebook): readonly Cell[] => cells.slice(start, cells.length - end);
  const middle = mergeCells(cut(base), cut(local), cut(disk), lacksIds(base, disk), {
    pinnedKeys,
    mergeTexts
  });
  const shift = (index: number | null): number | null => (index === null ? null : index + start);
  const localStop = local.cells.length - end;
  const mergedStop = start + middle.cells.length;
  const addEnds = <T>(ends: readonly T[], items: readonly T[]): T[] => [
    ...ends.slice(0, start),
    ...items,
    ...ends.slice(ends.length - end)
  ];
  const addIndexes = (items: readonly (number | null)[], stop: number): (number | null)[] => [
    ...makeRange(0, start),
    ...items.map(shift),
    ...makeRange(stop, stop + end)
  ];
  const addEndsToBase = ({ cells, indexes }: UnkeyedCells): UnkeyedNotebook => ({
    notebook: { ...disk, cells: addEnds(disk.cells, cells) },
    indexes: addIndexes(indexes, mergedStop)
  });
  const metadata = mergeMetadata(base.metadata, local.metadata, disk.metadata);
  return {
    cells: addEnds(local.cells, middle.cells),
    localIndexes: addIndexes(middle.localIndexes, localStop),
    metadata,
    minor: local.minor === base.minor ? disk.minor : local.minor,
    conflicts: middle.conflicts.map(conflict => ({ ...conflict, index: conflict.index + start })),
    deferred: middle.deferred.map(({ index, kind }) => ({ index: index + start, kind })),
    changedIndexes: middle.changedIndexes.map(index => index + start),
    modifiedSinceRun: new Set([...middle.modifiedSinceRun].map(index => index + start)),
    removedCount: middle.removedCount,
    hasNewMetadata: !isSameJson(local.metadata, metadata),
    newBase: addEndsToBase(middle.newBase),
    newBaseWithoutDeferred:
      middle.newBaseWithoutDeferred && addEndsToBase(middle.newBaseWithoutDeferred)
  };
}

/**
 * Count the cells at the start and at the end that the three versions share as objects. Nothing has
 * happened to them; therefore the work of a merge depends only on the other cells.
 */
function countSharedEnds(
  base: readonly Cell[],
  local: readonly Cell[],
  disk: readonly Cell[]
): { start: number; end: number } {
  const limit = Math.min(base.length, local.length, disk.length);
  let start = 0;
  while (start < limit && base[start] === local[start] && local[start] === disk[start]) {
    start++;
  }
  let end = 0;
  while (
    end < limit - start &&
    base[base.length - 1 - end] === local[local.length - 1 - end] &&
    local[local.length - 1 - end] === disk[disk.length - 1 - end]
  ) {
    end++;
  }
  return { start, end };
}

/** Cells whose keys are not known yet; see `UnkeyedNotebook`. */
interface UnkeyedCells {
  readonly cells: readonly Cell[];
  readonly indexes: readonly (number | null)[];
}

/** The result of a merge of cells; see `NotebookMerge`. */
interface CellsMerge extends Pick<
  NotebookMerge,
  | 'cells'
  | 'localIndexes'
  | 'conflicts'
  | 'deferred'
  | 'changedIndexes'
  | 'modifiedSinceRun'
  | 'removedCount'
> {
  readonly newBase: UnkeyedCells;
  readonly newBaseWithoutDeferred: UnkeyedCells | null;
}

function mergeCells(
  base: readonly Cell[],
  local: readonly Cell[],
  disk: readonly Cell[],
  hasMissingIds: boolean,
  options: {
    readonly pinnedKeys: ReadonlySet<string>;
    readonly mergeTexts: TextMerge | undefined;
  }
): CellsMerge {
  const { pinnedKeys, mergeTexts } = options;
  const slots = matchCells(base, local, disk, hasMissingIds).map(slot => {
    const isPinned = slot.local?.key != null && pinnedKeys.has(slot.local.key);
    const merged = mergeCell(slot.base, slot.local, slot.disk, isPinned, mergeTexts);
    return { ...slot, isPinned, ...merged };
  });
  const absorbedCells = keepAbsorbedCells(slots);
  const listSlots = (side: 'base' | 'local' | 'disk'): number[] => {
    const positions = new Map(
      { base, local, disk }[side].map((cell, index) => [cell, index] as const)
    );
    const getPosition = (slot: number): number => {
      const cell = slots[slot]?.[side];
      return (cell && positions.get(cell)) ?? -1;
    };
    return findIndexes(slots, slot => slot[side] !== null).sort(
      (a, b) => getPosition(a) - getPosition(b)
    );
  };
  const order = mergeOrder({
    base: listSlots('base'),
    local: listSlots('local'),
    disk: listSlots('disk'),
    keptItems: new Set(findIndexes(slots, slot => slot.cell !== null)),
    pinnedItems: new Set(findIndexes(slots, slot => slot.isPinned))
  });

  const indexesByCell = new Map(local.map((cell, index) => [cell, index] as const));
  const mergedIndexes = new Map<number, number>();
  const cells: Cell[] = [];
  const localIndexes: (number | null)[] = [];
  const conflicts: CellConflict[] = [];
  const deferred: DeferredChange[] = [];
  const changedIndexes: number[] = [];
  const modifiedSinceRun = new Set<number>();
  for (const item of order.items) {
    const slot = slots[item];
    if (slot?.cell == null) {
      continue;
    }
    const index = cells.length;
    const mine = slot.local;
    const key = mine === null ? null : mine.key;
    mergedIndexes.set(item, index);
    cells.push(slot.cell.key === key ? slot.cell : { ...slot.cell, key });
    localIndexes.push(mine === null ? null : (indexesByCell.get(mine) ?? null));
    if (slot.conflict !== null) {
      const absorbed = absorbedCells.get(item) ?? [];
      conflicts.push({ index, kind: slot.conflict, mine, theirs: slot.disk, absorbed });
    }
    if (slot.isModifiedSinceRun) {
      modifiedSinceRun.add(index);
    }
    if (slot.isDeferred) {
      deferred.push({ index, kind: slot.disk === null ? 'deleted' : 'changed' });
    } else if (order.deferredItems.has(item)) {
      deferred.push({ index, kind: 'moved' });
    }
    if (mine === null || order.movedItems.has(item) || !isSameCell(mine, slot.cell)) {
      changedIndexes.push(index);
    }
  }

  const buildUnkeyed = (
    items: readonly number[],
    getCell: (item: number) => Cell | null
  ): UnkeyedCells => {
    const entries = items.flatMap(item => {
      const cell = getCell(item);
      return cell === null ? [] : [{ cell, index: mergedIndexes.get(item) ?? null }];
    });
    return {
      cells: entries.map(({ cell }) => cell),
      indexes: entries.map(({ index }) => index)
    };
  };
  const getDiskCell = (item: number): Cell | null => slots[item]?.disk ?? null;
  const getUndeferredCell = (item: number): Cell | null =>
    slots[item]?.isDeferred === true ? slots[item].base : getDiskCell(item);
  const droppedSlots = findIndexes(slots, slot => slot.disk !== null && slot.cell === null);
  return {
    cells,
    localIndexes,
    conflicts,
    deferred,
    changedIndexes,
    modifiedSinceRun,
    removedCount: slots.filter(slot => slot.local !== null && slot.cell === null).length,
    newBase: buildUnkeyed(listSlots('disk'), getDiskCell),
    newBaseWithoutDeferred:
      deferred.length > 0
        ? buildUnkeyed([...order.items, ...droppedSlots], getUndeferredCell)
        : null
  };
}

/**
 * Keep the cells that were deleted on disk and whose text is now part of a cell with a conflict;
 * return them by the numbers of the slots of these conflicts.
 *
 * A merge joins neighbours: in the base there are only deleted cells between the two. Their lines
 * are lines of the merged cell; a word of it that is like a deleted cell is no part of a merge.
 *
 * @param slots First the slots of the base, in its order.
 */
function keepAbsorbedCells(
  slots: (CellVersions & { cell: Cell | null; conflict: unknown })[]
): Map<number, Cell[]> {
  const absorbed = new Map<number, Cell[]>();
  const isDeleted = (index: number): boolean => {
    const slot = slots[index];
    return slot !== undefined && slot.base !== null && slot.disk === null;
  };
  slots.forEach(({ base, disk, conflict }, index) => {
    if (conflict === null || base === null || disk === null) {
      return;
    }
    let [start, stop] = [index, index + 1];
    while (isDeleted(start - 1)) {
      start--;
    }
    while (isDeleted(stop)) {
      stop++;
    }
    for (const slot of slots.slice(start, stop)) {
      const source = slot.base?.source ?? '';
      if (
        slot.local !== null &&
        slot.cell === null &&
        source.trim() !== '' &&
        countLines(disk.source, source) > countLines(base.source, source)
      ) {
        slot.cell = slot.local;
        absorbed.set(index, [...(absorbed.get(index) ?? []), slot.local]);
      }
    }
  });
  return absorbed;
}

/** Count how often the lines of `part` occur in a text, one after the other. */
function countLines(text: string, part: string): number {
  const markLines = (lines: string): string => `\n${lines.replaceAll('\n', '\n\n')}\n`;
  return markLines(text).split(markLines(part)).length - 1;
}

/** Compare the tab with the disk: equal, different in data only, or different in its text. */
export function compareNotebooks(local: Notebook, disk: Notebook): 'none' | 'data' | 'text' {
  const hasSameText =
    local.cells.length === disk.cells.length &&
    local.cells.every((cell, index) => {
      const other = disk.cells[index];
      return (
        cell === other ||
        (cell.key === other?.key && cell.type === other.type && cell.source === other.source)
      );
    });
  if (!hasSameText) {
    return 'text';
  }
  const hasSameData =
    local.minor === disk.minor &&
    isSameJson(local.metadata, disk.metadata) &&
    hasSameCells(local.cells, disk.cells);
  return hasSameData ? 'none' : 'data';
}

/** One cell in its three versions; null in a version that does not have it. */
interface CellVersions {
  base: Cell | null;
  local: Cell | null;
  disk: Cell | null;
}

/**
 * Match the cells of the three versions.
 *
 * Cells of the tab are identified by their keys, cells on disk by their ids or, in notebooks
 * without ids, by their content.
 */
function matchCells(
  base: readonly Cell[],
  local: readonly Cell[],
  disk: readonly Cell[],
  hasMissingIds: boolean
): CellVersions[] {
  const slots: CellVersions[] = base.map(cell => ({ base: cell, local: null, disk: null }));
  const slotsByKey = new Map(slots.map(slot => [slot.base?.key, slot] as const));
  for (const cell of local) {
    const knownSlot = slotsByKey.get(cell.key);
    const slot = knownSlot ?? { base: null, local: cell, disk: null };
    slot.local = cell;
    if (knownSlot === undefined) {
      slots.push(slot);
      slotsByKey.set(cell.key, slot);
    }
  }
  const slotsById = new Map<string, CellVersions>();
  for (const slot of slots) {
    const id = (slot.base ?? slot.local)?.id ?? null;
    if (id !== null && !slotsById.has(id)) {
      slotsById.set(id, slot);
    }
  }
  const isSaved = hasMissingIds && hasSameCells(local, disk);
  const diskSlots = disk.map((cell, index) => {
    const key = isSaved ? (local[index]?.key ?? null) : cell.key;
    const slot = key === null ? slotsById.get(cell.id ?? '') : slotsByKey.get(key);
    if (slot?.disk !== null) {
      return null;
    }
    slot.disk = cell;
    return slot;
  });
  if (hasMissingIds && diskSlots.includes(null)) {
    matchByContent(slots, disk, diskSlots);
  }
  const newCells = disk.filter((_, index) => diskSlots[index] === null);
  return [...slots, ...newCells.map(cell => ({ base: null, local: null, disk: cell }))];
}

/** Return whether the disk has the cells of the tab: a save succeeded, but its reply was lost. */
function hasSameCells(local: readonly Cell[], disk: readonly Cell[]): boolean {
  return (
    local.length === disk.length &&
    local.every((cell, index) => {
      const other = disk[index];
      return other !== undefined && isSameCell(cell, other);
    })
  );
}

function lacksIds(...notebooks: Notebook[]): boolean {
  return notebooks.some(notebook => notebook.cells.some(cell => cell.id === null));
}

/**
 * Assign cells on disk, by content, to slots without a cell on disk.
 *
 * @param diskSlots For each cell on disk its slot, or null if it has none.
 */
function matchByContent(
  slots: readonly CellVersions[],
  disk: readonly Cell[],
  diskSlots: (CellVersions | null)[]
): void {
  const knownSlots = slots.filter(({ base }) => base !== null);
  const insertedSlots = slots.filter(slot => slot.base === null && slot.disk === null);
  // Cells that are matched already divide the others, and are equal to nothing but themselves.
  const numbers = new Map(slots.map((slot, index) => [slot, index] as const));
  const standIn = (cell: Cell, slot: CellVersions): Cell => ({
    ...cell,
    type: 'matched',
    source: `${numbers.get(slot)}`
  });
  const alignment = alignByContent(
    knownSlots.flatMap(slot => {
      const { base } = slot;
      return base === null ? [] : [slot.disk === null ? base : standIn(base, slot)];
    }),
    insertedSlots.flatMap(({ local }) => local ?? []),
    disk.map((cell, index) => {
      const slot = diskSlots[index] ?? null;
      return slot === null ? cell : standIn(cell, slot);
    })
  );
  for (const [candidates, pairs] of [
    [knownSlots, alignment.knownPairs],
    [insertedSlots, alignment.insertedPairs]
  ] as const) {
    for (const [i, j] of pairs) {
      const [slot, cell] = [candidates[i], disk[j]];
      if (slot?.disk === null && cell !== undefined && diskSlots[j] === null) {
        slot.disk = cell;
        diskSlots[j] = slot;
      }
    }
  }
}

function findIndexes<T>(items: readonly T[], test: (item: T) => boolean): number[] {
  return items.flatMap((item, index) => (test(item) ? [index] : []));
}
