import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BaseVersion, type TabContent } from '../../src/merge/baseVersion';
import type { Notebook } from '../../src/merge/notebook';
import type { NotebookMerge } from '../../src/merge/notebookMerge';
import { applyEdits, edits, arbitraryContent, onDisk, openInTab } from './notebooks';

/** A tab without a window: it shows merges, and its cells can run. */
class TestTab {
  constructor(public notebook: Notebook) {}

  running = new Set<string>();

  readonly read = (): TabContent => ({ notebook: this.notebook, pinnedKeys: this.running });

  readonly show = (result: NotebookMerge): Notebook => {
    const cells = result.cells.map(cell => ({ ...cell, key: cell.key ?? `new-${this._count++}` }));
    this.notebook = { cells, metadata: result.metadata, minor: result.minor };
    return this.notebook;
  };

  private _count = 0;
}

function listSources(notebook: Notebook): unknown[] {
  return notebook.cells.map(cell => [cell.type, cell.source]);
}

// A cell that ran here and is deleted on disk is asked about instead.
/** Return a tab with these code cells. */
function openCells(...ids: readonly string[]): TestTab {
  const cells = ids.map(id => ({ id, cell_type: 'code', source: id, metadata: {} }));
  return new TestTab(openInTab({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells }));
}

const writes = edits.map(list => list.filter(({ op }) => op !== 'delete'));
const which = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 });

test('what the disk did to running cells comes when they are done, saved meanwhile or not', () => {
  fc.assert(
    fc.property(
      arbitraryContent(5),
      edits,
      writes,
      which,
      fc.boolean(),
      fc.boolean(),
      (...args) => {
        const [content, first, second, running, isSaved, comesTwice] = args;
        const tab = new TestTab(openInTab(content));
        const baseline = new BaseVersion<string>(tab.notebook);
        tab.running = new Set(
          tab.notebook.cells.flatMap(({ key }, index) => (running[index] ? (key ?? []) : []))
        );
        let disk = applyEdits(tab.notebook, first, 'first');
        baseline.mergeDisk(onDisk(disk), [], tab.read(), tab.show);
        if (isSaved) {
          baseline.markSaved(tab.notebook, change => change);
        } else if (comesTwice) {
          disk = applyEdits(disk, second, 'second');
          baseline.mergeDisk(onDisk(disk), [], tab.read(), tab.show);
        }
        tab.running = new Set();
        baseline.mergeDeferred(tab.read, tab.show);
        expect(baseline.hasDeferred).toBe(false);
        expect(listSources(tab.notebook)).toEqual(listSources(disk));
      }
    )
  );
});

test('while nothing has changed for a running cell there is nothing to wait for', () => {
  const tab = openCells('a');
  tab.running.add('a');
  const baseline = new BaseVersion<string>(tab.notebook);
  baseline.mergeDisk(
    onDisk(applyEdits(tab.notebook, [{ op: 'insert', at: 0, source: 'b' }], 'disk')),
    [],
    tab.read(),
    tab.show
  );
  expect(baseline.hasDeferred).toBe(false);
  expect(listSources(tab.notebook)).toEqual([
    ['code', 'b'],
    ['code', 'a']
  ]);
});

test('a cell the tab and the disk changed is in conflict once, not after every look', () => {
  const tab = openCells('a');
  const baseline = new BaseVersion<string>(tab.notebook);
  const disk = onDisk(
    applyEdits(tab.notebook, [{ op: 'write', cell: 0, source: 'theirs' }], 'disk')
  );
  tab.notebook = applyEdits(tab.notebook, [{ op: 'write', cell: 0, source: 'mine' }], 'tab');
  const found: number[] = [];
  const show = (result: NotebookMerge): Notebook => {
    found.push(result.conflicts.length);
    return tab.show(result);
  };
  baseline.mergeDisk(disk, [], tab.read(), show);
  baseline.mergeDisk(disk, [], tab.read(), show);
  expect(found).toEqual([1, 0]);
  expect(listSources(tab.notebook)).toEqual([['code', 'mine']]);
});

test.each([
  { name: 'unsaved', isSaved: false },
  { name: 'saved', isSaved: true }
])('what waits keeps the reports of its changes: $name', ({ isSaved }) => {
  const tab = openCells('a', 'b', 'c');
  const baseline = new BaseVersion<string>(tab.notebook);
  const shown: [readonly string[], number][] = [];
  const show = (result: NotebookMerge, changes: readonly string[]): Notebook => {
    shown.push([changes, result.removedCount]);
    return tab.show(result);
  };
  tab.running.add('a').add('b');
  const retyped = applyEdits(tab.notebook, [{ op: 'retype', cell: 1, type: 'raw' }], 'disk');
  baseline.mergeDisk(onDisk(retyped), ['retyped'], tab.read(), show);
  expect([...baseline.deferredCells]).toEqual([['b', { kind: 'changed', changes: ['retyped'] }]]);
  const deleted = applyEdits(retyped, [{ op: 'delete', cell: 0 }], 'disk');
  baseline.mergeDisk(onDisk(deleted), ['deleted'], tab.read(), show);
  baseline.addReports(['late']);
  if (isSaved) {
    baseline.markSaved(tab.notebook, change => `${change} before a save`);
  }
  const changes = ['retyped', 'deleted', 'late'].map(change =>
    isSaved ? `${change} before a save` : change
  );
  expect(Object.fromEntries(baseline.deferredCells)).toEqual({
    a: { kind: 'deleted', changes },
    b: { kind: 'changed', changes }
  });
  tab.running.delete('a');
  baseline.mergeDeferred(tab.read, show);
  expect([...baseline.deferredCells.keys()]).toEqual(['b']);
  expect(shown).toEqual([
    [['retyped'], 0],
    [['deleted'], 0],
    [changes, 1]
  ]);
});

test('a move of a running cell among running cells waits', () => {
  const tab = openCells('a', 'b');
  const baseline = new BaseVersion<string>(tab.notebook);
  tab.running.add('a').add('b');
  const moved = applyEdits(tab.notebook, [{ op: 'move', cell: 0, to: 1 }], 'disk');
  baseline.mergeDisk(onDisk(moved), ['moved'], tab.read(), tab.show);
  expect([...baseline.deferredCells.values()]).toEqual([{ kind: 'moved', changes: ['moved'] }]);
});
