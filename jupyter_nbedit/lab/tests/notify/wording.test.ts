import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import {
  describeConflict,
  describeFileProblem,
  describeIncomingChange,
  describeMark,
  describeUndoProgress,
  describeUndoResult,
  formatClients
} from '../../src/notify/wording';

const trans = nullTranslator.load('jupyter_nbedit');

const NONE = {
  requestedCount: 1,
  undoneCount: 0,
  conflictingCells: [],
  hasMetadataConflict: false,
  failure: null
};
const NO_PROBLEM = { path: 'a.ipynb', kind: 'deleted', newPath: null, message: null } as const;
const EVIL = `\u202E<img src=x>\u0007${'x'.repeat(100)}`;

test('an arrival says who, where, which cells and what more', () => {
  const more = { removedCount: 0, isTruncated: false, bypassedMode: null };
  expect(describeIncomingChange('Bot', 'a.ipynb', [2], more, trans)).toBe(
    'Bot edited a.ipynb: cell 3'
  );
  expect(describeIncomingChange('', 'a.ipynb', [0, 1], more, trans)).toBe(
    'a.ipynb changed on disk: cells 1 and 2'
  );
  expect(describeIncomingChange('Bot', 'a.ipynb', [], more, trans)).toBe(
    'Bot edited a.ipynb: the metadata'
  );
  expect(
    describeIncomingChange(
      'Bot',
      'a.ipynb',
      [0, 1, 2, 3, 4, 5],
      { removedCount: 2, isTruncated: true, bypassedMode: null },
      trans
    )
  ).toBe('Bot edited a.ipynb: cells 1, 2, 3, 4 and 2 more, 2 cells removed, and others');
});

test('a change by another program says which mode it has bypassed', () => {
  const describe = (bypassedMode: 'review' | 'plan'): string =>
    describeIncomingChange(
      '',
      'a.ipynb',
      [0],
      { removedCount: 0, isTruncated: false, bypassedMode },
      trans
    );
  expect(describe('review')).toBe('a.ipynb changed on disk, without review: cell 1');
  expect(describe('plan')).toBe('a.ipynb changed on disk, although edits are paused: cell 1');
});

test('a missing or unreadable file is described with what the tab does', () => {
  const describe = (problem: object): string =>
    describeFileProblem('a.ipynb', { ...NO_PROBLEM, ...problem }, trans);
  expect(describe({})).toBe(
    'a.ipynb was deleted on disk. This tab keeps its content; save it to create the file again.'
  );
  expect(describe({ kind: 'renamed', newPath: 'x/b.ipynb' })).toContain('renamed to b.ipynb');
  expect(describe({ kind: 'unreadable', message: 'It is no notebook: a.b at line 1.' })).toBe(
    'a.ipynb cannot be read from disk now. This tab keeps its content. It is no notebook.'
  );
  const evil = describe({ kind: 'unreadable', message: EVIL });
  expect(evil).toContain('cannot be read');
  expect(evil.length).toBeLessThanOrEqual(160);
});

test('what was undone is told as far as it was', () => {
  const text = (outcome: object, positions: number[] = [], gone = 0): string =>
    describeUndoResult('Bot', 'a.ipynb', { ...NONE, ...outcome }, positions, gone, trans);
  expect(text({ undoneCount: 1 })).toBe('Undid the edit by Bot in a.ipynb.');
  expect(text({ requestedCount: 3, undoneCount: 3 })).toBe('Undid 3 edits by Bot in a.ipynb.');
  expect(text({}, [2])).toBe('Nothing was undone in a.ipynb: cell 3 has changed since.');
  expect(text({ requestedCount: 3, undoneCount: 2, hasMetadataConflict: true }, [1, 2], 1)).toBe(
    'Undid 2 of 3 edits in a.ipynb: cells 2 and 3 have changed since, 1 cell is gone, ' +
      'the metadata has changed since.'
  );
  expect(text({ failure: 'The server is in plan mode.' })).toBe(
    'Nothing was undone in a.ipynb: The server is in plan mode.'
  );
});

