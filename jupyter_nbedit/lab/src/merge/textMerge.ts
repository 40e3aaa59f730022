import { findCommonSubsequence } from './sequence';

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
  const fromLines = splitLines(from);
  const toLines = splitLines(to);
  const result: Hunk[] = [];
  let [i, j, fromOffset, toOffset] = [0, 0, 0, 0];
  for (const [a, b] of [
    ...findCommonSubsequence(fromLines, toLines),
    [fromLines.length, toLines.length] as const
  ]) {
    const fromStart = fromOffset;
    const toStart = toOffset;
    for (; i < a; i++) {
      fromOffset += fromLines[i]?.length ?? 0;
    }
    for (; j < b; j++) {
      toOffset += toLines[j]?.length ?? 0;
    }
    const hunk = trimCommonEnds(from.slice(fromStart, fromOffset), to.slice(toStart, toOffset));
    if (hunk.end > hunk.start || hunk.text !== '') {
      result.push({ start: fromStart + hunk.start, end: fromStart + hunk.end, text: hunk.text });
    }
    fromOffset += fromLines[i++]?.length ?? 0;
    toOffset += toLines[j++]?.length ?? 0;
  }
  return result;
}

/** Apply hunks to the text they were computed for. */
export function applyHunks(text: string, hunks: readonly Hunk[]): string {
  let result = '';
  let offset = 0;
  for (const hunk of hunks) {
    result += text.slice(offset, hunk.start) + hunk.text;
    offset = hunk.end;
  }
  return result + text.slice(offset);
}

/** Map an offset of the old text to the new one; an offset inside a hunk maps to its start. */
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

/**
 * Merge two changes of one text by line; return null if both change the same place.
 *
 * Changes of neighbouring lines count as the same place, as in git.
 */
export function mergeText(base: string, local: string, disk: string): string | null {
  const baseLines = base.split('\n');
  const localLines = local.split('\n');
  const diskLines = disk.split('\n');
  const localMatches = new Map(findCommonSubsequence(baseLines, localLines));
  const diskMatches = new Map(findCommonSubsequence(baseLines, diskLines));
  const merged: string[] = [];
  let [i, j, k] = [0, 0, 0];
  for (let stop = 0; stop <= baseLines.length; stop++) {
    const isAtEnd = stop === baseLines.length;
    const localStop = isAtEnd ? localLines.length : localMatches.get(stop);
    const diskStop = isAtEnd ? diskLines.length : diskMatches.get(stop);
    if (localStop === undefined || diskStop === undefined) {
      continue;
    }
    const chunk = mergeLines(
      baseLines.slice(i, stop),
      localLines.slice(j, localStop),
      diskLines.slice(k, diskStop)
    );
    if (chunk === null) {
      return null;
    }
    for (const line of chunk) {
      merged.push(line);
    }
    merged.push(...baseLines.slice(stop, stop + 1));
    [i, j, k] = [stop + 1, localStop + 1, diskStop + 1];
  }
  return merged.join('\n');
}

function mergeLines(base: string[], local: string[], disk: string[]): string[] | null {
  if (hasSameLines(local, base) || hasSameLines(local, disk)) {
    return disk;
  }
  return hasSameLines(disk, base) ? local : null;
}

function hasSameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}

function splitLines(text: string): string[] {
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
