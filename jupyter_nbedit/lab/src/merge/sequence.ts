/** Two indexes whose items belong together: one in the first list, one in the second. */
export type Pair = readonly [number, number];

/** Counts the steps of a comparison. */
export class Work {
  spent = 0;
}

/** Edit distance up to which the shortest edit script is searched; it takes memory by its square. */
const LONGEST_SEARCH = 1000;

/** Steps of one search, and of all that is done for two lists, for each of their items. */
const STEPS = { search: 100, all: 400 };

/** A part of a list of numbers. */
interface Span {
  readonly items: Int32Array;
  readonly start: number;
  readonly stop: number;
}

/**
 * Return items that both lists have in the same order, as ascending pairs of indexes.
 *
 * The longest such sequence, except where the search takes more steps than are linear in the length
 * of the lists: there the items that occur once on either side are the anchors, and what stands
 * between them may be left without pairs.
 */
export function commonSubsequence(
  first: readonly string[],
  second: readonly string[],
  work = new Work()
): Pair[] {
  const numbers = new Map<string, number>();
  const numbered = (items: readonly string[]): Span => ({
    items: Int32Array.from(items, item => {
      const number = numbers.get(item) ?? numbers.size;
      numbers.set(item, number);
      return number;
    }),
    start: 0,
    stop: items.length
  });
  const pairs: Pair[] = [];
  const end = work.spent + STEPS.all * (first.length + second.length);
  collectCommon(numbered(first), numbered(second), pairs, work, end);
  return pairs;
}

/** @param end How many steps may be spent when no more search begins. */
function collectCommon(a: Span, b: Span, pairs: Pair[], work: Work, end: number): void {
  let [i, j, iStop, jStop] = [a.start, b.start, a.stop, b.stop];
  while (i < iStop && j < jStop && a.items[i] === b.items[j]) {
    pairs.push([i++, j++]);
  }
  while (i < iStop && j < jStop && a.items[iStop - 1] === b.items[jStop - 1]) {
    iStop--;
    jStop--;
  }
  work.spent += a.stop - a.start - (iStop - i) + 1;
  if (i < iStop && j < jStop && work.spent < end) {
    const restA = { ...a, start: i, stop: iStop };
    const restB = { ...b, start: j, stop: jStop };
    const middle = shortestScript(restA, restB, work);
    if (middle === null) {
      collectAnchored(restA, restB, pairs, work, end);
    } else {
      for (const pair of middle) {
        pairs.push(pair);
      }
    }
  }
  for (; iStop < a.stop; iStop++, jStop++) {
    pairs.push([iStop, jStop]);
  }
}

/** Myers' greedy search, or null if the lists differ in too many places. */
function shortestScript(a: Span, b: Span, work: Work): Pair[] | null {
  const [first, second] = [a.items.subarray(a.start, a.stop), b.items.subarray(b.start, b.stop)];
  const [n, m] = [first.length, second.length];
  const limit = Math.min(n + m, LONGEST_SEARCH);
  const end = work.spent + STEPS.search * (n + m);
  // Furthest index of the first list on each diagonal k, at k + limit + 1.
  const furthest = new Int32Array(2 * limit + 3);
  const history: Int32Array[] = [];
  for (let d = 0; d <= limit && work.spent < end; d++) {
    for (let k = -d; k <= d; k += 2) {
      const at = k + limit + 1;
      const below = furthest[at + 1] ?? 0;
      const beside = furthest[at - 1] ?? 0;
      const start = k === -d || (k !== d && beside < below) ? below : beside + 1;
      let i = start;
      while (i < n && i - k < m && first[i] === second[i - k]) {
        i++;
      }
      work.spent += i - start + 1;
      furthest[at] = i;
      if (i >= n && i - k >= m) {
        history.push(furthest.slice(limit + 1 - d, limit + 2 + d));
        return retrace(history, n, m).map(([x, y]) => [a.start + x, b.start + y]);
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

/** Collect the items that are unique on both sides, and what is common between them. */
function collectAnchored(a: Span, b: Span, pairs: Pair[], work: Work, end: number): void {
  const inFirst = uniqueItems(a);
  const inSecond = uniqueItems(b);
  work.spent += a.stop - a.start + b.stop - b.start;
  const shared = [...inFirst].flatMap(([item, i]): Pair[] => {
    const j = inSecond.get(item);
    return j === undefined ? [] : [[i, j]];
  });
  const kept = heaviestIncreasing(shared.map(([, j]) => j));
  const anchors = shared.filter((_, index) => kept.has(index));
  let [i, j] = [a.start, b.start];
  if (anchors.length > 0) {
    for (const [atA, atB] of [...anchors, [a.stop, b.stop] as const]) {
      const gapA = { ...a, start: i, stop: atA };
      collectCommon(gapA, { ...b, start: j, stop: atB }, pairs, work, end);
      if (atA < a.stop) {
        pairs.push([atA, atB]);
      }
      [i, j] = [atA + 1, atB + 1];
    }
  }
}

/** The places of the items that occur once, in ascending order. */
function uniqueItems({ items, start, stop }: Span): Map<number, number> {
  const unique = new Map<number, number>();
  const seen = new Set<number>();
  for (let index = start; index < stop; index++) {
    const item = items[index] ?? 0;
    if (seen.has(item)) {
      unique.delete(item);
    } else {
      seen.add(item);
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
