import type { Cell } from './notebook';
import {
  findCommonSubsequence,
  makeRange,
  pairSimilarItems,
  StepCounter,
  type Pair
} from './sequence';

/** Maximum number of cell pairs that are compared between two matches. */
const MAX_TABLE_SIZE = 2500;

/** Number of characters at the start of a source that are compared. */
const MAX_SAMPLE_LENGTH = 1000;

/** Minimum similarity of two sources that count as the same cell. */
const MIN_SIMILARITY = 0.4;

/** Cells on disk that are the same as cells of the tab, as pairs of indexes. */
export interface Alignment {
  /** Cells of the base version, with cells on disk. */
  readonly knownPairs: readonly Pair[];
  /** Cells inserted in the tab since, with cells on disk. */
  readonly insertedPairs: readonly Pair[];
}

/**
 * Match the cells of a tab with the cells on disk by their content.
 *
 * Used for notebooks whose cells have no ids. Equal cells in the same order are matched first, then
 * equal cells that moved, then the most similar cells between the same neighbours. A cell that was
 * inserted in the tab and is already on disk was saved, although the reply of the save was lost.
 */
export function alignByContent(
  knownCells: readonly Cell[],
  insertedCells: readonly Cell[],
  diskCells: readonly Cell[],
  counter = new StepCounter()
): Alignment {
  const commonPairs = straightenPairs(
    knownCells,
    diskCells,
    findCommonSubsequence(knownCells.map(getContent), diskCells.map(getContent), counter)
  );
  const movedPairs = matchEqualCells(knownCells, diskCells, commonPairs);
  const savedPairs = matchEqualCells(
    insertedCells,
    diskCells,
    [...commonPairs, ...movedPairs].map(([, j]) => [-1, j])
  );
  const pairs = [...commonPairs, ...movedPairs];
  const usedKnown = new Set(pairs.map(([i]) => i));
  const usedDisk = new Set([...pairs, ...savedPairs].map(([, j]) => j));
  let [i, j] = [0, 0];
  for (const [a, b] of [...commonPairs, [knownCells.length, diskCells.length] as const]) {
    const similarPairs = matchSimilarCells(
      knownCells,
      makeRange(i, a).filter(index => !usedKnown.has(index)),
      diskCells,
      makeRange(j, b).filter(index => !usedDisk.has(index)),
      counter
    );
    for (const pair of similarPairs) {
      pairs.push(pair);
    }
    [i, j] = [a + 1, b + 1];
  }
  return { knownPairs: pairs, insertedPairs: savedPairs };
}

/**
 * Return the same pairs, but choose among several equal cells the one at the same distance from the
 * previous match as on disk, so that the cells between two matches correspond.
 */
function straightenPairs(
  knownCells: readonly Cell[],
  diskCells: readonly Cell[],
  pairs: readonly Pair[]
): Pair[] {
  const result: Pair[] = [];
  let [lastI, lastJ] = [-1, -1];
  pairs.forEach(([i, j], index) => {
    const [stop] = pairs[index + 1] ?? [knownCells.length];
    const opposite = lastI + j - lastJ;
    const cell = knownCells[opposite];
    const other = diskCells[j];
    const isEqual =
      opposite < stop &&
      cell !== undefined &&
      other !== undefined &&
      getContent(cell) === getContent(other);
    [lastI, lastJ] = [isEqual ? opposite : i, j];
    result.push([lastI, lastJ]);
  });
  return result;
}

/** Return pairs of equal cells that are not paired yet, at any position. */
function matchEqualCells(
  oldCells: readonly Cell[],
  currentCells: readonly Cell[],
  existingPairs: readonly Pair[]
): Pair[] {
  const usedCurrent = new Set(existingPairs.map(([, j]) => j));
  const usedOld = new Set(existingPairs.map(([i]) => i));
  const indexesByContent = new Map<string, number[]>();
  // From the end, so that the first of several equal cells is the last of its list, where `pop`
  // takes it.
  for (let index = oldCells.length - 1; index >= 0; index--) {
    const cell = oldCells[index];
    // Blank cells are equal everywhere: pairing them across the notebook would invent moves.
    if (cell !== undefined && !usedOld.has(index) && cell.source.trim() !== '') {
      const indexes = indexesByContent.get(getContent(cell));
      if (indexes === undefined) {
        indexesByContent.set(getContent(cell), [index]);
      } else {
        indexes.push(index);
      }
    }
  }
  const pairs: Pair[] = [];
  currentCells.forEach((cell, index) => {
    const oldIndex = usedCurrent.has(index)
      ? undefined
      : indexesByContent.get(getContent(cell))?.pop();
    if (oldIndex !== undefined) {
      pairs.push([oldIndex, index]);
    }
  });
  return pairs;
}

/** Return the most similar pairs, in order, among the cells between two matches. */
function matchSimilarCells(
  oldCells: readonly Cell[],
  oldIndexes: readonly number[],
  currentCells: readonly Cell[],
  currentIndexes: readonly number[],
  counter: StepCounter
): Pair[] {
  const [n, m] = [oldIndexes.length, currentIndexes.length];
  if (n === m || n * m > MAX_TABLE_SIZE) {
    return zipIndexes(oldIndexes, currentIndexes);
  }
  const samples = currentIndexes.map(j => buildSample(currentCells[j]));
  const similarities = oldIndexes.map(i => {
    const oldSample = buildSample(oldCells[i]);
    return samples.map(other => measureSimilarity(oldSample, other, counter));
  });
  return pairSimilarItems(similarities, MIN_SIMILARITY).flatMap(([i, j]) =>
    zipIndexes(oldIndexes.slice(i, i + 1), currentIndexes.slice(j, j + 1))
  );
}

/** What is compared of a cell: the number of times each pair of characters occurs. */
interface Sample {
  readonly type: string | undefined;
  readonly length: number;
  readonly counts: ReadonlyMap<string, number>;
}

function buildSample(cell: Cell | undefined): Sample {
  const text = cell?.source.slice(0, MAX_SAMPLE_LENGTH) ?? '';
  const counts = new Map<string, number>();
  for (let index = 1; index < text.length; index++) {
    const pair = text.slice(index - 1, index + 1);
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return { type: cell?.type, length: text.length, counts };
}

/** Return the similarity of two cells, 0 to 1: the share of character pairs that both have. */
function measureSimilarity(a: Sample, b: Sample, counter: StepCounter): number {
  counter.steps += a.counts.size + 1;
  if (a.type === undefined || a.type !== b.type) {
    return 0;
  }
  let sharedCount = 0;
  for (const [pair, count] of a.counts) {
    sharedCount += Math.min(count, b.counts.get(pair) ?? 0);
  }
  return (2 * sharedCount) / Math.max(a.length + b.length - 2, 1);
}

function getContent(cell: Cell): string {
  return `${cell.type}\u0000${cell.source}`;
}

function zipIndexes(a: readonly number[], b: readonly number[]): Pair[] {
  return a.flatMap((item, index): Pair[] => {
    const other = b[index];
    return other === undefined ? [] : [[item, other]];
  });
}