test('a conflict says what has become of the cell', () => {
  const text = (kind: 'changed' | 'deleted-here' | 'deleted-on-disk', choice: 'mine' | 'theirs') =>
    describeConflict(['Bot'], 'a.ipynb', kind, 0, choice, trans);
  expect(text('changed', 'mine')).toMatch(/so did you. Your text was kept.$/);
  expect(text('changed', 'theirs')).toMatch(/so did you. Theirs was taken.$/);
  expect(text('deleted-on-disk', 'mine')).toMatch(/which you changed. It was kept.$/);
  expect(text('deleted-on-disk', 'theirs')).toMatch(/which you changed. It is gone.$/);
  expect(text('deleted-here', 'mine')).toMatch(/which you deleted. It stays deleted.$/);
  expect(text('deleted-here', 'theirs')).toMatch(/which you deleted. It was put back.$/);
  expect(describeConflict([], 'a.ipynb', 'changed', 4, null, trans)).toBe(
    'Somebody changed cell 5 of a.ipynb, and so did you. Your text was kept.'
  );
});

test('a mark says who, if anybody said so', () => {
  expect(describeMark(['Bot', 'Data agent'], trans)).toBe('Agent edit by Bot, Data agent');
  expect(describeMark([], trans)).toBe('Changed on disk');
});

/** User names that Jupyter Server invents for requests with its token. */
const INVENTED = ['2f0976f161c0416f9056e4e7aa0c7065', '7d1f9311ec2141318a4b7356a2f267fa'];

test('a toast calls an editor whose user name was invented an agent', () => {
  const more = { removedCount: 0, isTruncated: false, bypassedMode: null };
  expect(describeIncomingChange(formatClients(INVENTED, trans), 'u.ipynb', [5], more, trans)).toBe(
    'An agent edited u.ipynb: cell 6'
  );
  expect(formatClients(['Bot', ...INVENTED], trans)).toBe('Bot, An agent');
  // A name of 32 digits that is no version 4 UUID is a name.
  expect(formatClients(['2f0976f161c0116f9056e4e7aa0c7065'], trans)).toBe(
    '2f0976f161c0116f9056e4e7aa0c7065'
  );
});

test('a mark calls an editor whose user name was invented an agent', () => {
  expect(describeMark(INVENTED, trans)).toBe('Edit by an agent');
  expect(describeMark(['Bot', ...INVENTED], trans)).toBe('Agent edit by Bot, An agent');
});

test('a conflict calls an editor whose user name was invented an agent', () => {
  expect(describeConflict(INVENTED, 'u.ipynb', 'changed', 5, null, trans)).toBe(
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
  const more = { removedCount: 1, isTruncated: true, bypassedMode: null };
  const failure = { ...NONE, requestedCount: 3, hasMetadataConflict: true };
  const sentences = [
    describeIncomingChange('Bot', 'a.ipynb', [0, 1, 2, 3, 4], more, marking),
    describeIncomingChange(
      '',
      'a.ipynb',
      [],
      { removedCount: 0, isTruncated: false, bypassedMode: null },
      marking
    ),
    describeUndoProgress('Bot', 'a.ipynb', 1, marking),
    describeUndoResult('Bot', 'a.ipynb', { ...NONE, undoneCount: 1 }, [], 0, marking),
    describeUndoResult('', 'a.ipynb', failure, [1, 2], 1, marking),
    describeMark([], marking),
    describeMark(['Bot'], marking),
    describeMark(INVENTED, marking),
    ...(['changed', 'deleted-here', 'deleted-on-disk'] as const).flatMap(kind =>
      ([null, 'mine', 'theirs'] as const).map(choice =>
        describeConflict([], 'a.ipynb', kind, 0, choice, marking)
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
  expect(formatClients([' Bot\u200B', 'Bot', '\u202E', 'Data agent', 'C', 'D'], trans)).toBe(
    'Bot, Data agent and 2 more'
  );
  const long = formatClients(
    Array.from({ length: 9 }, (_, index) => `${index}${EVIL}`),
    trans
  );
  const texts = [
    describeIncomingChange(
      formatClients([EVIL], trans),
      EVIL,
      [98, 99, 100, 101, 102],
      { removedCount: 99, isTruncated: true, bypassedMode: null },
      trans
    ),
    describeConflict([EVIL], EVIL, 'changed', 999, 'mine', trans),
    describeUndoResult(long, EVIL, { ...NONE, failure: EVIL }, [], 0, trans)
  ];
  for (const text of texts) {
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
  expect(texts[2]?.length).toBeLessThanOrEqual(140);
});
