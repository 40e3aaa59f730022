import { heaviestIncreasing } from './sequence';

/** Outweighs any number of cells that may move freely. */
const IMMOVABLE = 1e9;

/** The three orders of the same items, and which of them stay. */
export interface Orders {
  readonly base: readonly number[];
  readonly local: readonly number[];
  readonly disk: readonly number[];
  /** Items of the result; the others are dropped. */
  readonly kept: ReadonlySet<number>;
  /** Items that must not move now. */
  readonly pinned: ReadonlySet<number>;
}

/** An order that has both sides' moves. */
export interface MergedOrder {
  readonly items: readonly number[];
  /** Items the disk moved. */
  readonly moved: ReadonlySet<number>;
  /** Whether the disk moved an item that is pinned, which was left where it is. */
  readonly deferred: boolean;
}

/**
 * Merge two orders: the local one, with what the disk moved and inserted put after the item that
 * precedes it on disk. An item both sides moved stays where the local side has it.
 */
export function mergeOrder(orders: Orders): MergedOrder {
  const { base, disk, kept, pinned } = orders;
  const basePosition = positions(base);
  const inDisk = new Set(disk);
  const common = (items: readonly number[]): number[] =>
    items.filter(item => basePosition.has(item) && inDisk.has(item) && kept.has(item));
  const movedIn = (items: readonly number[]): Set<number> => {
    const weight = (item: number): number => (pinned.has(item) ? IMMOVABLE : 1);
    const still = heaviestIncreasing(
      items.map(item => basePosition.get(item) ?? -1),
      index => weight(items[index] ?? -1)
    );
    return new Set(items.filter((_, index) => !still.has(index)));
  };
  const local = orders.local.filter(item => kept.has(item));
  const inLocal = new Set(local);
  const movedHere = movedIn(common(local));
  const movedThere = [...movedIn(common(disk).filter(item => inLocal.has(item)))];
  const moved = new Set(movedThere.filter(item => !movedHere.has(item) && !pinned.has(item)));
  return {
    items: placed(
      local.filter(item => !moved.has(item)),
      disk.filter(item => kept.has(item)),
      item => moved.has(item) || !inLocal.has(item)
    ),
    moved,
    deferred: movedThere.some(item => pinned.has(item) && !movedHere.has(item))
  };
}

/** `items` with the `others` that are to be placed, each after the one that precedes it there. */
function placed(
  items: readonly number[],
  others: readonly number[],
  toPlace: (item: number) => boolean
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
  for (const item of others) {
    if (toPlace(item)) {
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

function positions(items: readonly number[]): Map<number, number> {
  return new Map(items.map((item, index) => [item, index] as const));
}
