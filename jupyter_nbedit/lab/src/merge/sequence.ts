/** Two indexes of corresponding items: in the first list and in the second. */
export type Pair = readonly [number, number];

/** Counts the steps of a comparison. */
export class StepCounter {
  steps = 0;
}

/**
 * Maximum edit distance of the search for the shortest edit script; memory grows with its square.
 */
const MAX_EDIT_DISTANCE = 1000;

/** Maximum number of steps for each item: of one search, and of the whole comparison. */
const MAX_STEPS_PER_ITEM = { search: 100, all: 400 };

/** A part of a list of numbers. */
export interface Slice {
  readonly items: Int32Array;
  readonly start: number;
  readonly stop: number;
}

/**
 * Return items that both lists have in the same order, as ascending pairs of indexes.
 *
 * The result is the longest such sequence unless the search takes more steps than are linear in the
 * length of the lists. Then the items that occur once on both sides are anchors, and items between
 * them may stay without pairs.
 */
export function findCommonSubsequence(
  first: readonly string[],
  second: readonly string[],
  counter = new StepCounter()
): Pair[] {
  const numbers = new Map<string, number>();
  const toSlice = (items: readonly string[]): Slice => ({
    items: Int32Array.from(items, item => {
      const number = numbers.get(item) ?? numbers.size;
      numbers.set(item, number);
      return number;
    }),
    start: 0,
    stop: items.length
  });
  const pairs: Pair[] = [];
  const stepLimit = counter.steps + MAX_STEPS_PER_ITEM.all * (first.length + second.length);
  collectCommonPairs(toSlice(first), toSlice(second), pairs, counter, stepLimit);
  return pairs;
}

/** @param stepLimit The number of steps after which no new search begins. */
function collectCommonPairs(
  a: Slice,
  b: Slice,
  pairs: Pair[],
  counter: StepCounter,
  stepLimit: number
): void {
  let [i, j, iStop, jStop] = [a.start, b.start, a.stop, b.stop];
  while (i < iStop && j < jStop && a.items[i] === b.items[j]) {
    pairs.push([i++, j++]);
  }
  while (i < iStop && j < jStop && a.items[iStop - 1] === b.items[jStop - 1]) {
    iStop--;
    jStop--;
  }
  counter.steps += a.stop - a.start - (iStop - i) + 1;
  if (i < iStop && j < jStop && counter.steps < stepLimit) {
    const restA = { ...a, start: i, stop: iStop };
    const restB = { ...b, start: j, stop: jStop };
    const scriptPairs = findShortestScript(restA, restB, counter);
    if (scriptPairs === null) {
      collectBetweenAnchors(restA, restB, pairs, counter, stepLimit);
    } else {
      for (const pair of scriptPairs) {
        pairs.push(pair);
      }
    }
  }
  for (; iStop < a.stop; iStop++, jStop++) {
    pairs.push([iStop, jStop]);
  }
}

/** Run the greedy search of Myers (1986); return null if the lists differ in too many places. */
function findShortestScript(a: Slice, b: Slice, counter: StepCounter): Pair[] | null {
  const [first, second] = [a.items.subarray(a.start, a.stop), b.items.subarray(b.start, b.stop)];
  const [n, m] = [first.length, second.length];
  const limit = Math.min(n + m, MAX_EDIT_DISTANCE);
  const stepLimit = counter.steps + MAX_STEPS_PER_ITEM.search * (n + m);
  // Furthest index of the first list on each diagonal k, at k + limit + 1.
  const furthest = new Int32Array(2 * limit + 3);
  const history: Int32Array[] = [];
  for (let d = 0; d <= limit && counter.steps < stepLimit; d++) {
    for (let k = -d; k <= d; k += 2) {
      const slot = k + limit + 1;
      const fromInsertion = furthest[slot + 1] ?? 0;
      const fromDeletion = furthest[slot - 1] ?? 0;
      const start =
        k === -d || (k !== d && fromDeletion < fromInsertion) ? fromInsertion : fromDeletion + 1;
      let i = start;
      while (i < n && i - k < m && first[i] === second[i - k]) {
        i++;
      }
      counter.steps += i - start + 1;
      furthest[slot] = i;
      if (i >= n && i - k >= m) {
        history.push(furthest.slice(limit + 1 - d, limit + 2 + d));
        return retracePath(history, n, m).map(([x, y]) => [a.start + x, b.start + y]);
      }
    }
    history.push(furthest.slice(limit + 1 - d, limit + 2 + d));
  }
  return null;
}

/** Return the matches on the path of a search, from the end back to the start. */
function retracePath(history: readonly Int32Array[], n: number, m: number): Pair[] {
  const pairs: Pair[] = [];
  let [i, j] = [n, m];
  for (let d = history.length - 1; d > 0; d--) {
    const previousStep = history[d - 1];
    const getFurthest = (k: number): number => previousStep?.[k + d - 1] ?? 0;
    const k = i - j;
    const isInsertion = k === -d || (k !== d && getFurthest(k - 1) < getFurthest(k + 1));
    const previousDiagonal = isInsertion ? k + 1 : k - 1;
    const start = isInsertion ? getFurthest(previousDiagonal) : getFurthest(previousDiagonal) + 1;
    while (i > start) {
      pairs.push([--i, --j]);
    }
    i = getFurthest(previousDiagonal);
    j = i - previousDiagonal;
  }
  while (i > 0) {
    pairs.push([--i, --j]);
  }
  return pairs.reverse();
}

