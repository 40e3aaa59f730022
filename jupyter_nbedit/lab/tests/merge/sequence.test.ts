import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findCommonSubsequence, findHeaviestIncreasing } from '../../src/merge/sequence';

const letters = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 9 });

test('the common subsequence has equal items in ascending order on both sides', () => {
  fc.assert(
    fc.property(letters, letters, (first, second) => {
      let [lastI, lastJ] = [-1, -1];
      for (const [i, j] of findCommonSubsequence(first, second)) {
        expect(first[i]).toBe(second[j]);
        expect(i).toBeGreaterThan(lastI);
        expect(j).toBeGreaterThan(lastJ);
        [lastI, lastJ] = [i, j];
      }
    })
  );
});

test('no common subsequence is longer', () => {
  const longest = (a: string[], b: string[]): number => {
    const [x, ...restA] = a;
    const [y, ...restB] = b;
    if (x === undefined || y === undefined) {
      return 0;
    }
    return x === y ? 1 + longest(restA, restB) : Math.max(longest(restA, b), longest(a, restB));
  };
  fc.assert(
    fc.property(letters, letters, (first, second) => {
      expect(findCommonSubsequence(first, second)).toHaveLength(longest(first, second));
    })
  );
});

test('the heaviest increasing subsequence is increasing, and none is heavier', () => {
  const list = fc.uniqueArray(fc.nat(20), { maxLength: 9 }).chain(values =>
    fc.tuple(
      fc.constant(values),
      fc.array(fc.integer({ min: 1, max: 9 }), {
        minLength: values.length,
        maxLength: values.length
      })
    )
  );
  fc.assert(
    fc.property(list, ([values, weights]) => {
      const total = (indexes: number[]): number =>
        indexes.reduce((sum, index) => sum + (weights[index] ?? 0), 0);
      const isIncreasing = (indexes: number[]): boolean =>
        indexes.every(
          (index, at) => at === 0 || (values[indexes[at - 1] ?? 0] ?? 0) < (values[index] ?? 0)
        );
      let heaviest = 0;
      for (let mask = 0; mask < 1 << values.length; mask++) {
        const chosen = values.map((_, index) => index).filter(index => mask & (1 << index));
        if (isIncreasing(chosen)) {
          heaviest = Math.max(heaviest, total(chosen));
        }
      }
      const kept = [...findHeaviestIncreasing(values, index => weights[index] ?? 0)];
      kept.sort((a, b) => a - b);
      expect(isIncreasing(kept)).toBe(true);
      expect(total(kept)).toBe(heaviest);
    }),
    { numRuns: 60 }
  );
});
