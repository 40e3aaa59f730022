import { expect, test } from 'vitest';
import { arrivalText, conflictText, markText, names, takenBackText } from '../src/wording';

const NONE = { asked: 1, undone: 0, cells: [], isMetadataInTheWay: false, failure: null };
const EVIL = `\u202E<img src=x>\u0007${'x'.repeat(100)}`;

test('an arrival says who, where, which cells and what more', () => {
  const more = { removed: 0, isCut: false };
  expect(arrivalText('Bot', 'a.ipynb', [2], more)).toBe('Bot edited a.ipynb: cell 3');
  expect(arrivalText('', 'a.ipynb', [0, 1], more)).toBe('a.ipynb changed on disk: cells 1 and 2');
  expect(arrivalText('Bot', 'a.ipynb', [], more)).toBe('Bot edited a.ipynb: the metadata');
  expect(arrivalText('Bot', 'a.ipynb', [0, 1, 2, 3, 4, 5], { removed: 2, isCut: true })).toBe(
    'Bot edited a.ipynb: cells 1, 2, 3, 4 and 2 more, 2 cells removed, and others'
  );
});

test('what was taken back is told as far as it was', () => {
  const text = (outcome: object, positions: number[] = [], gone = 0): string =>
    takenBackText('Bot', 'a.ipynb', { ...NONE, ...outcome }, positions, gone);
  expect(text({ undone: 1 })).toBe('Took back the edit by Bot in a.ipynb.');
  expect(text({ asked: 3, undone: 3 })).toBe('Took back 3 edits by Bot in a.ipynb.');
  expect(text({}, [2])).toBe('Nothing was taken back in a.ipynb: cell 3 has changed since.');
  expect(text({ asked: 3, undone: 2, isMetadataInTheWay: true }, [1, 2], 1)).toBe(
    'Took back 2 of 3 edits in a.ipynb: cells 2 and 3 have changed since, 1 cell is gone, ' +
      'the metadata has changed since.'
  );
  expect(text({ failure: 'The server is in plan mode.' })).toBe(
    'Nothing was taken back in a.ipynb: The server is in plan mode.'
  );
});

test('a conflict says what has become of the cell', () => {
  const text = (kind: 'changed' | 'deleted-here' | 'deleted-on-disk', choice: 'mine' | 'theirs') =>
    conflictText(['Bot'], 'a.ipynb', kind, 0, choice);
  expect(text('changed', 'mine')).toMatch(/so did you. Your text was kept.$/);
  expect(text('changed', 'theirs')).toMatch(/so did you. Theirs was taken.$/);
  expect(text('deleted-on-disk', 'mine')).toMatch(/which you changed. It was kept.$/);
  expect(text('deleted-on-disk', 'theirs')).toMatch(/which you changed. It is gone.$/);
  expect(text('deleted-here', 'mine')).toMatch(/which you deleted. It stays deleted.$/);
  expect(text('deleted-here', 'theirs')).toMatch(/which you deleted. It was put back.$/);
  expect(conflictText([], 'a.ipynb', 'changed', 4, null)).toBe(
    'Somebody changed cell 5 of a.ipynb, and so did you. Your text was kept.'
  );
});

test('a mark says who, if anybody said so', () => {
  expect(markText(['Bot', 'Data agent'])).toBe('Agent edit by Bot, Data agent');
  expect(markText([])).toBe('Changed on disk');
});

test('names are cleaned, listed once, and no more than a toast has room for', () => {
  expect(names([' Bot\u200B', 'Bot', '\u202E', 'Data agent', 'C', 'D'])).toBe(
    'Bot, Data agent and 2 more'
  );
  const long = names(Array.from({ length: 9 }, (_, index) => `${index}${EVIL}`));
  const texts = [
    arrivalText(names([EVIL]), EVIL, [98, 99, 100, 101, 102], { removed: 99, isCut: true }),
    conflictText([EVIL], EVIL, 'changed', 999, 'mine'),
    takenBackText(long, EVIL, { ...NONE, failure: EVIL }, [], 0)
  ];
  for (const text of texts) {
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
  expect(texts[2]?.length).toBeLessThanOrEqual(140);
});
