import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isSameJson,
  readFileContent,
  readNotebook,
  type Cell,
  type Notebook
} from '../../src/merge/notebook';
import {
  compareNotebooks,
  mergeNotebooks,
  resolveKeys,
  type NotebookMerge
} from '../../src/merge/notebookMerge';
import { mergeText } from '../../src/merge/textMerge';
import {
  changeCell,
  edit,
  applyEdits,
  edits,
  arbitraryContent,
  onDisk,
  openInTab,
  readDelta,
  listCellValues,
  text
} from './notebooks';

/** What the tab has after a merge: cells new to it get names of the tab's own. */
function applyToTab(result: NotebookMerge, names = 'new'): Notebook {
  return {
    cells: result.cells.map((cell, index) => ({ ...cell, key: cell.key ?? `${names}-${index}` })),
    metadata: result.metadata,
    minor: result.minor
  };
}

function listKeys(notebook: Notebook): string[] {
  return notebook.cells.map(cell => cell.key ?? '');
}

function getCellByKey(notebook: Notebook, key: string | null): Cell | undefined {
  return notebook.cells.find(cell => cell.key === key);
}

function getSources({ cells }: Pick<Notebook, 'cells'>): string[] {
  return cells.map(({ source }) => source);
}

/** The content of a file with these cells. */
function makeContent(minor: number, cells: readonly object[]): object {
  return { nbformat: 4, nbformat_minor: minor, metadata: {}, cells };
}

/** Cells `alpha`, `beta`, ... with the given sources, as code. */
function makeNotebook(...sources: string[]): Notebook {
  const ids = ['alpha', 'beta', 'gamma', 'delta'];
  return openInTab(
    makeContent(
      5,
      sources.map((source, index) => ({
        id: ids[index],
        cell_type: 'code',
        source,
        metadata: {},
        execution_count: 1,
        outputs: [{ output_type: 'stream', name: 'stdout', text: source }]
      }))
    )
  );
}

function changeFirst(base: Notebook, change: Partial<Cell>): Notebook {
  return { ...base, cells: base.cells.map((cell, i) => (i === 0 ? { ...cell, ...change } : cell)) };
}

function write(base: Notebook, cell: number, source: string): Notebook {
  return applyEdits(base, [{ op: 'write', cell, source }], 'test');
}

