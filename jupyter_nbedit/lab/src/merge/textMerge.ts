import { commonSubsequence } from './sequence';

/** Replace what is between two offsets (UTF-16 code units) of a text. */
export interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The places where a text has to change to become another, ascending and apart from each other.
 *
 * Lines in common stay untouched, and within changed lines what they begin and end with, so that a
 * caret elsewhere does not move. No hunk cuts a surrogate pair: Yjs would destroy it.
 */
export function hunks(from: string, to: string): Hunk[] {
  const fromLines = linesWithEnds(from);
  const toLines = linesWithEnds(to);
  const found: Hunk[] = [];
  let [i, j, fromOffset, toOffset] = [0, 0, 0, 0];
  for (const [a, b] of [
    ...commonSubsequence(fromLines, toLines),
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
    const hunk = trimmed(from.slice(fromStart, fromOffset), to.slice(toStart, toOffset));
    if (hunk.end > hunk.start || hunk.text !== '') {
      found.push({ start: fromStart + hunk.start, end: fromStart + hunk.end, text: hunk.text });
    }
    fromOffset += fromLines[i++]?.length ?? 0;
    toOffset += toLines[j++]?.length ?? 0;
  }
  return found;
}

/** Apply hunks to the text they were made for. */
export function applyHunks(text: string, changes: readonly Hunk[]): string {
  let result = '';
  let offset = 0;
  for (const hunk of changes) {
    result += text.slice(offset, hunk.start) + hunk.text;
    offset = hunk.end;
  }
  return result + text.slice(offset);
}

/** Where an offset of the old text is in the new one; inside a changed span, at its start. */
export function mapOffset(offset: number, changes: readonly Hunk[]): number {
  let shift = 0;
  for (const hunk of changes) {
    if (hunk.end <= offset && hunk.start < offset) {
      shift += hunk.text.length - (hunk.end - hunk.start);
    } else if (hunk.start < offset) {
      return hunk.start + shift;
    }
  }
  return offset + shift;
}

/**
 * Merge two changes of one text by line, or null where both touch the same place.
 *
 * Changes to neighbouring lines count as the same place, as they do for git.
 */
export function mergeText(base: string, local: string, disk: string): string | null {
  const baseLines = base.split('\n');
  const localLines = local.split('\n');
  const diskLines = disk.split('\n');
  const inLocal = new Map(commonSubsequence(baseLines, localLines));
  const inDisk = new Map(commonSubsequence(baseLines, diskLines));
  const merged: string[] = [];
  let [i, j, k] = [0, 0, 0];
  for (let stop = 0; stop <= baseLines.length; stop++) {
    const atEnd = stop === baseLines.length;
    const localStop = atEnd ? localLines.length : inLocal.get(stop);
    const diskStop = atEnd ? diskLines.length : inDisk.get(stop);
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
  if (sameLines(local, base) || sameLines(local, disk)) {
    return disk;
  }
  return sameLines(disk, base) ? local : null;
}

function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}

function linesWithEnds(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

function trimmed(from: string, to: string): Hunk {
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
