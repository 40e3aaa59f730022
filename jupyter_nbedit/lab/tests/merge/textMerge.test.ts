import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  computeHunks,
  mapOffset,
  mergeLines,
  mergeText,
  mergeTouchingChanges,
  type Hunk
} from '../../src/merge/textMerge';
import { text } from './notebooks';

function applyHunks(text: string, hunks: readonly Hunk[]): string {
  let result = '';
  let offset = 0;
  for (const hunk of hunks) {
    result += text.slice(offset, hunk.start) + hunk.text;
    offset = hunk.end;
  }
  return result + text.slice(offset);
}

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

test('the hunks from one text to another make it that text', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      expect(applyHunks(from, computeHunks(from, to))).toBe(to);
    })
  );
});

test('hunks applied one by one from the end make the same text', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      const result = computeHunks(from, to).reduceRight(
        (now, { start, end, text }) => now.slice(0, start) + text + now.slice(end),
        from
      );
      expect(result).toBe(to);
    })
  );
});

test('no hunk cuts a surrogate pair', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      for (const hunk of computeHunks(from, to)) {
        expect(hunk.text).not.toMatch(loneSurrogate);
        expect(from.slice(hunk.start, hunk.end)).not.toMatch(loneSurrogate);
      }
    })
  );
});

test('a line in common is in no hunk', () => {
  expect(computeHunks('a\nmiddle\nb\n', 'A\nmiddle\nB\n')).toEqual([
    { start: 0, end: 1, text: 'A' },
    { start: 9, end: 10, text: 'B' }
  ]);
});

test('texts that differ everywhere are still turned into each other', () => {
  const from = Array.from({ length: 1500 }, (_, index) => `old ${index}`);
  const to = from.map((line, index) => (index % 500 === 7 ? line : `new ${index}`));
  const [before, after] = [from.join('\n'), to.join('\n')];
  const changes = computeHunks(before, after);
  expect(applyHunks(before, changes)).toBe(after);
  expect(changes).toHaveLength(4);
});

test('a caret before or after all changes keeps its place in the text', () => {
  fc.assert(
    fc.property(text, text, text, (start, from, to) => {
      const changes = computeHunks(`${start}|${from}`, `${start}|${to}`);
      expect(mapOffset(start.length, changes)).toBe(start.length);
      const atEnd = computeHunks(`${from}|${start}`, `${to}|${start}`);
      const caret = mapOffset(from.length + 1, atEnd);
      expect(`${to}|${start}`.slice(caret)).toBe(`${from}|${start}`.slice(from.length + 1));
    })
  );
});

test('a caret stays within the text and carets keep their order', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      const changes = computeHunks(from, to);
      let last = 0;
      for (let offset = 0; offset <= from.length; offset++) {
        const mapped = mapOffset(offset, changes);
        expect(mapped).toBeGreaterThanOrEqual(last);
        expect(mapped).toBeLessThanOrEqual(to.length);
        last = mapped;
      }
    })
  );
});

test('a caret in a line of its own stays in that line', () => {
  const changes = computeHunks('one\nhere\nthree', 'ONE\nand more\nhere\nTHREE');
  expect(mapOffset('one\nhe'.length, changes)).toBe('ONE\nand more\nhe'.length);
});

test('a caret right behind a word that is replaced stays right behind it', () => {
  expect(mapOffset(3, computeHunks('one', 'TWELVE'))).toBe(6);
});

test('a text changed on one side only becomes that side', () => {
  fc.assert(
    fc.property(text, text, (base, other) => {
      expect(mergeText(base, other, base)).toBe(other);
      expect(mergeText(base, base, other)).toBe(other);
      expect(mergeText(base, other, other)).toBe(other);
    })
  );
});

test('merging two changes does not depend on which side made which', () => {
  fc.assert(
    fc.property(text, text, text, (base, a, b) => {
      expect(mergeText(base, a, b)).toBe(mergeText(base, b, a));
    })
  );
});