describe.each([
  [5, 'as a whole', onDisk],
  [4, 'as a whole', onDisk],
  [5, 'as a delta', readDelta],
  [4, 'as a delta', readDelta]
] as const)('notebooks of nbformat 4.%i, read %s', (minor, _, readDisk) => {
  test('what changed on disk only arrives exactly', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, (content, changes) => {
        const base = openInTab(content);
        const disk = readDisk(applyEdits(base, changes, 'disk'), base);
        const result = mergeNotebooks(base, base, disk);
        expect(listCellValues(result)).toEqual(listCellValues(disk));
        expect(result.conflicts).toEqual([]);
      })
    );
  });

  test('what changed here only stays exactly, and nothing is touched', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, (content, changes) => {
        const base = openInTab(content);
        const local = applyEdits(base, changes, 'local');
        const result = mergeNotebooks(base, local, readDisk(base, base));
        expect(applyToTab(result)).toEqual({ ...local, cells: applyToTab(result).cells });
        expect(listKeys(applyToTab(result))).toEqual(listKeys(local));
        expect(listCellValues(result)).toEqual(listCellValues(local));
        expect(result.changedIndexes).toEqual([]);
        expect(result.removedCount).toBe(0);
      })
    );
  });

  test('text typed here is never lost, whatever the disk does', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, edits, (content, mine, theirs) => {
        const base = openInTab(content);
        const local = applyEdits(base, mine, 'local');
        const disk = readDisk(applyEdits(base, theirs, 'disk'), base);
        const result = applyToTab(mergeNotebooks(base, local, disk));
        for (const cell of local.cells) {
          const before = getCellByKey(base, cell.key);
          if (before?.source !== cell.source) {
            const after = getCellByKey(result, cell.key);
            const lines = (after?.source ?? '').split('\n');
            const known = (before?.source ?? '').split('\n');
            const typed = cell.source.split('\n').filter(line => !known.includes(line));
            expect(after).toBeDefined();
            expect(lines).toEqual(expect.arrayContaining(typed));
          }
        }
      })
    );
  });

  test('text written on disk is in the result or in a conflict', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, edits, (content, mine, theirs) => {
        const base = openInTab(content);
        const local = applyEdits(base, mine, 'local');
        const disk = readDisk(applyEdits(base, theirs, 'disk'), base);
        const result = mergeNotebooks(base, local, disk);
        const known = new Set(base.cells.flatMap(cell => cell.source.split('\n')));
        const found = new Set(
          [...result.cells, ...result.conflicts.map(({ theirs: cell }) => cell)].flatMap(
            cell => cell?.source.split('\n') ?? []
          )
        );
        for (const line of disk.cells.flatMap(cell => cell.source.split('\n'))) {
          expect(known.has(line) || found.has(line)).toBe(true);
        }
      })
    );
  });

  test('merging a side with itself changes nothing', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, (content, changes) => {
        const base = openInTab(content);
        const result = mergeNotebooks(base, base, readDisk(base, base));
        expect(result.changedIndexes).toEqual([]);
        expect(listKeys(applyToTab(result))).toEqual(listKeys(base));
        const local = applyEdits(base, changes, 'local');
        const saved = mergeNotebooks(base, local, readDisk(local, base));
        expect(saved.conflicts).toEqual([]);
        expect(saved.changedIndexes).toEqual([]);
        expect(listKeys(applyToTab(saved))).toEqual(listKeys(local));
        const again = mergeNotebooks(local, local, readDisk(local, base));
        expect(again.changedIndexes).toEqual([]);
        expect(again.removedCount).toBe(0);
        expect(again.conflicts).toEqual([]);
        expect(listKeys(applyToTab(again))).toEqual(listKeys(local));
      })
    );
  });

  test('merging again right after a merge changes nothing', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, edits, (content, mine, theirs) => {
        const base = openInTab(content);
        const disk = readDisk(applyEdits(base, theirs, 'disk'), base);
        const first = mergeNotebooks(base, applyEdits(base, mine, 'local'), disk);
        const local = applyToTab(first);
        const again = mergeNotebooks(resolveKeys(first.newBase, local), local, disk);
        expect(again.conflicts).toEqual([]);
        expect(again.changedIndexes).toEqual([]);
        expect(listKeys(applyToTab(again))).toEqual(listKeys(local));
      })
    );
  });

  test('a tab without changes of its own does not differ from the disk after a merge', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, (content, theirs) => {
        const base = openInTab(content);
        const result = mergeNotebooks(base, base, readDisk(applyEdits(base, theirs, 'disk'), base));
        const local = applyToTab(result);
        expect(compareNotebooks(local, resolveKeys(result.newBase, local))).toBe('none');
      })
    );
  });

  test('running cells stay in place, and what was left out comes when they are done', () => {
    fc.assert(
      fc.property(
        arbitraryContent(minor),
        edits,
        fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
        (content, theirs, running) => {
          const base = openInTab(content);
          const pinned = new Set(listKeys(base).filter((_, index) => running[index]));
          const disk = readDisk(applyEdits(base, theirs, 'disk'), base);
          const result = mergeNotebooks(base, base, disk, pinned);
          const local = applyToTab(result);
          expect(listKeys(local).filter(key => pinned.has(key))).toEqual([...pinned]);
          for (const key of pinned) {
            expect(getCellByKey(local, key)?.type).toBe(getCellByKey(base, key)?.type);
            expect(getCellByKey(local, key)?.outputs).toEqual(getCellByKey(base, key)?.outputs);
          }
          if (result.newBaseWithoutDeferred !== null) {
            const before = resolveKeys(result.newBaseWithoutDeferred, local);
            const after = resolveKeys(result.newBase, local);
            const later = mergeNotebooks(before, local, after);
            expect(later.cells.map(cell => [cell.type, cell.source])).toEqual(
              disk.cells.map(cell => [cell.type, cell.source])
            );
          } else {
            expect(local.cells.map(cell => [cell.type, cell.source])).toEqual(
              disk.cells.map(cell => [cell.type, cell.source])
            );
          }
        }
      )
    );
  });

  test('no cell becomes trusted that neither side trusts, unless it has nothing to trust', () => {
    fc.assert(
      fc.property(arbitraryContent(minor), edits, edits, (content, mine, theirs) => {
        const base = openInTab(content);
        const local = applyEdits(base, mine, 'local');
        const disk = readDisk(applyEdits(base, theirs, 'disk'), base);
        const distrusted = { ...disk, cells: disk.cells.map(c => ({ ...c, trusted: false })) };
        const untrusted = { ...local, cells: local.cells.map(c => ({ ...c, trusted: false })) };
        for (const cell of mergeNotebooks(base, untrusted, distrusted).cells) {
          expect(cell.trusted && cell.outputs.length > 0).toBe(false);
        }
      })
    );
  });
});

