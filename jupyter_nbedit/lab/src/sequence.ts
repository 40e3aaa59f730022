/** Two indexes whose items belong together: one in the first list, one in the second. */
export type Pair = readonly [number, number];

/** Edit distance up to which the shortest edit script is searched; its cost grows with the square. */
const LONGEST_SEARCH = 1000;

/**
 * Items both lists have in the same order, as ascending pairs of indexes.
 *
 * The longest such sequence, except where the lists differ in more than a thousand places: there
 * the items that occur once on either side are the anchors.
 */
export function commonSubsequence(first: readonly string[], second: readonly string[]): Pair[] {
  const pairs: Pair[] = [];
  collectCommon(first, 0, first.length, second, 0, second.length, pairs);
  return pairs;
}

function collectCommon(
  first: readonly string[],
  firstStart: number,
  firstStop: number,
  second: readonly string[],
  secondStart: number,
  secondStop: number,
  pairs: Pair[]
): void {
  let [i, j, iStop, jStop] = [firstStart, secondStart, firstStop, secondStop];
  while (i < iStop && j < jStop && first[i] === second[j]) {
    pairs.push([i++, j++]);
  }
  while (i < iStop && j < jStop && first[iStop - 1] === second[jStop - 1]) {
    iStop--;
    jStop--;
  }
  const middle =
    shortestScript(first.slice(i, iStop), second.slice(j, jStop)) ??
    anchored(first, i, iStop, second, j, jStop);
  for (const [a, b] of middle) {
    pairs.push([i + a, j + b]);
  }
  for (; iStop < firstStop; iStop++, jStop++) {
    pairs.push([iStop, jStop]);
  }
}

/** Myers' greedy search, or null if the lists differ in too many places. */
function shortestScript(first: readonly string[], second: readonly string[]): Pair[] | null {
  const [n, m] = [first.length, second.length];
  if (n === 0 || m === 0) {
    return [];
  }
  const limit = Math.min(n + m, LONGEST_SEARCH);
  // Furthest index of the first list on each diagonal k, at k + limit + 1.
  const furthest = new Int32Array(2 * limit + 3);
  const history: Int32Array[] = [];
  for (let d = 0; d <= limit; d++) {
    for (let k = -d; k <= d; k += 2) {
      const at = k + limit + 1;
      const below = furthest[at + 1] ?? 0;
      const beside = furthest[at - 1] ?? 0;
      let i = k === -d || (k !== d && beside < below) ? below : beside + 1;
      while (i < n && i - k < m && first[i] === second[i - k]) {
        i++;
      }
      furthest[at] = i;
      if (i >= n && i - k >= m) {
        history.push(furthest.slice(limit + 1 - d, limit + 2 + d));
        return retrace(history, n, m);
      }
    }
    history.push(furthest.slice(limit + 1 - d, limit + 2 + d));
  }
  return null;
}

/** The matches on the path that a search went, from the end back to the start. */
function retrace(history: readonly Int32Array[], n: number, m: number): Pair[] {
  const pairs: Pair[] = [];
  let [i, j] = [n, m];
  for (let d = history.length - 1; d > 0; d--) {
    const before = history[d - 1];
    const reached = (k: number): number => before?.[k + d - 1] ?? 0;
    const k = i - j;
    const down = k === -d || (k !== d && reached(k - 1) < reached(k + 1));
    const from = down ? k + 1 : k - 1;
    const start = down ? reached(from) : reached(from) + 1;
    while (i > start) {
      pairs.push([--i, --j]);
    }
    i = reached(from);
    j = i - from;
  }
  while (i > 0) {
    pairs.push([--i, --j]);
  }
  return pairs.reverse();
}

/** Matches of the items that are unique on both sides, and what is common between them. */
function anchored(
  first: readonly string[],
  firstStart: number,
  firstStop: number,
  second: readonly string[],
  secondStart: number,
  secondStop: number
): Pair[] {
  const inFirst = uniqueItems(first, firstStart, firstStop);
  const inSecond = uniqueItems(second, secondStart, secondStop);
  const shared = [...inFirst].flatMap(([item, i]): Pair[] => {
    const j = inSecond.get(item);
    return j === undefined ? [] : [[i, j]];
  });
  const kept = heaviestIncreasing(shared.map(([, j]) => j));
  const anchors = shared.filter((_, index) => kept.has(index));
  const pairs: Pair[] = [];
  let [i, j] = [firstStart, secondStart];
  if (anchors.length > 0) {
    for (const [a, b] of anchors) {
      collectCommon(first, i, a, second, j, b, pairs);
      pairs.push([a, b]);
      [i, j] = [a + 1, b + 1];
    }
    collectCommon(first, i, firstStop, second, j, secondStop, pairs);
  }
  return pairs.map(([a, b]) => [a - firstStart, b - secondStart]);
}

function uniqueItems(items: readonly string[], start: number, stop: number): Map<string, number> {
  const count = new Map<string, number>();
  for (let index = start; index < stop; index++) {
    const item = items[index] ?? '';
    count.set(item, (count.get(item) ?? 0) + 1);
  }
  const unique = new Map<string, number>();
  for (let index = start; index < stop; index++) {
    const item = items[index] ?? '';
    if (count.get(item) === 1) {
      unique.set(item, index);
    }
  }
  return unique;
}

/**
 * The indexes of the increasing subsequence of distinct `values` with the greatest total weight.
 *
 * What is not in it is what has to move to sort the list.
 */
export function heaviestIncreasing(
  values: readonly number[],
  weight: (index: number) => number = () => 1
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
    const extended = { total: chain.total + weight(index), last: index };
    for (let at = rank; at <= values.length; at += at & -at) {
      if ((best[at]?.total ?? 0) < extended.total) {
        best[at] = extended;
      }
    }
    if (extended.total > end.total) {
      end = extended;
    }
  });
  const kept = new Set<number>();
  for (let at = end.last; at >= 0; at = previous[at] ?? -1) {
    kept.add(at);
  }
  return kept;
}
