import { describe, expect, test } from 'vitest';
import { getTextPair } from '../../src/blocks/cellDiff';
import { makeCellState, makeChangedPart, makeDeletePart, makeInsertPart } from '../proposals/parts';

describe('The texts that are compared', () => {
  test('are the sources, of which a new and a deleted cell have one', () => {
    expect(getTextPair(makeInsertPart('n', 1))).toMatchObject({
      before: null,
      after: 'new n'
    });
    expect(getTextPair(makeDeletePart('a', 1))).toMatchObject({ before: 'a', after: null });
    expect(getTextPair(makeChangedPart('a', 1))).toEqual({
      before: 'a',
      after: 'other',
      isMetadata: false
    });
  });

  test('are the metadata that differ where the source stays', () => {
    const tagged = makeChangedPart('a', 1, {
      before: makeCellState('a', { metadata: { kept: 1, gone: true, tags: [] } }),
      after: makeCellState('a', { metadata: { kept: 1, tags: ['x'] } })
    });
    const { before, after, isMetadata } = getTextPair(tagged);
    expect(isMetadata).toBe(true);
    expect(JSON.parse(before ?? '')).toEqual({ gone: true, tags: [] });
    expect(JSON.parse(after ?? '')).toEqual({ tags: ['x'] });
  });

  test('are none for a cell that is only moved', () => {
    const moved = makeChangedPart('a', 1, { after: makeCellState('a'), moved: true });
    expect(getTextPair(moved)).toMatchObject({ before: null, after: null });
  });
});