test('the result is the same whenever the tab looks at the disk', () => {
  const writes = fc.array(
    edit.filter(change => ['write', 'append', 'retype', 'run', 'tag'].includes(change.op)),
    { maxLength: 6 }
  );
  fc.assert(
    fc.property(
      arbitraryContent(5),
      writes,
      writes,
      fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
      (content, mine, theirs, looks) => {
        const start = openInTab(content);
        const outcome = (looksAt: (step: number) => boolean): unknown => {
          let [base, local, disk] = [start, start, start];
          const look = (): void => {
            const result = mergeNotebooks(base, local, onDisk(disk));
            local = applyToTab(result);
            base = resolveKeys(result.newBase, local);
          };
          for (let step = 0; step < Math.max(mine.length, theirs.length); step++) {
            local = one(local, mine[step], 0);
            disk = one(disk, theirs[step], 1);
            if (looksAt(step)) {
              look();
            }
          }
          look();
          return listCellValues(local);
        };
        expect(outcome(step => looks[step] === true)).toEqual(outcome(() => false));
      }
    )
  );

  /** The tab changes cells 0, 2, 4, ..., the disk cells 1, 3, 5, .... */
  function one(now: Notebook, change: unknown, offset: 0 | 1): Notebook {
    const written = change as Parameters<typeof changeCell>[1] | undefined;
    const at = written === undefined ? -1 : written.cell * 2 + offset;
    return {
      ...now,
      cells: now.cells.map((cell, index) =>
        written !== undefined && index === at ? changeCell(cell, written) : cell
      )
    };
  }
});

test('the result is the same in whichever order the disk got its insertions', () => {
  fc.assert(
    fc.property(
      arbitraryContent(5),
      fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6]),
      text,
      (content, order, typed) => {
        const base = openInTab(content);
        const local = write(base, 0, typed);
        const all = order.filter(index => index < base.cells.length);
        const insertCells = (names: number[]): Notebook =>
          names.reduce(
            (now, index) => ({
              ...now,
              cells: now.cells.flatMap(cell =>
                cell.key === `cell-id-${index}`
                  ? [cell, { ...cell, key: `n-${index}`, id: `n-${index}` }]
                  : [cell]
              )
            }),
            base
          );
        const sorted = [...all].sort((a, b) => a - b);
        const once = mergeNotebooks(base, local, onDisk(insertCells(sorted)));
        let [tab, known, disk] = [local, base, base];
        for (const index of all) {
          disk = insertCells(all.slice(0, all.indexOf(index) + 1));
          const step = mergeNotebooks(known, tab, onDisk(disk));
          tab = applyToTab(step, `step-${index}`);
          known = resolveKeys(step.newBase, tab);
        }
        expect(listCellValues(tab)).toEqual(listCellValues(once));
      }
    )
  );
});

