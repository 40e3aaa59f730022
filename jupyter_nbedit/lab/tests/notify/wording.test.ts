import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import {
  arrivalText,
  conflictText,
  markText,
  names,
  takenBackText,
  takingBackText
} from '../../src/notify/wording';

const trans = nullTranslator.load('jupyter_nbedit');

const NONE = { asked: 1, undone: 0, cells: [], isMetadataInTheWay: false, failure: null };
const EVIL = `\u202E<img src=x>\u0007${'x'.repeat(100)}`;

test('an arrival says who, where, which cells and what more', () => {
  const more = { removed: 0, isCut: false };
  expect(arrivalText('Bot', 'a.ipynb', [2], more, trans)).toBe('Bot edited a.ipynb: cell 3');
  expect(arrivalText('', 'a.ipynb', [0, 1], more, trans)).toBe(
    'a.ipynb changed on disk: cells 1 and 2'
  );
  expect(arrivalText('Bot', 'a.ipynb', [], more, trans)).toBe('Bot edited a.ipynb: the metadata');
  expect(
    arrivalText('Bot', 'a.ipynb', [0, 1, 2, 3, 4, 5], { removed: 2, isCut: true }, trans)
  ).toBe('Bot edited a.ipynb: cells 1, 2, 3, 4 and 2 more, 2 cells removed, and others');
});

test('what was taken back is told as far as it was', () => {
  const text = (outcome: object, positions: number[] = [], gone = 0): string =>
    takenBackText('Bot', 'a.ipynb', { ...NONE, ...outcome }, positions, gone, trans);
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
    conflictText(['Bot'], 'a.ipynb', kind, 0, choice, trans);
  expect(text('changed', 'mine')).toMatch(/so did you. Your text was kept.$/);
  expect(text('changed', 'theirs')).toMatch(/so did you. Theirs was taken.$/);
  expect(text('deleted-on-disk', 'mine')).toMatch(/which you changed. It was kept.$/);
  expect(text('deleted-on-disk', 'theirs')).toMatch(/which you changed. It is gone.$/);
  expect(text('deleted-here', 'mine')).toMatch(/which you deleted. It stays deleted.$/);
  expect(text('deleted-here', 'theirs')).toMatch(/which you deleted. It was put back.$/);
  expect(conflictText([], 'a.ipynb', 'changed', 4, null, trans)).toBe(
    'Somebody changed cell 5 of a.ipynb, and so did you. Your text was kept.'
  );
});

test('a mark says who, if anybody said so', () => {
  expect(markText(['Bot', 'Data agent'], trans)).toBe('Agent edit by Bot, Data agent');
  expect(markText([], trans)).toBe('Changed on disk');
});

/** User names that Jupyter Server invents for requests with its token. */
const INVENTED = ['2f0976f161c0416f9056e4e7aa0c7065', '7d1f9311ec2141318a4b7356a2f267fa'];

test('a toast calls an editor whose user name was invented an agent', () => {
  const more = { removed: 0, isCut: false };
  expect(arrivalText(names(INVENTED, trans), 'u.ipynb', [5], more, trans)).toBe(
    'An agent edited u.ipynb: cell 6'
  );
  expect(names(['Bot', ...INVENTED], trans)).toBe('Bot, An agent');
  // A name of 32 digits that is no version 4 UUID is a name.
  expect(names(['2f0976f161c0116f9056e4e7aa0c7065'], trans)).toBe(
    '2f0976f161c0116f9056e4e7aa0c7065'
  );
});

test('a mark calls an editor whose user name was invented an agent', () => {
  expect(markText(INVENTED, trans)).toBe('Edit by an agent');
  expect(markText(['Bot', ...INVENTED], trans)).toBe('Agent edit by Bot, An agent');
});

test('a conflict calls an editor whose user name was invented an agent', () => {
  expect(conflictText(INVENTED, 'u.ipynb', 'changed', 5, null, trans)).toBe(
    'An agent changed cell 6 of u.ipynb, and so did you. Your text was kept.'
  );
});

/** A bundle that marks what went through it. */
const marking = {
  __: (text: string, ...values: unknown[]) => `«${trans.__(text, ...values)}»`,
  _n: (one: string, many: string, count: number, ...values: unknown[]) =>
    `«${trans._n(one, many, count, ...values)}»`
} as typeof trans;

test('every sentence goes through the translator', () => {
  const more = { removed: 1, isCut: true };
  const failure = { ...NONE, asked: 3, isMetadataInTheWay: true };
  const sentences = [
    arrivalText('Bot', 'a.ipynb', [0, 1, 2, 3, 4], more, marking),
    arrivalText('', 'a.ipynb', [], { removed: 0, isCut: false }, marking),
    takingBackText('Bot', 'a.ipynb', 1, marking),
    takenBackText('Bot', 'a.ipynb', { ...NONE, undone: 1 }, [], 0, marking),
    takenBackText('', 'a.ipynb', failure, [1, 2], 1, marking),
    markText([], marking),
    markText(['Bot'], marking),
    markText(INVENTED, marking),
    ...(['changed', 'deleted-here', 'deleted-on-disk'] as const).flatMap(kind =>
      ([null, 'mine', 'theirs'] as const).map(choice =>
        conflictText([], 'a.ipynb', kind, 0, choice, marking)
      )
    )
  ];
  for (const sentence of sentences) {
    let outside = sentence;
    while (outside.includes('«')) {
      outside = outside.replace(/«[^«»]*»/g, '');
    }
    expect(outside, sentence).toBe('');
  }
});

test('names are cleaned, listed once, and no more than a toast has room for', () => {
  expect(names([' Bot\u200B', 'Bot', '\u202E', 'Data agent', 'C', 'D'], trans)).toBe(
    'Bot, Data agent and 2 more'
  );
  const long = names(
    Array.from({ length: 9 }, (_, index) => `${index}${EVIL}`),
    trans
  );
  const texts = [
    arrivalText(
      names([EVIL], trans),
      EVIL,
      [98, 99, 100, 101, 102],
      { removed: 99, isCut: true },
      trans
    ),
    conflictText([EVIL], EVIL, 'changed', 999, 'mine', trans),
    takenBackText(long, EVIL, { ...NONE, failure: EVIL }, [], 0, trans)
  ];
  for (const text of texts) {
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
  expect(texts[2]?.length).toBeLessThanOrEqual(140);
});
