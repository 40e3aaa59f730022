import { expect, test } from 'vitest';
import { compareTexts, type Span } from '../../src/ui/lineChanges';

/** Return the lines that differ with their signs; marked words are in brackets. */
function show(before: string | null, after: string | null): string[] {
  const newLines = (after ?? '').split('\n');
  const { beforeLines, changes } = compareTexts(before, after);
  const mark = (line: string, words: readonly Span[] = []): string =>
    words.reduceRight(
      (text, { from, to }) => `${text.slice(0, from)}[${text.slice(from, to)}]${text.slice(to)}`,
      line
    );
  return changes.flatMap(change => [
    ...beforeLines
      .slice(change.start, change.stop)
      .map((line, index) => `-${mark(line, change.removedWords[index])}`),
    ...newLines
      .slice(change.newStart, change.newStop)
      .map((line, index) => `+${mark(line, change.addedWords[index])}`)
  ]);
}

test.each([
  [
    'a line is appended',
    'import numpy as np\na = 1',
    'import numpy as np\na = 1\nb = 2',
    ['+b = 2']
  ],
  ['there was no text', null, 'a\n\nb', ['+a', '+', '+b']],
  ['there is no text', 'a', null, ['-a']],
  ['an empty text', '', 'a', ['+a']],
  [
    'a word of a line',
    'x = f(one, two)',
    'x = f(one, three)',
    ['-x = f(one, [two])', '+x = f(one, [three])']
  ],
  [
    'a whole word, although letters are equal',
    'threshold = 1',
    'thresholds = 1',
    ['-[threshold] = 1', '+[thresholds] = 1']
  ],
  [
    'words with white space between them',
    'the old tall tree',
    'the new low tree',
    ['-the [old tall] tree', '+the [new low] tree']
  ],
  ['lines that have nothing in common', 'import os', 'x = 1', ['-import os', '+x = 1']],
  [
    'the similar line of several',
    'a = f(1, 2)',
    '# first\n# second\na = f(1, 3)',
    ['-a = f(1, [2])', '+# first', '+# second', '+a = f(1, [3])']
  ],
  [
    'a blank line between rewritten lines',
    'old = 1\n\nold = 2',
    'new = 1\n\nnew = 2',
    ['-[old] = 1', '+[new] = 1', '-[old] = 2', '+[new] = 2']
  ],
  ['indentation', '\tx = 1', '    x = 1', ['-[\t]x = 1', '+[    ]x = 1']],
  ['a space at the end', 'x = 1 ', 'x = 1', ['-x = 1[ ]', '+x = 1']],
  ['a carriage return', 'x = 1\r\n', 'x = 1\n', ['-x = 1[\r]', '+x = 1']],
  ['one character of Chinese', '数据分析', '数据清理', ['-数据[分析]', '+数据[清理]']],
  ['letters with marks', 'naïve = é', 'naïve = è', ['-naïve = [é]', '+naïve = [è]']],
  ['an emoji', 'a 👩‍💻 b', 'a 👨‍💻 b', ['-a [👩]‍💻 b', '+a [👨]‍💻 b']]
])('%s', (_, before, after, expected) => {
  expect(show(before, after)).toEqual(expected);
});

test('lines are counted', () => {
  expect(compareTexts('one\ntwo\nthree', 'one\n2\n2.5\nthree')).toMatchObject({
    removedCount: 1,
    addedCount: 2
  });
});

test('a very long line is compared as a whole', () => {
  const line = 'word '.repeat(500);
  expect(show(line, `${line}end`)).toEqual([`-${line}`, `+${line}end`]);
});

test('many lines are not compared by word', () => {
  const lines = Array.from({ length: 60 }, (_, index) => `x = ${index}`);
  const before = lines.join('\n');
  const shown = show(before, before.replaceAll('x', 'y'));
  expect(shown).toHaveLength(120);
  expect(shown.filter(line => line.includes('['))).toEqual([]);
});