test('a cell whose text both sides changed keeps the local one and tells', () => {
  const base = makeNotebook('a', 'b');
  const result = mergeNotebooks(base, write(base, 0, 'mine'), onDisk(write(base, 0, 'theirs')));
  expect(result.cells[0]?.source).toBe('mine');
  expect(result.conflicts).toMatchObject([
    { index: 0, kind: 'changed', mine: { source: 'mine' }, theirs: { source: 'theirs' } }
  ]);
});

test('changes to different lines of one cell are merged without asking', () => {
  const base = makeNotebook('a\nb\nc');
  const result = mergeNotebooks(base, write(base, 0, 'A\nb\nc'), onDisk(write(base, 0, 'a\nb\nC')));
  expect(result.cells[0]?.source).toBe('A\nb\nC');
  expect(result.conflicts).toEqual([]);
  expect(mergeText('a\nb\nc', 'A\nb\nc', 'a\nb\nC')).toBe('A\nb\nC');
});

test('a cell deleted on disk and changed here stays and tells', () => {
  const base = makeNotebook('a', 'b');
  const disk = onDisk(applyEdits(base, [{ op: 'delete', cell: 0 }], 'disk'));
  const result = mergeNotebooks(base, write(base, 0, 'mine'), disk);
  expect(getSources(result)).toEqual(['mine', 'b']);
  expect(result.conflicts).toMatchObject([{ index: 0, kind: 'deleted-on-disk', theirs: null }]);
});

test.each([
  ['folded', { metadata: { collapsed: true, jupyter: { outputs_hidden: true } } }],
  ['scrolled', { metadata: { scrolled: true } }],
  ['run', { outputs: [], executionCount: 7, metadata: { execution: { at: 1 } } }]
])('a cell deleted on disk and only %s here is deleted', (_, change) => {
  const base = makeNotebook('a', 'b');
  const disk = onDisk(applyEdits(base, [{ op: 'delete', cell: 0 }], 'disk'));
  const result = mergeNotebooks(base, changeFirst(base, change), disk);
  expect(getSources(result)).toEqual(['b']);
  expect(result.conflicts).toEqual([]);
});

test('a cell deleted here and only folded on disk stays deleted', () => {
  const base = makeNotebook('a', 'b');
  const local = applyEdits(base, [{ op: 'delete', cell: 0 }], 'local');
  const disk = onDisk(changeFirst(base, { metadata: { collapsed: true } }));
  expect(getSources(mergeNotebooks(base, local, disk))).toEqual(['b']);
});

test('what is typed into a blank cell stays without a question when the disk drops the cell', () => {
  const base = openInTab(
    makeContent(5, [{ id: 'made', cell_type: 'code', source: '', metadata: {}, outputs: [] }])
  );
  const disk = readNotebook(
    makeContent(5, [{ id: 'new', cell_type: 'markdown', source: 'theirs', metadata: {} }])
  );
  const result = mergeNotebooks(base, write(base, 0, 'mine'), disk);
  expect(result.cells.map(cell => cell.source).sort()).toEqual(['mine', 'theirs']);
  expect(result.conflicts).toEqual([]);
  expect(getSources(mergeNotebooks(base, base, disk))).toEqual(['theirs']);
});

test('a cell deleted here and changed on disk comes back and tells', () => {
  const base = makeNotebook('a', 'b');
  const local = applyEdits(base, [{ op: 'delete', cell: 0 }], 'local');
  const result = mergeNotebooks(base, local, onDisk(write(base, 0, 'theirs')));
  expect(getSources(result)).toEqual(['theirs', 'b']);
  expect(result.conflicts).toMatchObject([{ index: 0, kind: 'deleted-here', mine: null }]);
});

test('a cell deleted here and only run elsewhere stays deleted', () => {
  const base = makeNotebook('a', 'b');
  const local = applyEdits(base, [{ op: 'delete', cell: 0 }], 'local');
  const disk = onDisk(applyEdits(base, [{ op: 'run', cell: 0, text: 'new' }], 'disk'));
  expect(getSources(mergeNotebooks(base, local, disk))).toEqual(['b']);
});

