import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import type { NetEffect } from '../../src/notify/netEffect';
import type { ConflictChoice } from '../../src/notify/openConflicts';
import {
  describeConflict,
  describeConflictCount,
  describeConflicts,
  describeFileProblem,
  describeIncomingChanges,
  describeUndoProgress,
  describeUndoResult,
  formatClients,
  formatMoreClients,
  type ChangeDescription
} from '../../src/notify/wording';

const trans = nullTranslator.load('jupyter_nbedit');

const NONE = {
  requestedCount: 1,
  undoneCount: 0,
  conflictingCells: [],
  hasMetadataConflict: false,
  failure: null,
  isCancelled: false
};
const NO_PROBLEM = { path: 'a.ipynb', kind: 'deleted', newPath: null, message: null } as const;
const EVIL = `\u202E<img src=x>\u0007${'x'.repeat(100)}`;

const CHANGE: ChangeDescription = {
  clientNames: 'Claude',
  file: 'a.ipynb',
  isCurrent: true,
  messages: [],
  effect: {
    changed: 1,
    added: 0,
    moved: 0,
    deleted: 0,
    hasMetadataChange: false,
    isTruncated: false
  },
  bypassedMode: null
};

function describeChange(more: Partial<ChangeDescription>, effect: Partial<NetEffect> = {}): string {
  const description = { ...CHANGE, ...more, effect: { ...CHANGE.effect, ...effect } };
  return describeIncomingChanges(description, trans);
}

test('a toast says who, why, and what has changed all in all', () => {
  expect(describeChange({ messages: ['Drop the test account'] }, { deleted: 1 })).toBe(
    'Claude: Drop the test account - 1 cell changed, 1 deleted'
  );
  expect(describeChange({})).toBe('Claude: 1 cell changed');
  expect(describeChange({ isCurrent: false }, { changed: 0, added: 2, moved: 3 })).toBe(
    'Claude in a.ipynb: 2 cells added, 3 moved'
  );
  expect(
    describeChange(
      { isCurrent: false, messages: ['Tidy'] },
      { changed: 0, moved: 1, hasMetadataChange: true, isTruncated: true }
    )
  ).toBe('Claude in a.ipynb: Tidy - 1 cell moved, the metadata changed, and others');
  expect(describeChange({ clientNames: '', isCurrent: false }, { changed: 2 })).toBe(
    'a.ipynb changed on disk: 2 cells changed'
  );
  expect(describeChange({ clientNames: '' }, { changed: 0 })).toBe(
    'a.ipynb changed on disk: the metadata changed'
  );
});

test('of several messages a toast has the newest, and counts the others', () => {
  expect(describeChange({ messages: ['First', 'Second', 'Last'] })).toBe(
    'Claude: Last, and 2 more - 1 cell changed'
  );
  expect(describeChange({ messages: ['Same', '', 'Same'] })).toBe('Claude: Same - 1 cell changed');
});

test('what JupyterLab would cut is cut from the message and the names, not from the effect', () => {
  const everything = { changed: 100, added: 100, moved: 100, deleted: 100 };
  const effect = '100 cells changed, 100 added, 100 moved, 100 deleted';
  for (const name of ['Claude', 'A name of some length', 'x'.repeat(90)]) {
    for (const file of ['a.ipynb', `${'y'.repeat(60)}.ipynb`]) {
      for (const message of ['Why', 'A sentence that says why. '.repeat(9), '😀'.repeat(200)]) {
        const messages = ['Another', message];
        const text = describeChange(
          { clientNames: name, file, isCurrent: false, messages },
          everything
        );
        expect(text.length).toBeLessThanOrEqual(140);
        expect(text.endsWith(effect)).toBe(true);
        expect(text).not.toMatch(/\p{Cs}/u);
      }
    }
  }
  expect(describeChange({ messages: ['A sentence that says why. '.repeat(9)] })).toHaveLength(140);
});

test('a message is one line without characters that turn or hide the text', () => {
  expect(describeChange({ messages: [EVIL] })).toMatch(/^Claude: <img src=x>x+ - 1 cell changed$/);
});

test('a change by another program says which mode it has bypassed', () => {
  const describe = (bypassedMode: 'review' | 'plan'): string =>
    describeChange({ clientNames: '', bypassedMode });
  expect(describe('review')).toBe('Another program changed a.ipynb without review: 1 cell changed');
  expect(describe('plan')).toBe(
    'Another program changed a.ipynb, although edits are paused: 1 cell changed'
  );
});

