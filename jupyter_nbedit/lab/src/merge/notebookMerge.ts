import { alignByContent } from './align';
import { isSameCell, mergeCell, mergeMetadata, type ConflictKind } from './cellMerge';
import { mergeOrder } from './cellOrder';
import { isSameJson, type Cell, type JsonObject, type Notebook } from './notebook';

/** A cell of the merged notebook, with its origin. */
export interface MergedCell extends Cell {
  /** Its index in the tab before the merge, or null if it is new in the tab. */
  readonly localIndex: number | null;
}

/** A cell that both sides changed. The text of the tab is kept until the user has chosen. */
export interface CellConflict {
  /** The cell's index in the merged notebook. */
  readonly index: number;
  readonly kind: ConflictKind;
  readonly mine: Cell | null;
  readonly theirs: Cell | null;
}

/** The result of a three-way merge of notebooks. */
export interface NotebookMerge {
  readonly cells: readonly MergedCell[];
  readonly metadata: JsonObject;
  readonly minor: number;
  readonly conflicts: readonly CellConflict[];
  /** Indexes of the merged cells that the merge changed, inserted or moved. */
  readonly changedIndexes: readonly number[];
  /** Number of cells of the tab that the merge removed. */
  readonly removedCount: number;
  /** Whether the merge changed the metadata of the notebook. */
  readonly hasNewMetadata: boolean;
  /** The version on disk: the base version of the next merge. */
  readonly newBase: UnkeyedNotebook;
  /**
   * The version on disk without its changes to pinned cells, or null if there are none. Merging the
   * disk with this base later, when the cells are no longer pinned, applies these changes.
   */
  readonly newBaseWithoutDeferred: UnkeyedNotebook | null;
}

/** A notebook whose new cells get their keys when the tab has inserted them. */
export interface UnkeyedNotebook {
  readonly notebook: Notebook;
  /** For each cell its index among the merged cells, or null if it is not one of them. */
  readonly indexes: readonly (number | null)[];
}