test('an edit on disk clears the outputs here', () => {
  const base = makeNotebook('a');
  const result = mergeNotebooks(base, base, onDisk(write(base, 0, 'theirs')));
  expect(result.cells[0]).toMatchObject({ source: 'theirs', outputs: [], executionCount: null });
});

test('a cell run here keeps its new outputs under an edit on disk', () => {
  const base = makeNotebook('a');
  const local = applyEdits(base, [{ op: 'run', cell: 0, text: 'fresh' }], 'local');
  const result = mergeNotebooks(base, local, onDisk(write(base, 0, 'theirs')));
  expect(result.cells[0]).toMatchObject({ source: 'theirs', outputs: [{ text: 'fresh' }] });
});

test('a move on one side and a move on the other are both in the result', () => {
  const base = makeNotebook('a', 'b', 'c', 'd');
  const local = applyEdits(base, [{ op: 'move', cell: 0, to: 1 }], 'local');
  const disk = onDisk(applyEdits(base, [{ op: 'move', cell: 3, to: 2 }], 'disk'));
  expect(getSources(mergeNotebooks(base, local, disk))).toEqual(['b', 'a', 'd', 'c']);
});

test('a cell that the disk has merged into a cell with a conflict stays until the choice', () => {
  const base = makeNotebook('a = 1', 'b = 1', 'c = 1');
  const merge = (notebook: Notebook, source: string): Notebook =>
    onDisk({
      ...write(notebook, 0, source),
      cells: write(notebook, 0, source).cells.toSpliced(1, 1)
    });
  const local = write(base, 0, 'a = 10');
  const result = mergeNotebooks(base, local, merge(base, 'a = 1\nb = 1'));
  expect(getSources(result)).toEqual(['a = 10', 'b = 1', 'c = 1']);
  expect(result.conflicts).toMatchObject([{ index: 0, absorbed: [{ source: 'b = 1' }] }]);
  expect(result.removedCount).toBe(0);
  // A cell that is only deleted beside a conflict goes at once.
  const deletion = mergeNotebooks(base, local, merge(base, 'a = 2'));
  expect(getSources(deletion)).toEqual(['a = 10', 'c = 1']);
  expect(deletion.conflicts).toMatchObject([{ index: 0, absorbed: [] }]);
  const restored = mergeNotebooks(
    base,
    applyEdits(base, [{ op: 'delete', cell: 0 }], 'local'),
    merge(base, 'a = 1\nb = 1')
  );
  expect(getSources(restored)).toEqual(['a = 1\nb = 1', 'b = 1', 'c = 1']);
});

test.each([
  // [base, cells on disk by their indexes in the base, with their sources, absorbed sources]
  ['part of a word', ['y', 'x', 'z'], { 0: 'y = max(1)', 2: 'z' }, []],
  ['part of a line', ['y', 'x = 1', 'z'], { 0: 'y\nx = 10', 2: 'z' }, []],
  ['lines that are not consecutive', ['y', 'x\nw', 'z'], { 0: 'y\nx\nv\nw', 2: 'z' }, []],
  ['behind a cell that stays', ['y', 'z', 'x'], { 0: 'y\nx', 1: 'z' }, []],
  ['behind another deleted cell', ['y', 'z', 'x'], { 0: 'y\nx' }, ['x']],
  ['the next cells', ['y', 'x', ' ', 'z'], { 0: 'y\nx\n \nz' }, ['x', 'z']],
  ['the previous cells', ['x', 'z', 'y'], { 2: 'x\n\nz\n\ny' }, ['x', 'z']],
  ['an equal cell', ['y', 'y'], { 0: 'y\ny' }, ['y']]
] as [string, string[], Record<number, string>, string[]][])(
  'what a cell with a conflict has absorbed: %s',
  (_, sources, diskSources, absorbed) => {
    const base = makeNotebook(...sources);
    const local = write(base, sources.indexOf('y'), 'y typed');
    const disk = onDisk({
      ...base,
      cells: base.cells.flatMap((cell, index) => {
        const source = diskSources[index];
        return source === undefined ? [] : [{ ...cell, source }];
      })
    });
    const { conflicts, cells } = mergeNotebooks(base, local, disk);
    expect(conflicts.map(conflict => conflict.absorbed.map(({ source }) => source))).toEqual([
      absorbed
    ]);
    expect(cells).toHaveLength(disk.cells.length + absorbed.length);
  }
);

