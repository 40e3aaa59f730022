import { readFileSync } from 'fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listDifferences, splitLines } from '../../src/merge/lineDiff';

type Runs = readonly (readonly [string, number])[];

/** The differences that the server finds; `tests/notebook/line_diffs.py` writes them. */
const CASES = JSON.parse(readFileSync('../../tests/line_diffs.json', 'utf-8')) as {
  name: string;
  before: Runs;
  after: Runs;
  differences: [number, number, number, number][];
}[];

function expand(runs: Runs): string[] {
  return runs.flatMap(([line, count]) => Array.from({ length: count }, () => line));
}

test.each(CASES)('the page finds the differences of the server: $name', case_ => {
  const { before, after, differences } = case_;
  expect(
    listDifferences(expand(before), expand(after)).map(found => [
      found.start,
      found.stop,
      found.newStart,
      found.newStop
    ])
  ).toEqual(differences);
});

const lines = fc.array(fc.constantFrom('', 'a', 'b', 'c', 'a\r', '\u2028'), { maxLength: 9 });

test('the differences make one list of the other, and no equal line is in both sides of one', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const result: string[] = [];
      let index = 0;
      for (const { start, stop, newStart, newStop } of listDifferences(before, after)) {
        const removed = before.slice(start, stop);
        const added = after.slice(newStart, newStop);
        expect(removed.length + added.length).toBeGreaterThan(0);
        expect(removed.filter(line => added.includes(line))).toEqual([]);
        result.push(...before.slice(index, start), ...added);
        index = stop;
      }
      expect([...result, ...before.slice(index)]).toEqual(after);
    })
  );
});

test('lines end at line feeds only', () => {
  expect(splitLines('')).toEqual([]);
  expect(splitLines('a\r\nb\u2028c\f\n')).toEqual(['a\r', 'b\u2028c\f', '']);
  expect(listDifferences(['a', 'b'], ['a', 'b', 'c'])).toEqual([
    { start: 2, stop: 2, newStart: 2, newStop: 3 }
  ]);
});
