import { findUniqueItems, type Pair } from './sequence';

/**
 * Limit of the steps of a search for equal blocks: a constant, plus so many for each character.
 */
const STEPS = 20_000;
const STEPS_PER_CHARACTER = 20;

/** The lines from `start` to `stop` became those from `newStart` to `newStop`; stops are exclusive. */
export interface Difference {
  readonly start: number;
  readonly stop: number;
  readonly newStart: number;
  readonly newStop: number;
}

/** A difference, and the lists that it is about; equal items have equal numbers. */
interface Part extends Difference {
  readonly old: Int32Array;
  readonly new: Int32Array;
}

/**
 * Return the lines of a text, which end at line feeds only.
 *
 * An empty text has no lines, and a final line feed adds an empty one.
 */
export function splitLines(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

/**
 * Return the differences of two lists of lines, in order; no two are adjacent.
 *
 * The server finds the same differences (`jupyter_nbedit/notebook/sequence_diff.py`), and
 * `tests/line_diffs.json` has cases of both: an edit has as many changed lines in a reply and in the
 * history as on the page. The search works like Python's `difflib` if an upper bound of its steps is
 * within a limit that is linear in the length of the texts. Longer lists are split at the lines that
 * occur once in both; a range that is still too long differs as a whole.
 */
export function listDifferences(old: readonly string[], current: readonly string[]): Difference[] {
  const numbers = new Map<string, number>();
  const number = (lines: readonly string[]): Int32Array =>
    Int32Array.from(lines, line => {
      const found = numbers.get(line) ?? numbers.size;
      numbers.set(line, found);
      return found;
    });
  const whole = trim({
    old: number(old),
    new: number(current),
    start: 0,
    stop: old.length,
    newStart: 0,
    newStop: current.length
  });
  const limit = STEPS + STEPS_PER_CHARACTER * (countCharacters(old) + countCharacters(current));
  const differences: Difference[] = [];
  for (const { start, stop, newStart, newStop } of refine(whole, limit)) {
    const last = differences.at(-1);
    if (last?.stop === start && last.newStop === newStart) {
      differences[differences.length - 1] = { ...last, stop, newStop };
    } else {
      differences.push({ start, stop, newStart, newStop });
    }
  }
  return differences;
}

/** Return the number of characters; a character outside of the BMP counts as one, as in Python. */
function countCharacters(lines: readonly string[]): number {
  return lines.reduce(
    (sum, line) => sum + line.length - (line.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0),
    0
  );
}

function* refine(whole: Part, limit: number): Generator<Difference> {
  if (countSteps(whole) <= limit) {
    yield* matchBlocks(whole);
    return;
  }
  let rest = limit;
  for (const anchored of splitAtAnchors(whole)) {
    const part = trim(anchored);
    const steps = countSteps(part);
    if (steps <= rest) {
      rest -= steps;
      yield* matchBlocks(part);
    } else if (!isEmpty(part)) {
      yield part;
    }
  }
}

/** Return an upper bound of the steps: each block found visits all pairs of equal items. */
function countSteps({ old, new: current, start, stop, newStart, newStop }: Part): number {
  const [length, newLength] = [stop - start, newStop - newStart];
  if (length === 0 || newLength === 0) {
    return 0;
  }
  const counts = new Map<number, number>();
  for (let index = newStart; index < newStop; index++) {
    increment(counts, current[index]);
  }
  let pairs = 0;
  for (let index = start; index < stop; index++) {
    pairs += counts.get(old[index] ?? -1) ?? 0;
  }
  return (length + newLength + pairs) * (Math.min(length, newLength, pairs) + 1);
}

function increment(counts: Map<number, number>, item = -1): void {
  counts.set(item, (counts.get(item) ?? 0) + 1);
}

/** Remove the common start and the common end. */
function trim(part: Part): Part {
  let { start, stop, newStart, newStop } = part;
  while (start < stop && newStart < newStop && part.old[start] === part.new[newStart]) {
    start++;
    newStart++;
  }
  while (start < stop && newStart < newStop && part.old[stop - 1] === part.new[newStop - 1]) {
    stop--;
    newStop--;
  }
  return { ...part, start, stop, newStart, newStop };
}

/** Split at the longest equal block, then both sides of it, until no items are equal. */
function matchBlocks(part: Part): Difference[] {
  const indexes = new Map<number, number[]>();
  for (let index = part.newStart; index < part.newStop; index++) {
    const item = part.new[index] ?? -1;
    const found = indexes.get(item);
    if (found === undefined) {
      indexes.set(item, [index]);
    } else {
      found.push(index);
    }
  }
  const differences: Difference[] = [];
  // What is left to compare; the first range is at the end.
  const ranges: Difference[] = [part];
  for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
    const block = findLongestBlock(part, indexes, range);
    if (block !== null) {
      const { start, newStart, length } = block;
      ranges.push({ ...range, start: start + length, newStart: newStart + length });
      ranges.push({ ...range, stop: start, newStop: newStart });
    } else if (!isEmpty(range)) {
      differences.push(range);
    }
  }
  return differences;
}

