import { findHeaviestIncreasing } from './sequence';

/** Greater than the weight of any number of cells that may move. */
const PINNED_WEIGHT = 1e9;

/** The orders of the same items in the three versions. */
export interface CellOrders {
  readonly base: readonly number[];
  readonly local: readonly number[];
  readonly disk: readonly number[];
  /** Items of the result; all others are dropped. */
  readonly keptItems: ReadonlySet<number>;
  /** Items that must not move now. */
  readonly pinnedItems: ReadonlySet<number>;
}

/** An order with the moves of both sides. */
export interface MergedOrder {
  readonly items: readonly number[];
  /** Items that were moved on disk. */
  readonly movedItems: ReadonlySet<number>;
  /** Pinned items that were moved on disk; they keep their positions for now. */
  readonly deferredItems: ReadonlySet<number>;
}

/**
 * Merge two orders: the local order, with the items that were moved or inserted on disk placed after
 * their predecessor on disk. An item that both sides moved keeps its local position.
 */
export function mergeOrder(orders: CellOrders): MergedOrder {
  const { base, disk, keptItems, pinnedItems } = orders;
  const basePositions = mapPositions(base);
  const diskItems = new Set(disk);
  const listCommon = (items: readonly number[]): number[] =>
    items.filter(item => basePositions.has(item) && diskItems.has(item) && keptItems.has(item));
  const findMovedItems = (items: readonly number[]): Set<number> => {
    const getWeight = (item: number): number => (pinnedItems.has(item) ? PINNED_WEIGHT : 1);
    const unmovedIndexes = findHeaviestIncreasing(
      items.map(item => basePositions.get(item) ?? -1),
      index => getWeight(items[index] ?? -1)
    );
    return new Set(items.filter((_, index) => !unmovedIndexes.has(index)));
  };
  const local = orders.local.filter(item => keptItems.has(item));
  const localItems = new Set(local);
  const movedLocally = findMovedItems(listCommon(local));
  const movedOnDisk = [...findMovedItems(listCommon(disk).filter(item => localItems.has(item)))];
  const movedItems = new Set(
    movedOnDisk.filter(item => !movedLocally.has(item) && !pinnedItems.has(item))
  );
  return {
    items: insertAfterPredecessors(
      local.filter(item => !movedItems.has(item)),
      disk.filter(item => keptItems.has(item)),
      item => movedItems.has(item) || !localItems.has(item)
    ),
    movedItems,
    deferredItems: new Set(
      movedOnDisk.filter(item => pinnedItems.has(item) && !movedLocally.has(item))
    )
  };
}

/** Insert items of `source`, each after the item that precedes it there. */
function insertAfterPredecessors(
  items: readonly number[],
  source: readonly number[],
  shouldInsert: (item: number) => boolean
): number[] {
  const START = -1;
  const next = new Map<number, number>();
  [START, ...items].forEach((item, index) => {
    const follower = items[index];
    if (follower !== undefined) {
      next.set(item, follower);
    }
  });
  let last = START;
  for (const item of source) {
    if (shouldInsert(item)) {
      const follower = next.get(last);
      if (follower !== undefined) {
        next.set(item, follower);
      }
      next.set(last, item);
    }
    last = item;
  }
  const order: number[] = [];
  for (let item = next.get(START); item !== undefined; item = next.get(item)) {
    order.push(item);
  }
  return order;
}

function mapPositions(items: readonly number[]): Map<number, number> {
  return new Map(items.map((item, index) => [item, index] as const));
}
