import { alignByContent } from './align';
import { mergeCell, mergeMetadata, sameCell, type ConflictKind } from './cellMerge';
import { mergeOrder } from './cellOrder';
import { sameJson, type Cell, type JsonObject, type Notebook } from './notebook';

/** A cell of the merged notebook and where it comes from. */
export interface MergedCell extends Cell {
  /** Its index in the tab before the merge, or null if it is new there. */
  readonly local: number | null;
}

/** A cell that both sides changed. The text of the tab stays; a person has to choose. */
export interface Conflict {
  /** The cell's index in the merged notebook. */
  readonly at: number;
  readonly kind: ConflictKind;
  readonly mine: Cell | null;
  readonly theirs: Cell | null;
}

/** What a tab shows once it has taken over what the disk has. */
export interface Merge {
  readonly cells: readonly MergedCell[];
  readonly metadata: JsonObject;
  readonly minor: number;
  readonly conflicts: readonly Conflict[];
  /** Indexes of the merged cells that the merge changed, inserted or moved. */
  readonly touched: readonly number[];
  /** How many cells of the tab the merge removed. */
  readonly removed: number;
  /** Whether the merge changed the notebook's own metadata. */
  readonly hasNewMetadata: boolean;
  /** The version on disk, by which the next merge finds out what changed. */
  readonly base: Rekeyed;
  /**
   * What `base` would be had the disk not changed the pinned cells, or null if it did not: merged
   * with that disk again once the cells are free, it brings what was left out.
   */
  readonly withoutDeferred: Rekeyed | null;
}

/** A notebook some of whose cells have no keys before the tab has inserted them. */
export interface Rekeyed {
  readonly notebook: Notebook;
  /** For each cell its index among the merged cells, or null if it is not there. */
  readonly at: readonly (number | null)[];
}

/** The notebook with the keys that the tab gave to the merged cells. */
export function settled(rekeyed: Rekeyed, keys: readonly string[]): Notebook {
  const cells = rekeyed.notebook.cells.map((cell, index) => {
    const at = rekeyed.at[index] ?? null;
    return at === null ? cell : { ...cell, key: keys[at] ?? null };
  });
  return { ...rekeyed.notebook, cells };
}

/**
 * Merge what the tab shows with what the disk has, both changed since `base`.
 *
 * A change made on one side only arrives. Where both changed a cell, its text is merged by line if
 * that is clean; otherwise the tab's text stays, and a conflict tells.
 *
 * @param base What the tab last loaded or saved. Its keys are those of `local`.
 * @param pinned Keys of cells that are running: they are not replaced, moved or removed, and keep
 *   their outputs.
 */
export function merge(
  base: Notebook,
  local: Notebook,
  disk: Notebook,
  pinned: ReadonlySet<string> = new Set()
): Merge {
  const slots = matchCells(base, local, disk).map(slot => {
    const isPinned = slot.local?.key != null && pinned.has(slot.local.key);
    return { ...slot, isPinned, ...mergeCell(slot.base, slot.local, slot.disk, isPinned) };
  });
  const slotsOf = (side: 'base' | 'local' | 'disk'): number[] => {
    const place = new Map(
      { base, local, disk }[side].cells.map((cell, index) => [cell, index] as const)
    );
    const position = (slot: number): number => {
      const cell = slots[slot]?.[side];
      return (cell && place.get(cell)) ?? -1;
    };
    return indexes(slots, slot => slot[side] !== null).sort((a, b) => position(a) - position(b));
  };
  const order = mergeOrder({
    base: slotsOf('base'),
    local: slotsOf('local'),
    disk: slotsOf('disk'),
    kept: new Set(indexes(slots, slot => slot.cell !== null)),
    pinned: new Set(indexes(slots, slot => slot.isPinned))
  });

  const localIndex = new Map(local.cells.map((cell, index) => [cell, index] as const));
  const at = new Map<number, number>();
  const cells: MergedCell[] = [];
  const conflicts: Conflict[] = [];
  const touched: number[] = [];
  for (const item of order.items) {
    const slot = slots[item];
    if (slot?.cell == null) {
      continue;
    }
    const place = cells.length;
    const mine = slot.local;
    at.set(item, place);
    cells.push({
      ...slot.cell,
      key: mine === null ? null : mine.key,
      local: mine === null ? null : (localIndex.get(mine) ?? null)
    });
    if (slot.conflict !== null) {
      conflicts.push({ at: place, kind: slot.conflict, mine, theirs: slot.disk });
    }
    if (mine === null || order.moved.has(item) || !sameCell(mine, slot.cell)) {
      touched.push(place);
    }
  }

  const rekeyed = (items: readonly number[], version: (item: number) => Cell | null): Rekeyed => {
    const kept = items.flatMap(item => {
      const cell = version(item);
      return cell === null ? [] : [{ cell, at: at.get(item) ?? null }];
    });
    return {
      notebook: { ...disk, cells: kept.map(({ cell }) => cell) },
      at: kept.map(({ at }) => at)
    };
  };
  const onDisk = (item: number): Cell | null => slots[item]?.disk ?? null;
  const beforeDisk = (item: number): Cell | null =>
    slots[item]?.deferred === true ? slots[item].base : onDisk(item);
  const goneHere = indexes(slots, slot => slot.disk !== null && slot.cell === null);
  const metadata = mergeMetadata(base.metadata, local.metadata, disk.metadata);
  return {
    cells,
    metadata,
    minor: local.minor === base.minor ? disk.minor : local.minor,
    conflicts,
    touched,
    removed: slots.filter(slot => slot.local !== null && slot.cell === null).length,
    hasNewMetadata: !sameJson(local.metadata, metadata),
    base: rekeyed(slotsOf('disk'), onDisk),
    withoutDeferred:
      order.deferred || slots.some(slot => slot.deferred)
        ? rekeyed([...order.items, ...goneHere], beforeDisk)
        : null
  };
}

