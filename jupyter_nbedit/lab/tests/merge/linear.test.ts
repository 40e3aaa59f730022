import { describe, expect, test } from 'vitest';
import { alignByContent } from '../../src/merge/align';
import type { Cell } from '../../src/merge/notebook';
import { findCommonSubsequence, StepCounter } from '../../src/merge/sequence';

/** The greatest growth of the work when its subject doubles: linear, with room for a remainder. */
const GROWTH = 2.3;

const lines = (count: number, line: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => line(index));

/** A number that looks random, and is always the same. */
function scatterItems(index: number): number {
  let bits = Math.imul(index + 1, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Pairs of lists that are hard to compare, of the same kind for each length. */
const HARD: [string, (n: number) => [string[], string[]]][] = [
  ['equal lines', n => [lines(n, () => 'x'), lines(n, () => 'x')]],
  ['equal lines of other numbers', n => [lines(n, () => 'x'), lines(n / 2, () => 'x')]],
  ['alternating lines', n => [lines(n, i => `${i % 2}`), lines(n, i => `${(i + 1) % 2}`)]],
  ['other periods', n => [lines(n, i => `${i % 2}`), lines(n, i => `${i % 3}`)]],
  ['a reversed list', n => [lines(n, i => `${i}`), lines(n, i => `${n - i}`)]],
  ['nothing in common', n => [lines(n, i => `a${i}`), lines(n, i => `b${i}`)]],
  ['blocks in other orders', n => [lines(n, i => `${i}`), lines(n, i => `${(i + n / 2) % n}`)]],
  [
    'a few lines scattered',
    n => [lines(n, i => `${scatterItems(i) % 7}`), lines(n, i => `${scatterItems(i + n) % 7}`)]
  ],
  [
    'all lines scattered',
    n => [lines(n, i => `${scatterItems(i) % n}`), lines(n, i => `${scatterItems(2 * i + 1) % n}`)]
  ],
  [
    // Without its last line each list has others that occur once.
    'lines that become unique one by one',
    n => [
      lines(n, i => `${i % 2 === 0 ? i : i - 3}`),
      lines(n, i => (i % 5 === 0 ? `other ${i}` : `${i % 2 === 0 ? i : i - 3}`))
    ]
  ]
];

/** The most steps for each line: they are bounded for short lists, too, however these differ. */
const MOST_STEPS = 510;

describe('The work to find what two lists have in common is linear in their length', () => {
  test.each(HARD)('%s', (_, make) => {
    const spent = new Map(
      [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000].map(n => {
        const [first, second] = make(n);
        const work = new StepCounter();
        findCommonSubsequence(first, second, work);
        expect(work.steps).toBeGreaterThan(0);
        expect(work.steps).toBeLessThanOrEqual(MOST_STEPS * (first.length + second.length));
        return [n, work.steps];
      })
    );
    for (const n of [8000, 16_000]) {
      expect(spent.get(2 * n)).toBeLessThanOrEqual(GROWTH * (spent.get(n) ?? 0));
    }
  });
});

describe('Lists that are hard to compare', () => {
  test.each(HARD)('%s: pairs are equal and ascend', (_, make) => {
    const [first, second] = make(3000);
    let [lastI, lastJ] = [-1, -1];
    for (const [i, j] of findCommonSubsequence(first, second)) {
      expect(first[i]).toBe(second[j]);
      expect(i > lastI && j > lastJ).toBe(true);
      [lastI, lastJ] = [i, j];
    }
  });
});

const cell = (source: string): Cell => ({
  key: null,
  id: null,
  type: 'code',
  source,
  metadata: {},
  attachments: null,
  outputs: [],
  executionCount: null,
  trusted: false
});

describe('The work to pair the cells of two notebooks grows with their size', () => {
  const filler = 'abcdefghij'.repeat(20);
  const hard: [string, (n: number) => [string[], string[]]][] = [
    ...HARD,
    ['one long cell beside many', n => [['y'.repeat(n * 20)], lines(n, i => `${filler}${i}`)]],
    [
      'gaps of several cells',
      n => [
        lines(n, i => (i % 40 === 0 ? `${i}` : `${filler}${i}`)),
        lines(n, i => (i % 40 === 0 ? `${i}` : i % 2 === 0 ? filler : `${filler}-${i}`)).filter(
          (_, i) => i % 39 !== 1
        )
      ]
    ]
  ];
  test.each(hard)('%s', (_, make) => {
    const spent = [4000, 8000, 16_000].map(n => {
      const [known, disk] = make(n);
      const work = new StepCounter();
      alignByContent(known.map(cell), [], disk.map(cell), work);
      return work.steps;
    });
    const [small = 0, middle = 0, large = 0] = spent;
    expect(middle, spent.join(', ')).toBeLessThanOrEqual(GROWTH * small);
    expect(large, spent.join(', ')).toBeLessThanOrEqual(GROWTH * middle);
  });
});