/** Collect the items that are unique on both sides, and the common items between them. */
function collectBetweenAnchors(
  a: Slice,
  b: Slice,
  pairs: Pair[],
  counter: StepCounter,
  stepLimit: number
): void {
  const uniqueInFirst = findUniqueItems(a);
  const uniqueInSecond = findUniqueItems(b);
  counter.steps += a.stop - a.start + b.stop - b.start;
  const shared = [...uniqueInFirst].flatMap(([item, i]): Pair[] => {
    const j = uniqueInSecond.get(item);
    return j === undefined ? [] : [[i, j]];
  });
  const anchorIndexes = findHeaviestIncreasing(shared.map(([, j]) => j));
  const anchors = shared.filter((_, index) => anchorIndexes.has(index));
  let [i, j] = [a.start, b.start];
  if (anchors.length > 0) {
    for (const [atA, atB] of [...anchors, [a.stop, b.stop] as const]) {
      const gapA = { ...a, start: i, stop: atA };
      collectCommonPairs(gapA, { ...b, start: j, stop: atB }, pairs, counter, stepLimit);
      if (atA < a.stop) {
        pairs.push([atA, atB]);
      }
      [i, j] = [atA + 1, atB + 1];
    }
  }
}

/** Return the items that occur once with their indexes, in ascending order. */
export function findUniqueItems({ items, start, stop }: Slice): Map<number, number> {
  const unique = new Map<number, number>();
  const seenItems = new Set<number>();
  for (let index = start; index < stop; index++) {
    const item = items[index] ?? 0;
    if (seenItems.has(item)) {
      unique.delete(item);
    } else {
      seenItems.add(item);
      unique.set(item, index);
    }
  }
  return unique;
}

/**
 * Return the indexes of the increasing subsequence of distinct `values` with the greatest weight.
 *
 * Items that are not in it have to move to sort the list.
 */
export function findHeaviestIncreasing(
  values: readonly number[],
  getWeight: (index: number) => number = () => 1
): Set<number> {
  const ranks = new Map(
    [...values].sort((a, b) => a - b).map((value, rank) => [value, rank + 1] as const)
  );
  // A Fenwick tree over the ranks: the best chain that ends at or below a rank.
  const best: { total: number; last: number }[] = [];
  const previous: number[] = [];
  let end = { total: 0, last: -1 };
  values.forEach((value, index) => {
    const rank = ranks.get(value) ?? 0;
    let chain = { total: 0, last: -1 };
    for (let at = rank - 1; at > 0; at -= at & -at) {
      const candidate = best[at];
      if (candidate !== undefined && candidate.total > chain.total) {
        chain = candidate;
      }
    }
    previous[index] = chain.last;
    const longerChain = { total: chain.total + getWeight(index), last: index };
    for (let at = rank; at <= values.length; at += at & -at) {
      if ((best[at]?.total ?? 0) < longerChain.total) {
        best[at] = longerChain;
      }
    }
    if (longerChain.total > end.total) {
      end = longerChain;
    }
  });
  const chainIndexes = new Set<number>();
  for (let at = end.last; at >= 0; at = previous[at] ?? -1) {
    chainIndexes.add(at);
  }
  return chainIndexes;
}

/** Return the integers from `start` to `stop`, which is exclusive. */
export function makeRange(start: number, stop: number): number[] {
  return Array.from({ length: Math.max(stop - start, 0) }, (_, index) => start + index);
}

/**
 * Return pairs of items, in the order of both lists, with the greatest total similarity.
 *
 * @param similarities The similarity, 0 to 1, of each item of the first list to each of the second.
 * @param minimum The minimum similarity of a pair.
 */
export function pairSimilarItems(
  similarities: readonly (readonly number[])[],
  minimum: number
): Pair[] {
  const [n, m] = [similarities.length, similarities[0]?.length ?? 0];
  // best[i][j]: the greatest total similarity of pairs among the items from i and from j on.
  const best = makeRange(0, n + 1).map(() => new Float64Array(m + 1));
  const getBest = (i: number, j: number): number => best[i]?.[j] ?? 0;
  const scorePair = (i: number, j: number): number => {
    const value = similarities[i]?.[j] ?? 0;
    return value < minimum ? -1 : value + getBest(i + 1, j + 1);
  };
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      best[i]?.fill(Math.max(getBest(i + 1, j), getBest(i, j + 1), scorePair(i, j)), j, j + 1);
    }
  }
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < n && j < m) {
    if (getBest(i, j) === scorePair(i, j)) {
      pairs.push([i++, j++]);
    } else if (getBest(i, j) === getBest(i + 1, j)) {
      i++;
    } else {
      j++;
    }
  }
  return pairs;
}