/** Whether a tab differs from the disk: not at all, in data only, or in what a person wrote. */
export function difference(local: Notebook, disk: Notebook): 'none' | 'data' | 'text' {
  const sameText =
    local.cells.length === disk.cells.length &&
    local.cells.every((cell, index) => {
      const other = disk.cells[index];
      return cell.key === other?.key && cell.type === other.type && cell.source === other.source;
    });
  if (!sameText) {
    return 'text';
  }
  const sameData =
    local.minor === disk.minor && sameJson(local.metadata, disk.metadata) && sameCells(local, disk);
  return sameData ? 'none' : 'data';
}

/** One cell in its three versions; null where a version does not have it. */
interface Slot {
  base: Cell | null;
  local: Cell | null;
  disk: Cell | null;
}

/**
 * Which cells are the same cell.
 *
 * The tab's cells are known by their keys. Those on disk are known by their ids, and where cells
 * have none, by what is in them.
 */
function matchCells(base: Notebook, local: Notebook, disk: Notebook): Slot[] {
  const slots: Slot[] = base.cells.map(cell => ({ base: cell, local: null, disk: null }));
  const slotOf = new Map(slots.map(slot => [slot.base?.key, slot] as const));
  for (const cell of local.cells) {
    const known = slotOf.get(cell.key);
    const slot = known ?? { base: null, local: cell, disk: null };
    slot.local = cell;
    if (known === undefined) {
      slots.push(slot);
      slotOf.set(cell.key, slot);
    }
  }
  const byId = new Map<string, Slot>();
  for (const slot of slots) {
    const id = (slot.base ?? slot.local)?.id ?? null;
    if (id !== null && !byId.has(id)) {
      byId.set(id, slot);
    }
  }
  const anonymous = withoutIds(base, disk);
  const isSaved = anonymous && sameCells(local, disk);
  const unmatched: Cell[] = [];
  for (const [index, cell] of disk.cells.entries()) {
    const key = isSaved ? (local.cells[index]?.key ?? null) : cell.key;
    const slot = key === null ? byId.get(cell.id ?? '') : slotOf.get(key);
    if (slot?.disk === null) {
      slot.disk = cell;
    } else {
      unmatched.push(cell);
    }
  }
  const left = anonymous ? matchByContent(slots, unmatched) : unmatched;
  return [...slots, ...left.map(cell => ({ base: null, local: null, disk: cell }))];
}

/** Whether the disk has what the tab shows: a save went through, and its answer got lost. */
function sameCells(local: Notebook, disk: Notebook): boolean {
  return (
    local.cells.length === disk.cells.length &&
    local.cells.every((cell, index) => {
      const other = disk.cells[index];
      return other !== undefined && sameCell(cell, other);
    })
  );
}

function withoutIds(...notebooks: Notebook[]): boolean {
  return notebooks.some(notebook => notebook.cells.some(cell => cell.id === null));
}

/** Give cells on disk to slots that lack one by what is in them; answers those left over. */
function matchByContent(slots: readonly Slot[], cells: readonly Cell[]): Cell[] {
  const known = slots.filter(slot => slot.base !== null && slot.disk === null);
  const inserted = slots.filter(slot => slot.base === null && slot.disk === null);
  const aligned = alignByContent(
    known.flatMap(({ base }) => base ?? []),
    inserted.flatMap(({ local }) => local ?? []),
    cells
  );
  const taken = new Set<number>();
  for (const [candidates, pairs] of [
    [known, aligned.known],
    [inserted, aligned.inserted]
  ] as const) {
    for (const [i, j] of pairs) {
      assign(candidates[i], cells[j]);
      taken.add(j);
    }
  }
  return cells.filter((_, index) => !taken.has(index));
}

function assign(slot: Slot | undefined, cell: Cell | undefined): void {
  if (slot !== undefined && cell !== undefined) {
    slot.disk = cell;
  }
}

function indexes<T>(items: readonly T[], test: (item: T) => boolean): number[] {
  return items.flatMap((item, index) => (test(item) ? [index] : []));
}
