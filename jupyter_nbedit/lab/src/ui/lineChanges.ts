import { listDifferences, splitLines, type Difference } from '../merge/lineDiff';
import { findCommonSubsequence, pairSimilarItems } from '../merge/sequence';

/** Maximum number of pairs of lines that are compared to find similar ones. */
const MAX_PAIRS = 2500;

/** Maximum length of a line whose words are compared. */
const MAX_LINE_LENGTH = 2000;

/** Minimum similarity, 0 to 1, of a removed and an added line whose words are compared. */
const MIN_SIMILARITY = 0.4;

/** Words, white space, and single other characters, such as Chinese characters. */
const TOKENS =
  /(?:(?![\p{Ideographic}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{M}\p{N}_])+|\s+|./gsu;

/** A part of a line: offsets in UTF-16 code units, the end is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Lines that were removed, and lines that were added in their place. */
export interface LineChange extends Difference {
  /** The words that differ, for each removed line. */
  readonly removedWords: readonly (readonly Span[])[];
  /** The words that differ, for each added line. */
  readonly addedWords: readonly (readonly Span[])[];
}

/** The difference of two texts. */
export interface TextDiff {
  readonly beforeLines: readonly string[];
  readonly changes: readonly LineChange[];
  readonly removedCount: number;
  readonly addedCount: number;
}

/**
 * Compare two texts by line, and similar lines by word.
 *
 * @param before The text before, or null if there was none.
 * @param after The text after, or null if there is none.
 */
export function compareTexts(before: string | null, after: string | null): TextDiff {
  const [beforeLines, afterLines] = [splitLines(before ?? ''), splitLines(after ?? '')];
  const changes = listDifferences(beforeLines, afterLines).map(difference => {
    const { start, stop, newStart, newStop } = difference;
    const removed = beforeLines.slice(start, stop);
    return { ...difference, ...compareWords(removed, afterLines.slice(newStart, newStop)) };
  });
  return {
    beforeLines,
    changes,
    removedCount: changes.reduce((sum, { start, stop }) => sum + stop - start, 0),
    addedCount: changes.reduce((sum, { newStart, newStop }) => sum + newStop - newStart, 0)
  };
}

type ChangedWords = Pick<LineChange, 'removedWords' | 'addedWords'>;

/** Compare the words of similar lines; other lines differ as a whole, and no word is marked. */
function compareWords(removed: readonly string[], added: readonly string[]): ChangedWords {
  const removedWords: Span[][] = removed.map(() => []);
  const addedWords: Span[][] = added.map(() => []);
  if (removed.length * added.length <= MAX_PAIRS) {
    const [tokens, otherTokens] = [removed.map(splitTokens), added.map(splitTokens)];
    const wordsOfAdded = otherTokens.map(countWords);
    const similarities = tokens.map(line => {
      const words = countWords(line);
      return wordsOfAdded.map(others => measureSimilarity(words, others));
    });
    for (const [i, j] of pairSimilarItems(similarities, MIN_SIMILARITY)) {
      const [first, second] = [tokens[i] ?? [], otherTokens[j] ?? []];
      const common = findCommonSubsequence(first, second);
      removedWords[i] = listOthers(first, new Set(common.map(([index]) => index)));
      addedWords[j] = listOthers(second, new Set(common.map(([, index]) => index)));
    }
  }
  return { removedWords, addedWords };
}

function splitTokens(line: string): string[] {
  return line.length > MAX_LINE_LENGTH ? [line] : (line.match(TOKENS) ?? []);
}

/** Return where the tokens are that are not common; white space between two of them belongs to them. */
function listOthers(tokens: readonly string[], common: ReadonlySet<number>): Span[] {
  const spans: Span[] = [];
  let offset = 0;
  tokens.forEach((token, index) => {
    const isOther =
      !common.has(index) ||
      (token.trim() === '' &&
        index > 0 &&
        index + 1 < tokens.length &&
        !common.has(index - 1) &&
        !common.has(index + 1));
    const last = spans.at(-1);
    if (isOther && last?.to === offset) {
      spans[spans.length - 1] = { from: last.from, to: offset + token.length };
    } else if (isOther) {
      spans.push({ from: offset, to: offset + token.length });
    }
    offset += token.length;
  });
  return spans;
}

/** How often each word of a line occurs. */
interface WordCounts {
  readonly total: number;
  readonly counts: ReadonlyMap<string, number>;
}

function countWords(tokens: readonly string[]): WordCounts {
  const counts = new Map<string, number>();
  const words = tokens.filter(token => token.trim() !== '');
  words.forEach(word => counts.set(word, (counts.get(word) ?? 0) + 1));
  return { total: words.length, counts };
}

/** Return the share of words that both lines have, 0 to 1. */
function measureSimilarity(first: WordCounts, second: WordCounts): number {
  let shared = 0;
  for (const [word, count] of first.counts) {
    shared += Math.min(count, second.counts.get(word) ?? 0);
  }
  // Lines of white space only are similar, so that what differs in it is marked.
  const total = first.total + second.total;
  return total === 0 ? 1 : (2 * shared) / total;
}
