import { diff3MergeRegions } from 'node-diff3';
import { listDifferences, splitLines, type Difference } from './lineDiff';

/** Replaces the text between two offsets (UTF-16 code units). */
export interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Return the smallest changes that turn one text into another, in ascending order.
 *
 * Common lines stay untouched, and so do the common start and end of changed lines: a caret
 * elsewhere does not move. No hunk cuts a surrogate pair, which Yjs would destroy.
 */
export function computeHunks(from: string, to: string): Hunk[] {
  const [fromLines, toLines] = [splitLinesWithEnds(from), splitLinesWithEnds(to)];
  const result: Hunk[] = [];
  let [line, toLine, offset, toOffset] = [0, 0, 0, 0];
  const advance = ({ start, newStart }: Pick<Difference, 'start' | 'newStart'>): void => {
    for (; line < start; line++) {
      offset += fromLines[line]?.length ?? 0;
    }
    for (; toLine < newStart; toLine++) {
      toOffset += toLines[toLine]?.length ?? 0;
    }
  };
  for (const difference of listDifferences(fromLines, toLines)) {
    advance(difference);
    const [start, toStart] = [offset, toOffset];
    advance({ start: difference.stop, newStart: difference.newStop });
    const hunk = trimCommonEnds(from.slice(start, offset), to.slice(toStart, toOffset));
    result.push({ start: start + hunk.start, end: start + hunk.end, text: hunk.text });
  }
  return result;
}

/** Map an offset of the old text to the new text; an offset inside a hunk maps to its start. */
export function mapOffset(offset: number, hunks: readonly Hunk[]): number {
  let shift = 0;
  for (const hunk of hunks) {
    if (hunk.end <= offset && hunk.start < offset) {
      shift += hunk.text.length - (hunk.end - hunk.start);
    } else if (hunk.start < offset) {
      return hunk.start + shift;
    }
  }
  return offset + shift;
}

/** Merge two changes of one text by line; return null if both change the same place. */
export function mergeText(base: string, local: string, disk: string): string | null {
  const { text, hasConflict } = mergeLines(base, local, disk);
  return hasConflict ? null : text;
}

/**
 * Merge two changes of one text by line, also if they touch; return null if they overlap.
 *
 * For a change that its user takes back: what the user has typed below a changed line, or instead of
 * the line after it, is no part of the change. Lines that both insert at the same place overlap,
 * unless they are equal.
 */
export function mergeTouchingChanges(base: string, mine: string, theirs: string): string | null {
  const [baseLines, myLines, theirLines] = [base, mine, theirs].map(splitLines) as [
    string[],
    string[],
    string[]
  ];
  const listChanges = (lines: readonly string[]): LineReplacement[] =>
    listDifferences(baseLines, lines).map(({ start, stop, newStart, newStop }) => ({
      start,
      stop,
      lines: lines.slice(newStart, newStop)
    }));
  const [myChanges, theirChanges] = [listChanges(myLines), listChanges(theirLines)];
  const merged: (readonly string[])[] = [];
  let [position, myIndex, theirIndex] = [0, 0, 0];
  while (myIndex < myChanges.length || theirIndex < theirChanges.length) {
    const [first, second] = [myChanges[myIndex], theirChanges[theirIndex]];
    if (first !== undefined && second !== undefined && overlap(first, second)) {
      if (!isSameReplacement(first, second)) {
        return null;
      }
      theirIndex++;
    }
    const isFirst = second === undefined || (first !== undefined && isBefore(first, second));
    const next = isFirst ? myChanges[myIndex++] : theirChanges[theirIndex++];
    if (next !== undefined) {
      merged.push(baseLines.slice(position, next.start), next.lines);
      position = next.stop;
    }
  }
  return [...merged, baseLines.slice(position)].flat().join('\n');
}

/** Lines that replace the lines of the base from `start` to `stop`, which is exclusive. */
interface LineReplacement {
  readonly start: number;
  readonly stop: number;
  readonly lines: readonly string[];
}

function overlap(a: LineReplacement, b: LineReplacement): boolean {
  const isSamePlace = a.start === b.start && (a.stop === a.start) === (b.stop === b.start);
  return isSamePlace || (a.start < b.stop && b.start < a.stop);
}

function isSameReplacement(a: LineReplacement, b: LineReplacement): boolean {
  return a.start === b.start && a.stop === b.stop && hasSameItems(a.lines, b.lines);
}

function isBefore(a: LineReplacement, b: LineReplacement): boolean {
  return a.start < b.start || (a.start === b.start && a.stop <= b.stop);
}

