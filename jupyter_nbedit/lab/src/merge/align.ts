import type { Cell } from './notebook';
import { commonSubsequence, Work, type Pair } from './sequence';

/** Largest table for which cells between two matches are compared each with each. */
const LARGEST_TABLE = 2500;

/** No more characters of a source than these, at its beginning, are compared with another's. */
const LONGEST_SAMPLE = 1000;

/** Two sources with less in common than this are not taken for one cell. */
const LEAST_LIKENESS = 0.4;

/** Which cells on disk are which cells of the tab, as pairs of indexes. */
export interface Alignment {
  /** Cells known from the last version, with cells on disk. */
  readonly known: readonly Pair[];
  /** Cells inserted since, with cells on disk. */
  readonly inserted: readonly Pair[];
}

/**
 * Pair the cells of a tab with those on disk by what is in them.
 *
 * For notebooks whose cells have no ids: nothing else says which cell is which. Equal cells in the
 * same order first, then equal cells that moved, then what stands between the same neighbours. A
 * cell inserted in the tab that is on disk already was saved, and the answer got lost.
 */
export function alignByContent(
  known: readonly Cell[],
  inserted: readonly Cell[],
  disk: readonly Cell[],
  work = new Work()
): Alignment {
  const inOrder = straightened(
    known,
    disk,
    commonSubsequence(known.map(content), disk.map(content), work)
  );
  const moved = equalElsewhere(known, disk, inOrder);
  const saved = equalElsewhere(
    inserted,
    disk,
    [...inOrder, ...moved].map(([, j]) => [-1, j])
  );
  const pairs = [...inOrder, ...moved];
  const knownTaken = new Set(pairs.map(([i]) => i));
  const diskTaken = new Set([...pairs, ...saved].map(([, j]) => j));
  let [i, j] = [0, 0];
  for (const [a, b] of [...inOrder, [known.length, disk.length] as const]) {
    const found = likely(
      known,
      range(i, a).filter(index => !knownTaken.has(index)),
      disk,
      range(j, b).filter(index => !diskTaken.has(index)),
      work
    );
    for (const pair of found) {
      pairs.push(pair);
    }
    [i, j] = [a + 1, b + 1];
  }
  return { known: pairs, inserted: saved };
}

/**
 * The same pairs, but where several equal cells could be meant, the one as far from the match
 * before it as on disk: so that what stands between is paired with what stands between.
 */
function straightened(
  known: readonly Cell[],
  disk: readonly Cell[],
  pairs: readonly Pair[]
): Pair[] {
  const straight: Pair[] = [];
  let [lastI, lastJ] = [-1, -1];
  pairs.forEach(([i, j], index) => {
    const [stop] = pairs[index + 1] ?? [known.length];
    const opposite = lastI + j - lastJ;
    const cell = known[opposite];
    const other = disk[j];
    const isMeant =
      opposite < stop &&
      cell !== undefined &&
      other !== undefined &&
      content(cell) === content(other);
    [lastI, lastJ] = [isMeant ? opposite : i, j];
    straight.push([lastI, lastJ]);
  });
  return straight;
}

/** Pairs of equal cells beside those already paired, wherever they are. */
function equalElsewhere(
  old: readonly Cell[],
  current: readonly Cell[],
  paired: readonly Pair[]
): Pair[] {
  const currentTaken = new Set(paired.map(([, j]) => j));
  const oldTaken = new Set(paired.map(([i]) => i));
  const waiting = new Map<string, number[]>();
  // From the end, so that the first of equal cells is the last of its list, from where it is cheap to
  // take.
  for (let index = old.length - 1; index >= 0; index--) {
    const cell = old[index];
    // Blank cells are alike everywhere: to pair them across the notebook would invent moves.
    if (cell !== undefined && !oldTaken.has(index) && cell.source.trim() !== '') {
      const same = waiting.get(content(cell));
      if (same === undefined) {
        waiting.set(content(cell), [index]);
      } else {
        same.push(index);
      }
    }
  }
  const pairs: Pair[] = [];
  current.forEach((cell, index) => {
    const found = currentTaken.has(index) ? undefined : waiting.get(content(cell))?.pop();
    if (found !== undefined) {
      pairs.push([found, index]);
    }
  });
  return pairs;
}

/** Pairs among the cells between two matches: as many as there are, in order, the most alike. */
function likely(
  old: readonly Cell[],
  oldIndexes: readonly number[],
  current: readonly Cell[],
  currentIndexes: readonly number[],
  work: Work
): Pair[] {
  const [n, m] = [oldIndexes.length, currentIndexes.length];
  if (n === m || n * m > LARGEST_TABLE) {
    return zip(oldIndexes, currentIndexes);
  }
  // best[i][j]: the greatest likeness of pairs among the items from i and from j on.
  const best = range(0, n + 1).map(() => new Float64Array(m + 1));
  const at = (i: number, j: number): number => best[i]?.[j] ?? 0;
  const samples = currentIndexes.map(j => sample(current[j]));
  const alike = oldIndexes.map(i => {
    const one = sample(old[i]);
    return samples.map(other => likeness(one, other, work));
  });
  const paired = (i: number, j: number): number => {
    const value = alike[i]?.[j] ?? 0;
    return value < LEAST_LIKENESS ? -1 : value + at(i + 1, j + 1);
  };
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      best[i]?.fill(Math.max(at(i + 1, j), at(i, j + 1), paired(i, j)), j, j + 1);
    }
  }
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < n && j < m) {
    if (at(i, j) === paired(i, j)) {
      pairs.push(...zip(oldIndexes.slice(i, i + 1), currentIndexes.slice(j, j + 1)));
      [i, j] = [i + 1, j + 1];
    } else if (at(i, j) === at(i + 1, j)) {
      i++;
    } else {
      j++;
    }
  }
  return pairs;
}

/** What a cell is compared by: how often each pair of characters is in it. */
interface Sample {
  readonly type: string | undefined;
  readonly length: number;
  readonly counts: ReadonlyMap<string, number>;
}

function sample(cell: Cell | undefined): Sample {
  const text = cell?.source.slice(0, LONGEST_SAMPLE) ?? '';
  const counts = new Map<string, number>();
  for (let index = 1; index < text.length; index++) {
    const pair = text.slice(index - 1, index + 1);
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return { type: cell?.type, length: text.length, counts };
}

/** How much two cells have in common, 0 to 1: the share of pairs of characters in both. */
function likeness(a: Sample, b: Sample, work: Work): number {
  work.spent += a.counts.size + 1;
  if (a.type === undefined || a.type !== b.type) {
    return 0;
  }
  let shared = 0;
  for (const [pair, count] of a.counts) {
    shared += Math.min(count, b.counts.get(pair) ?? 0);
  }
  return (2 * shared) / Math.max(a.length + b.length - 2, 1);
}

function content(cell: Cell): string {
  return `${cell.type}\u0000${cell.source}`;
}

function range(start: number, stop: number): number[] {
  return Array.from({ length: Math.max(stop - start, 0) }, (_, index) => start + index);
}

function zip(a: readonly number[], b: readonly number[]): Pair[] {
  return a.flatMap((item, index): Pair[] => {
    const other = b[index];
    return other === undefined ? [] : [[item, other]];
  });
}