test('a cell inserted here stays behind the cell it was put after', () => {
  const base = makeNotebook('a', 'b');
  const local = applyEdits(base, [{ op: 'insert', at: 1, source: 'mine' }], 'local');
  const disk = onDisk(applyEdits(base, [{ op: 'insert', at: 2, source: 'theirs' }], 'disk'));
  expect(getSources(mergeNotebooks(base, local, disk))).toEqual(['a', 'mine', 'b', 'theirs']);
});

test('cells without ids keep their names when one of them is rewritten', () => {
  const content = (middle: string): object =>
    makeContent(
      4,
      ['import os', middle, 'print(1)'].map(source => ({
        cell_type: 'code',
        source,
        metadata: {},
        outputs: [],
        execution_count: null
      }))
    );
  const base = openInTab(content('x = 1'));
  const result = mergeNotebooks(base, base, readNotebook(content('nothing = "alike"')));
  expect(listKeys(applyToTab(result))).toEqual(listKeys(base));
  expect(result.changedIndexes).toEqual([1]);
});

test('of two equal cells without ids the one in the place of the edited one is the edited one', () => {
  const content = (...sources: string[]): object =>
    makeContent(
      4,
      sources.map(source => ({ cell_type: 'raw', source, metadata: {} }))
    );
  const base = openInTab(content('T', 'X', 'y = 1', 'y = 1'));
  const result = mergeNotebooks(
    base,
    base,
    readNotebook(content('T', 'X', 'y = 2', 'y = 1', 'z = 2'))
  );
  expect(result.localIndexes).toEqual([0, 1, 2, 3, null]);
  const first = mergeNotebooks(base, base, readNotebook(content('N', 'T', 'X', 'y = 1', 'y = 2')));
  expect(first.localIndexes).toEqual([null, 0, 1, 2, 3]);
});

test('a cell saved by a tab that never heard so is not doubled', () => {
  const base = openInTab(
    makeContent(4, [{ cell_type: 'code', source: 'old', metadata: {}, outputs: [] }])
  );
  const local = applyEdits(
    base,
    [
      { op: 'insert', at: 1, source: 'new' },
      { op: 'delete', cell: 0 }
    ],
    'local'
  );
  const result = mergeNotebooks(base, local, onDisk(local));
  expect(getSources(result)).toEqual(['new']);
});

test('a cell saved by a tab that never heard so is not doubled by the next edit on disk', () => {
  const base = openInTab(
    makeContent(
      4,
      ['first', 'second'].map(source => ({ cell_type: 'raw', source, metadata: {} }))
    )
  );
  const local = applyEdits(base, [{ op: 'insert', at: 1, source: 'mine' }], 'local');
  const result = mergeNotebooks(base, local, onDisk(write(local, 2, 'theirs')));
  expect(getSources(result)).toEqual(['first', 'mine', 'theirs']);
  expect(result.localIndexes).toEqual([0, 1, 2]);
});

test('other cells move around a running one at once', () => {
  const base = makeNotebook('a', 'b');
  const disk = onDisk(applyEdits(base, [{ op: 'move', cell: 0, to: 1 }], 'disk'));
  for (const running of ['alpha', 'beta']) {
    const result = mergeNotebooks(base, base, disk, new Set([running]));
    expect(getSources(result)).toEqual(['b', 'a']);
    expect(result.newBaseWithoutDeferred).toBeNull();
  }
});