/** Return the longest equal block; of several the first one in the old list, then in the new. */
function findLongestBlock(
  { old }: Part,
  indexes: ReadonlyMap<number, readonly number[]>,
  { start, stop, newStart, newStop }: Difference
): { start: number; newStart: number; length: number } | null {
  let best = { start, newStart, length: 0 };
  let lengths = new Map<number, number>();
  for (let index = start; index < stop; index++) {
    const newLengths = new Map<number, number>();
    for (const newIndex of indexes.get(old[index] ?? -1) ?? []) {
      if (newIndex >= newStop) {
        break;
      }
      if (newIndex >= newStart) {
        const length = (lengths.get(newIndex - 1) ?? 0) + 1;
        newLengths.set(newIndex, length);
        if (length > best.length) {
          best = { start: index - length + 1, newStart: newIndex - length + 1, length };
        }
      }
    }
    lengths = newLengths;
  }
  return best.length === 0 ? null : best;
}

/** Split at the items that occur exactly once in both lists and have the same order in both. */
function* splitAtAnchors(part: Part): Generator<Part> {
  const { newStart: from, newStop: to } = part;
  const newIndexes = findUniqueItems({ items: part.new, start: from, stop: to });
  const uniqueItems = findUniqueItems({ items: part.old, start: part.start, stop: part.stop });
  const pairs = [...uniqueItems].flatMap(([item, index]): Pair[] => {
    const newIndex = newIndexes.get(item);
    return newIndex === undefined ? [] : [[index, newIndex]];
  });
  let { start, newStart } = part;
  for (const [index, newIndex] of findLongestRise(pairs)) {
    yield { ...part, start, stop: index, newStart, newStop: newIndex };
    [start, newStart] = [index + 1, newIndex + 1];
  }
  yield { ...part, start, newStart };
}

/** Return the longest subsequence with rising second indexes of pairs sorted by the first. */
function findLongestRise(pairs: readonly Pair[]): Pair[] {
  // For each length, the pair with the smallest second index at which so long a rise ends.
  const ends: number[] = [];
  const previous: number[] = [];
  pairs.forEach(([, second], position) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] ?? -1]?.[1] ?? 0) < second) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    previous.push(ends[low - 1] ?? -1);
    ends[low] = position;
  });
  const rise: Pair[] = [];
  let position = ends.at(-1) ?? -1;
  for (let pair = pairs[position]; pair !== undefined; pair = pairs[position]) {
    rise.push(pair);
    position = previous[position] ?? -1;
  }
  return rise.reverse();
}

function isEmpty({ start, stop, newStart, newStop }: Difference): boolean {
  return start === stop && newStart === newStop;
}