/** Return the notebook with the keys that the tab gave to the merged cells. */
export function resolveKeys(unkeyed: UnkeyedNotebook, keys: readonly string[]): Notebook {
  const cells = unkeyed.notebook.cells.map((cell, index) => {
    const mergedIndex = unkeyed.indexes[index] ?? null;
    return mergedIndex === null ? cell : { ...cell, key: keys[mergedIndex] ?? null };
  });
  return { ...unkeyed.notebook, cells };
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
 */
export function mergeNotebooks(
  base: Notebook,
  local: Notebook,
  disk: Notebook,
  pinnedKeys: ReadonlySet<string> = new Set()
): NotebookMerge {
  const slots = matchCells(base, local, disk).map(slot => {
    const isPinned = slot.local?.key != null && pinnedKeys.has(slot.local.key);
    return { ...slot, isPinned, ...mergeCell(slot.base, slot.local, slot.disk, isPinned) };
  });
  const listSlots = (side: 'base' | 'local' | 'disk'): number[] => {
    const positions = new Map(
      { base, local, disk }[side].cells.map((cell, index) => [cell, index] as const)
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

  const localIndexes = new Map(local.cells.map((cell, index) => [cell, index] as const));
  const mergedIndexes = new Map<number, number>();
  const cells: MergedCell[] = [];
  const conflicts: CellConflict[] = [];
  const changedIndexes: number[] = [];
  for (const item of order.items) {
    const slot = slots[item];
    if (slot?.cell == null) {
      continue;
    }
    const index = cells.length;
    const mine = slot.local;
    mergedIndexes.set(item, index);
    cells.push({
      ...slot.cell,
      key: mine === null ? null : mine.key,
      localIndex: mine === null ? null : (localIndexes.get(mine) ?? null)
    });
    if (slot.conflict !== null) {
      conflicts.push({ index, kind: slot.conflict, mine, theirs: slot.disk });
    }
    if (mine === null || order.movedItems.has(item) || !isSameCell(mine, slot.cell)) {
      changedIndexes.push(index);
    }
  }

  const buildUnkeyed = (
    items: readonly number[],
    getCell: (item: number) => Cell | null
  ): UnkeyedNotebook => {
    const entries = items.flatMap(item => {
      const cell = getCell(item);
      return cell === null ? [] : [{ cell, index: mergedIndexes.get(item) ?? null }];
    });
    return {
      notebook: { ...disk, cells: entries.map(({ cell }) => cell) },
      indexes: entries.map(({ index }) => index)
    };
  };
  const getDiskCell = (item: number): Cell | null => slots[item]?.disk ?? null;
  const getUndeferredCell = (item: number): Cell | null =>
    slots[item]?.isDeferred === true ? slots[item].base : getDiskCell(item);
  const droppedSlots = findIndexes(slots, slot => slot.disk !== null && slot.cell === null);
  const metadata = mergeMetadata(base.metadata, local.metadata, disk.metadata);
  return {
    cells,
    metadata,
    minor: local.minor === base.minor ? disk.minor : local.minor,
    conflicts,
    changedIndexes,
    removedCount: slots.filter(slot => slot.local !== null && slot.cell === null).length,
    hasNewMetadata: !isSameJson(local.metadata, metadata),
    newBase: buildUnkeyed(listSlots('disk'), getDiskCell),
    newBaseWithoutDeferred:
      order.isDeferred || slots.some(slot => slot.isDeferred)
        ? buildUnkeyed([...order.items, ...droppedSlots], getUndeferredCell)
        : null
  };
}

/** Compare the tab with the disk: equal, different in data only, or different in its text. */
export function compareNotebooks(local: Notebook, disk: Notebook): 'none' | 'data' | 'text' {
  const hasSameText =
    local.cells.length === disk.cells.length &&
    local.cells.every((cell, index) => {
      const other = disk.cells[index];
      return cell.key === other?.key && cell.type === other.type && cell.source === other.source;
    });
  if (!hasSameText) {
    return 'text';
  }
  const hasSameData =
    local.minor === disk.minor &&
    isSameJson(local.metadata, disk.metadata) &&
    hasSameCells(local, disk);
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
function matchCells(base: Notebook, local: Notebook, disk: Notebook): CellVersions[] {
  const slots: CellVersions[] = base.cells.map(cell => ({ base: cell, local: null, disk: null }));
  const slotsByKey = new Map(slots.map(slot => [slot.base?.key, slot] as const));
  for (const cell of local.cells) {
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
  const hasMissingIds = lacksIds(base, disk);
  const isSaved = hasMissingIds && hasSameCells(local, disk);
  const unmatchedCells: Cell[] = [];
  for (const [index, cell] of disk.cells.entries()) {
    const key = isSaved ? (local.cells[index]?.key ?? null) : cell.key;
    const slot = key === null ? slotsById.get(cell.id ?? '') : slotsByKey.get(key);
    if (slot?.disk === null) {
      slot.disk = cell;
    } else {
      unmatchedCells.push(cell);
    }
  }
  const newCells = hasMissingIds ? matchByContent(slots, unmatchedCells) : unmatchedCells;
  return [...slots, ...newCells.map(cell => ({ base: null, local: null, disk: cell }))];
}

/** Return whether the disk has the cells of the tab: a save succeeded, but its reply was lost. */
function hasSameCells(local: Notebook, disk: Notebook): boolean {
  return (
    local.cells.length === disk.cells.length &&
    local.cells.every((cell, index) => {
      const other = disk.cells[index];
      return other !== undefined && isSameCell(cell, other);
    })
  );
}

function lacksIds(...notebooks: Notebook[]): boolean {
  return notebooks.some(notebook => notebook.cells.some(cell => cell.id === null));
}

/** Assign cells on disk, by content, to slots without one; return the cells that are left. */
function matchByContent(slots: readonly CellVersions[], cells: readonly Cell[]): Cell[] {
  const knownSlots = slots.filter(slot => slot.base !== null && slot.disk === null);
  const insertedSlots = slots.filter(slot => slot.base === null && slot.disk === null);
  const alignment = alignByContent(
    knownSlots.flatMap(({ base }) => base ?? []),
    insertedSlots.flatMap(({ local }) => local ?? []),
    cells
  );
  const usedIndexes = new Set<number>();
  for (const [candidates, pairs] of [
    [knownSlots, alignment.knownPairs],
    [insertedSlots, alignment.insertedPairs]
  ] as const) {
    for (const [i, j] of pairs) {
      setDiskCell(candidates[i], cells[j]);
      usedIndexes.add(j);
    }
  }
  return cells.filter((_, index) => !usedIndexes.has(index));
}

function setDiskCell(slot: CellVersions | undefined, cell: Cell | undefined): void {
  if (slot !== undefined && cell !== undefined) {
    slot.disk = cell;
  }
}

function findIndexes<T>(items: readonly T[], test: (item: T) => boolean): number[] {
  return items.flatMap((item, index) => (test(item) ? [index] : []));
}
