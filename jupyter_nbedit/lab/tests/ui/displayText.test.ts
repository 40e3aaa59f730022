import { expect, test } from 'vitest';
import { cleanName } from '../../src/ui/displayText';

test('a name is shown without what is not to be seen, and without what turns a line around', () => {
  expect(cleanName(' Refactoring\u202E\u2066 bot\u0007\u2028 ')).toBe('Refactoring bot');
});

test('a long name is cut between two characters', () => {
  expect(cleanName('🐙'.repeat(33))).toBe(`${'🐙'.repeat(31)}…`);
  expect(cleanName('🐙'.repeat(32))).toBe('🐙'.repeat(32));
});