test('two cells with one id are told apart by their order', () => {
  const content = (second: string): object =>
    makeContent(
      5,
      ['one', second].map(source => ({
        id: 'same',
        cell_type: 'markdown',
        source,
        metadata: {}
      }))
    );
  const base = readNotebook(content('two'));
  const local = { ...base, cells: base.cells.map(cell => ({ ...cell, key: cell.id })) };
  const result = mergeNotebooks(local, local, readNotebook(content('second')));
  expect(getSources(result)).toEqual(['one', 'second']);
  expect(result.changedIndexes).toEqual([1]);
});

test('metadata is merged key by key, and a key of both sides keeps the local value', () => {
  const start = makeNotebook('a');
  const withMetadata = (metadata: Notebook['metadata']): Notebook => ({ ...start, metadata });
  const result = mergeNotebooks(
    withMetadata({ both: 1, gone: 1, kept: 1 }),
    withMetadata({ both: 2, gone: 1, kept: 1, mine: 1 }),
    onDisk(withMetadata({ both: 3, kept: 1, theirs: 1 }))
  );
  expect(result.metadata).toEqual({ both: 2, kept: 1, mine: 1, theirs: 1 });
});

test('a key named __proto__ reaches no prototype', () => {
  const content = JSON.parse(
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {"__proto__": {"polluted": 1}},' +
      ' "cells": [{"id": "a", "cell_type": "raw", "source": "", "metadata": {"__proto__": {"polluted": 1}}}]}'
  ) as object;
  const base = makeNotebook('a');
  const result = mergeNotebooks(base, base, readNotebook(content));
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(Object.getPrototypeOf(result.metadata)).toBe(Object.prototype);
  expect(Object.keys(result.metadata)).toEqual(['__proto__']);
  expect(Object.keys(result.cells[0]?.metadata ?? {})).toEqual(['__proto__']);
});

test('what JupyterLab adds by itself on opening is not taken for a change', () => {
  const file = readNotebook(
    makeContent(2, [
      {
        cell_type: 'code',
        source: 'a',
        metadata: { collapsed: true },
        outputs: [],
        execution_count: 0
      },
      { cell_type: 'heading', source: 'b', metadata: {} }
    ])
  );
  const lab = readNotebook({
    nbformat: 4,
    nbformat_minor: 4,
    metadata: {
      kernelspec: { name: '', display_name: '' },
      language_info: { name: '' }
    },
    cells: [
      {
        cell_type: 'code',
        source: 'a',
        metadata: { collapsed: true, jupyter: { outputs_hidden: true }, trusted: true },
        outputs: [],
        execution_count: null
      },
      { cell_type: 'raw', source: 'b', metadata: {} }
    ]
  });
  expect(compareNotebooks(lab, file)).toBe('none');
  const none = readFileContent({ metadata: { orig_nbformat: 3 }, cells: [] });
  const one = readNotebook({ metadata: {}, cells: [{ cell_type: 'code', source: '' }] });
  expect(compareNotebooks(one, none)).toBe('none');
});

test('what is left out for a running cell brings no cell back that was deleted here', () => {
  const base = makeNotebook('a', 'b', 'c');
  const local = applyEdits(base, [{ op: 'delete', cell: 2 }], 'local');
  const disk = onDisk(applyEdits(base, [{ op: 'delete', cell: 0 }], 'disk'));
  const result = mergeNotebooks(base, local, disk, new Set(['alpha']));
  expect(getSources(result)).toEqual(['a', 'b']);
  const tab = applyToTab(result);
  const before = result.newBaseWithoutDeferred && resolveKeys(result.newBaseWithoutDeferred, tab);
  const later = mergeNotebooks(before ?? base, tab, resolveKeys(result.newBase, tab));
  expect(getSources(later)).toEqual(['b']);
});

test('objects are the same only if neither has a key the other lacks', () => {
  expect(isSameJson({ a: 1, b: [2] }, { b: [2], a: 1 })).toBe(true);
  expect(isSameJson({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  expect(isSameJson({ a: 1, b: 2 }, { a: 1 })).toBe(false);
});

test('a notebook is refused if it has no cells', () => {
  expect(() => readNotebook({ metadata: {} })).toThrow('list of cells');
});