test('agents beyond the number of toasts are counted', () => {
  expect(describeChange({ clientNames: formatMoreClients(1, trans) })).toBe(
    '1 more agent: 1 cell changed'
  );
  expect(formatMoreClients(2, trans)).toBe('2 more agents');
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

test('a block says how both sides changed its cell', () => {
  const kinds = ['changed', 'deleted-on-disk', 'deleted-here'] as const;
  const describe = (...clients: string[]): string[] =>
    kinds.map(kind => describeConflict(clients, kind, trans));
  expect(describe('Claude')).toEqual([
    'Claude and you both changed this cell',
    'Claude deleted this cell, which you changed',
    'Claude changed this cell, which you deleted'
  ]);
  expect(describe('Claude', 'Codex')[0]).toBe('Claude and Codex changed this cell, and so did you');
  expect(describeConflictCount(['Claude', 'Codex'], 'a.ipynb', 2, trans)).toBe(
    'Claude and Codex changed 2 cells of a.ipynb, and so did you'
  );
  expect(describe()).toEqual([
    'Another program and you both changed this cell',
    'Another program deleted this cell, which you changed',
    'Another program changed this cell, which you deleted'
  ]);
  // From another window, or by a button in the page.
  expect(describe('JupyterLab')).toEqual([
    'You changed this cell here and in the file',
    'You changed this cell here, and deleted it in the file',
    'You deleted this cell here, and changed it in the file'
  ]);
});

test('a toast about conflicts says how many there are, and what has become of them', () => {
  const describe = (count: number, choice: ConflictChoice | null, file: string | null = null) =>
    describeConflicts(['Claude'], file, count, choice, trans);
  expect(describe(1, null)).toBe(
    'Claude and you both changed 1 cell. Yours stays until you choose.'
  );
  expect(describe(2, null, 'a.ipynb')).toBe(
    'Claude and you both changed 2 cells of a.ipynb. Yours stays until you choose.'
  );
  expect(describe(2, 'mine')).toBe('Claude and you both changed 2 cells. Yours was kept.');
  expect(describe(2, 'theirs')).toBe('Claude and you both changed 2 cells. Theirs was taken.');
  expect(describe(2, 'both')).toBe('Claude and you both changed 2 cells. Both were kept.');
  expect(describeConflicts([], null, 1, 'mine', trans)).toBe(
    'Another program and you both changed 1 cell. Yours was kept.'
  );
  expect(describeConflicts(['JupyterLab'], null, 2, null, trans)).toBe(
    'You changed 2 cells here and in the file. Yours stays until you choose.'
  );
  expect(describeConflicts(['JupyterLab'], 'a.ipynb', 1, null, trans)).toBe(
    'You changed 1 cell of a.ipynb here and in the file. Yours stays until you choose.'
  );
  for (const client of [EVIL, 'JupyterLab']) {
    expect(describeConflicts([client], EVIL, 999, null, trans).length).toBeLessThanOrEqual(140);
  }
});

/** User names that Jupyter Server invents for requests with its token. */
const INVENTED = ['2f0976f161c0416f9056e4e7aa0c7065', '7d1f9311ec2141318a4b7356a2f267fa'];

test('a toast calls an editor whose user name was invented an agent', () => {
  expect(describeChange({ clientNames: formatClients(INVENTED, trans) })).toBe(
    'An agent: 1 cell changed'
  );
  expect(formatClients(['Bot', ...INVENTED], trans)).toBe('Bot and An agent');
  // A name of 32 digits that is no version 4 UUID is a name.
  expect(formatClients(['2f0976f161c0116f9056e4e7aa0c7065'], trans)).toBe(
    '2f0976f161c0116f9056e4e7aa0c7065'
  );
});

/** A bundle that marks what went through it. */
const marking = {
  __: (text: string, ...values: unknown[]) => `«${trans.__(text, ...values)}»`,
  _n: (one: string, many: string, count: number, ...values: unknown[]) =>
    `«${trans._n(one, many, count, ...values)}»`
} as typeof trans;

test('every sentence goes through the translator', () => {
  const effect = { ...CHANGE.effect, added: 1, moved: 1, deleted: 1, isTruncated: true };
  const described = (['review', 'plan', null] as const).flatMap(bypassedMode =>
    [true, false].flatMap(isCurrent =>
      ['Bot', ''].flatMap(clientNames => [
        { ...CHANGE, clientNames, isCurrent, bypassedMode, effect },
        { ...CHANGE, clientNames, isCurrent, bypassedMode, effect: { ...effect, changed: 0 } }
      ])
    )
  );
  const failure = { ...NONE, requestedCount: 3, hasMetadataConflict: true };
  const sentences = [
    ...described.map(description => describeIncomingChanges(description, marking)),
    formatMoreClients(2, marking),
    describeUndoProgress('Bot', 'a.ipynb', 1, marking),
    describeUndoResult('Bot', 'a.ipynb', { ...NONE, undoneCount: 1 }, [], 0, marking),
    describeUndoResult('', 'a.ipynb', failure, [1, 2], 1, marking),
    ...(['changed', 'deleted-here', 'deleted-on-disk'] as const).map(kind =>
      describeConflict(['Bot'], kind, marking)
    ),
    ...([null, 'mine', 'theirs', 'both'] as const).flatMap(choice =>
      ['a.ipynb', null].map(file => describeConflicts([], file, 2, choice, marking))
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
    describeChange({
      clientNames: formatClients([EVIL], trans),
      file: EVIL,
      isCurrent: false,
      messages: [EVIL]
    }),
    describeConflicts([EVIL], EVIL, 999, 'mine', trans),
    describeUndoResult(long, EVIL, { ...NONE, failure: EVIL }, [], 0, trans)
  ];
  for (const text of texts) {
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
  expect(texts[2]?.length).toBeLessThanOrEqual(140);
});