/** The result of merging two changes of one text. */
export interface LineMerge {
  /** The merged text; where both changes are at the same place, it has the lines of `theirs`. */
  readonly text: string;
  readonly hasConflict: boolean;
}

/**
 * Merge two changes of one text by line.
 *
 * The policy is the same on the server (`jupyter_nbedit/notebook/line_merge.py`), and
 * `tests/line_merges.json` has its cases. Lines are separated by line feeds only. Changes that touch
 * are a conflict: a line that both sides left as it was must be between them. Equal changes of both
 * sides are one change.
 */
export function mergeLines(base: string, mine: string, theirs: string): LineMerge {
  const [baseLines, myLines, theirLines] = [base, mine, theirs].map(splitLines) as [
    string[],
    string[],
    string[]
  ];
  const myMatches = matchLines(baseLines, myLines);
  const theirMatches = matchLines(baseLines, theirLines);
  const runs = splitRuns(baseLines, [myMatches, theirMatches]);
  const regions = diff3MergeRegions(
    encodeLines(myLines, runs, myMatches),
    runs.map(encodeRun),
    encodeLines(theirLines, runs, theirMatches)
  );
  const linesOfRuns = new Map(runs.map(run => [encodeRun(run), run.lines]));
  return {
    text: regions
      .flatMap(region => (region.stable ? region.bufferContent : region.bContent))
      .flatMap(item => linesOfRuns.get(item) ?? item.slice(1))
      .join('\n'),
    hasConflict: regions.some(
      region => !region.stable && !hasSameItems(region.aContent, region.bContent)
    )
  };
}

/** Consecutive lines of the base that each side has kept, or changed, together. */
interface Run {
  /** The index of the first line in the base. */
  readonly start: number;
  readonly lines: string[];
}

type Matches = ReadonlyMap<number, number>;

/** Return the indexes of equal lines, by their indexes in the base. */
function matchLines(base: readonly string[], lines: readonly string[]): Matches {
  const matches = new Map<number, number>();
  let [index, match] = [0, 0];
  const end = { start: base.length, stop: base.length, newStop: lines.length };
  for (const { start, stop, newStop } of [...listDifferences(base, lines), end]) {
    while (index < start) {
      matches.set(index++, match++);
    }
    [index, match] = [stop, newStop];
  }
  return matches;
}

function splitRuns(baseLines: readonly string[], sides: readonly Matches[]): Run[] {
  const runs: Run[] = [];
  baseLines.forEach((line, index) => {
    const previous = runs.at(-1);
    const isContinued = sides.every(matches => {
      const match = matches.get(index);
      return matches.get(index - 1) === (match === undefined ? undefined : match - 1);
    });
    if (previous !== undefined && isContinued) {
      previous.lines.push(line);
    } else {
      runs.push({ start: index, lines: [line] });
    }
  });
  return runs;
}

/**
 * Return the lines of a side as items for `diff3MergeRegions`: one for each run, and one for each
 * line that is not in the base.
 *
 * Its own search for common lines takes seconds for 2000 equal lines. Here each item of the base is
 * unique and stands for many lines.
 */
function encodeLines(lines: readonly string[], runs: readonly Run[], matches: Matches): string[] {
  let index = 0;
  const items = runs.flatMap(run => {
    const match = matches.get(run.start);
    if (match === undefined) {
      return [];
    }
    const newLines = lines.slice(index, match);
    index = match + run.lines.length;
    return [...newLines.map(encodeNewLine), encodeRun(run)];
  });
  return [...items, ...lines.slice(index).map(encodeNewLine)];
}

function encodeRun({ start }: Run): string {
  return `=${start}`;
}

function encodeNewLine(line: string): string {
  return `+${line}`;
}

function hasSameItems(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function splitLinesWithEnds(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

function trimCommonEnds(from: string, to: string): Hunk {
  const shortest = Math.min(from.length, to.length);
  let prefix = 0;
  while (prefix < shortest && from[prefix] === to[prefix]) {
    prefix++;
  }
  if (prefix > 0 && /[\uD800-\uDBFF]/.test(from.charAt(prefix - 1))) {
    prefix--;
  }
  let suffix = 0;
  while (
    suffix < shortest - prefix &&
    from[from.length - 1 - suffix] === to[to.length - 1 - suffix]
  ) {
    suffix++;
  }
  if (suffix > 0 && /[\uDC00-\uDFFF]/.test(from.charAt(from.length - suffix))) {
    suffix--;
  }
  return {
    start: prefix,
    end: from.length - suffix,
    text: to.slice(prefix, to.length - suffix)
  };
}
