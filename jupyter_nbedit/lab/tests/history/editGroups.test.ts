import { nullTranslator } from '@jupyterlab/translation';
import { describe, expect, test, vi } from 'vitest';
import { NO_FILTER, selectEdits } from '../../src/history/editFilter';
import { getAuthorKey, groupEdits } from '../../src/history/editGroups';
import {
  describeLines,
  describeEditGroup,
  describeUndoGroup,
  formatLineCounts,
  formatSnippet
} from '../../src/history/wording';
import type { HistoryEdit } from '../../src/server/models';
import { makeEdit } from './edits';

const trans = nullTranslator.load('jupyter_nbedit');
const USER = '7d1f9311ec2141318a4b7356a2f267fa';
const OTHER_USER = '0c1f9311ec2141318a4b7356a2f267fb';

const makeAt = (id: number, minute: number, given: Partial<HistoryEdit> = {}): HistoryEdit =>
  makeEdit(id, { time: new Date(Date.UTC(2026, 10, 21, 10, minute)).toISOString(), ...given });

/** The edits of each row of each group. */
const listRows = (edits: readonly HistoryEdit[]): number[][][] =>
  groupEdits(edits).map(({ rows }) => rows.map(row => row.map(({ edit_id: id }) => id)));

/** Return an item that must exist. */
function getItem<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) {
    throw new Error(`There is no item ${index}.`);
  }
  return item;
}

describe('A group', () => {
  test('ends with a pause of more than half an hour', () => {
    expect(listRows([makeAt(4, 92), makeAt(3, 61), makeAt(2, 31), makeAt(1, 1)])).toEqual([
      [[4]],
      [[3], [2], [1]]
    ]);
  });

  test('ends where another author edits', () => {
    const [claude, codex] = [{ client: 'Claude' }, { client: 'Codex' }];
    expect(listRows([makeAt(3, 2, claude), makeAt(2, 1, codex), makeAt(1, 0, claude)])).toEqual([
      [[3]],
      [[2]],
      [[1]]
    ]);
  });

  test('has the edits of one client, whatever user names the server has made up for its token', () => {
    const edits = [makeAt(2, 1, { user: USER }), makeAt(1, 0, { user: OTHER_USER })];
    expect(listRows(edits)).toEqual([[[2], [1]]]);
    expect(listRows([makeAt(2, 1, { user: 'anna' }), makeAt(1, 0, { user: 'ben' })])).toHaveLength(
      2
    );
  });

  test('shows undos in one go as one row', () => {
    const undo = { kind: 'undo', client: 'JupyterLab' } as const;
    const edits = [
      makeAt(6, 3, { client: 'JupyterLab' }),
      makeAt(5, 2, { ...undo, undoes: 1 }),
      makeAt(4, 2, { ...undo, undoes: 2 }),
      makeAt(3, 0, { ...undo, undoes: 0 })
    ];
    expect(listRows(edits)).toEqual([[[6], [5, 4], [3]]]);
    expect(listRows([makeAt(2, 0, undo), makeAt(1, 0, { ...undo, path: 'b.ipynb' })])).toEqual([
      [[2], [1]]
    ]);
  });

  test('says how many edits there are, and when', () => {
    vi.stubGlobal('document', { documentElement: { lang: 'en-GB' } });
    const local = (minute: number): string => new Date(2026, 10, 21, 10, minute).toISOString();
    const group = getItem(
      groupEdits([makeEdit(2, { time: local(31) }), makeEdit(1, { time: local(2) })]),
      0
    );
    expect(describeEditGroup(group, false, trans)).toMatch(/^2 edits · 21 Nov, 10:02\s*–\s*10:31$/);
    expect(describeEditGroup(group, true, trans)).toMatch(/^2 or more edits · /);
  });
});

test('undos in one go say whose edits they have undone, if that is known', () => {
  const claude = makeEdit(1, { client: 'Claude', user: USER });
  const codex = makeEdit(2, { client: 'Codex', user: USER });
  expect(describeUndoGroup([claude, claude], trans)).toBe('Undid 2 edits of Claude');
  expect(describeUndoGroup([claude, codex], trans)).toBe('Undid 2 edits');
  expect(describeUndoGroup([claude, undefined], trans)).toBe('Undid 2 edits');
});

test('the changed lines are counted, and shown without what reverses or hides text', () => {
  const edit = makeEdit(1, { lines_added: 3, lines_removed: 1, snippet: 'a\u202E = 1' });
  expect(formatLineCounts(edit)).toEqual({ added: '+3', removed: '−1' });
  expect(describeLines(edit, trans)).toBe('3 lines added, 1 line removed');
  expect(formatSnippet(edit)).toBe('a = 1');
  const unknown = makeEdit(1, { lines_added: null, lines_removed: null, snippet: null });
  expect([formatLineCounts(unknown), formatSnippet(unknown)]).toEqual([null, '']);
});

describe('A filter', () => {
  const edits = [
    makeEdit(3, { client: 'Claude', message: 'Rename the Column' }),
    makeEdit(2, { client: 'Codex', path: 'deep/rain.ipynb' }),
    makeEdit(1, { client: 'Claude', snippet: 'weeks.plot()' })
  ];
  const filters: [string, { author?: string; text?: string }, number[]][] = [
    ['of nothing shows all', {}, [3, 2, 1]],
    ['finds words of the message in any case', { text: 'column rename' }, [3]],
    ['finds the path', { text: 'deep/' }, [2]],
    ['finds the changed line', { text: '.plot(' }, [1]],
    ['finds the title', { text: 'cell 3 changed' }, [3, 2, 1]],
    ['finds the edits of an author', { author: getAuthorKey(getItem(edits, 0)) }, [3, 1]],
    ['finds what has both', { author: getAuthorKey(getItem(edits, 0)), text: 'plot' }, [1]]
  ];
  test.each(filters)('%s', (_, filter, expected) => {
    const found = selectEdits(edits, { ...NO_FILTER, ...filter }, trans);
    expect(found.map(({ edit_id: id }) => id)).toEqual(expected);
  });
});