test('changes to lines apart from each other are both in the merged text', () => {
  fc.assert(
    fc.property(text, text, text, text, (head, tail, a, b) => {
      const merged = mergeText(
        `${head}\n--middle--\n${tail}`,
        `${a}\n--middle--\n${tail}`,
        `${head}\n--middle--\n${b}`
      );
      expect(merged).toBe(`${a}\n--middle--\n${b}`);
    })
  );
});

/** Cases that the server merges alike. */
const CASES = JSON.parse(readFileSync('../../tests/line_merges.json', 'utf-8')) as {
  name: string;
  base: string;
  mine: string;
  theirs: string;
  merged: string | null;
}[];

test.each(CASES)('lines are merged as on the server: $name', ({ base, mine, theirs, merged }) => {
  expect(mergeText(base, mine, theirs)).toBe(merged);
  expect(mergeText(base, theirs, mine)).toBe(merged);
});

test('where both sides changed a line, the text with a conflict has that of the other side', () => {
  expect(mergeLines('a\nb\nc\nd', 'A\nb\nmine\nd', 'a\nb\ntheirs\nmore\nd')).toEqual({
    text: 'A\nb\ntheirs\nmore\nd',
    hasConflict: true
  });
});

test('many thousand equal lines, and as many new ones, are merged', () => {
  const lines = '0,\n'.repeat(50_000);
  const newLines = Array.from({ length: 200_000 }, (_, index) => `${index}\n`).join('');
  expect(mergeText(lines, `x\n${lines}`, `${lines}${newLines}y`)).toBe(`x\n${lines}${newLines}y`);
});

test.each([
  ['a line typed below a changed line', 'a = 2', 'a = 2\nb', 'a = 1', 'a = 1\nb'],
  ['a line typed above a changed line', 'a = 2', 'b\na = 2', 'a = 1', 'b\na = 1'],
  ['the next line, changed', 'a = 2\nb', 'a = 2\nB', 'a = 1\nb', 'a = 1\nB'],
  ['a line typed below inserted lines', 'x\ny\nz', 'x\ny\ntyped\nz', 'x\nz', 'x\ntyped\nz'],
  ['a line typed between inserted lines', 'x\ny\nz', 'x\ntyped\ny\nz', 'z', null],
  ['the changed line itself', 'a = 2', 'a = 22', 'a = 1', null],
  ['the changed line, as it was before', 'a = 2', 'a = 1', 'a = 1', 'a = 1'],
  ['lines inserted at one place', 'a\nb', 'a\nmine\nb', 'a\ntheirs\nb', null],
  ['equal lines inserted at one place', 'a\nb', 'a\nx\nb', 'a\nx\nb', 'a\nx\nb'],
  ['a line typed into an empty cell', '', 'typed', 'before', null],
  ['nothing typed', 'a = 2', 'a = 2', 'a = 1', 'a = 1'],
  ['a word typed at the end of a changed line', 'a\nb = 2', 'a\nb = 2  # mine', 'a\nb = 1', null]
])('changes that touch are merged: %s', (_, base, mine, theirs, merged) => {
  expect(mergeTouchingChanges(base, mine, theirs)).toBe(merged);
  expect(mergeTouchingChanges(base, theirs, mine)).toBe(merged);
});

test('where changes do not touch, the merge is that of the policy', () => {
  fc.assert(
    fc.property(text, text, text, (base, mine, theirs) => {
      const merged = mergeText(base, mine, theirs);
      if (merged !== null) {
        expect(mergeTouchingChanges(base, mine, theirs)).toBe(merged);
      }
    })
  );
});

test('changes that touch are merged in a text of many lines', () => {
  const base = Array.from({ length: 200_000 }, (_, index) => `${index}`).join('\n');
  const merged = mergeTouchingChanges(base, `${base}\nmine`, `theirs\n${base}`);
  expect(merged === `theirs\n${base}\nmine`).toBe(true);
});
