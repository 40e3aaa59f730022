import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDelta, type DeltaPart } from '../../src/merge/delta';
import { readFileContent, type Cell, type Notebook } from '../../src/merge/notebook';
import { applyEdits, arbitraryContent, edits, onDisk, openInTab, readDelta } from './notebooks';

/** The parts of a delta from one version to the other, whose common cells are the same objects. */
function buildParts(base: Notebook, disk: Notebook): DeltaPart[] {
  return disk.cells.map(cell => {
    const index = base.cells.indexOf(cell);
    return index >= 0 ? { copy: [index, index + 1] } : { cell: toJson(cell) };
  });
}

function toJson({ id, type, source, metadata, outputs, executionCount }: Cell): object {
  const run = type === 'code' ? { outputs, execution_count: executionCount } : {};
  return { ...(id === null ? {} : { id }), cell_type: type, source, metadata, ...run };
}

const delta = {
  since: 'h0',
  hash: 'h1',
  last_modified: '2026-11-23T10:00:00Z',
  trusted: true,
  cells: []
};

test.each([5, 4] as const)('nbformat 4.%i: base and delta make the version on disk', minor => {
  fc.assert(
    fc.property(arbitraryContent(minor), edits, fc.boolean(), (content, changes, trusted) => {
      const base = openInTab(content);
      const edited = applyEdits(base, changes, 'disk');
      const cells = buildParts(base, readDelta(edited, base));
      const applied = applyDelta(base, { ...delta, trusted, cells });
      const expected = onDisk(edited).cells.map(cell => ({
        ...cell,
        trusted: cell.type === 'code' && trusted
      }));
      const blank = readFileContent({ cells: [] }).cells;
      expect(onDisk(applied).cells).toEqual(expected.length > 0 ? expected : blank);
    })
  );
});

test('a copied cell is the same object, unless its trust changes', () => {
  const base = openInTab({
    nbformat_minor: 5,
    cells: [
      { id: 'a', cell_type: 'code', source: 'a', metadata: {} },
      { id: 'b', cell_type: 'markdown', source: 'b', metadata: {} }
    ]
  });
  const copy = { ...delta, cells: [{ copy: [0, 2] as const }] };
  const untrusted = applyDelta(base, { ...copy, trusted: false });
  expect(untrusted.cells.map((cell, index) => cell === base.cells[index])).toEqual([true, true]);
  const trusted = applyDelta(base, copy);
  expect(trusted.cells[0]).toEqual({ ...base.cells[0], trusted: true });
  expect(trusted.cells[1]).toBe(base.cells[1]);
});

test('metadata and minor version are those of the delta, if it has them', () => {
  const base = openInTab({ nbformat_minor: 4, metadata: { title: 'old' }, cells: [{}] });
  const cells = [{ cell: { id: 'x', cell_type: 'raw', source: 'x', metadata: {} } }];
  expect(applyDelta(base, { ...delta, cells })).toMatchObject({
    metadata: { title: 'old' },
    minor: 4,
    cells: [{ id: null, source: 'x' }]
  });
  const changed = { ...delta, cells, metadata: { title: 'new' }, nbformat_minor: 5 };
  expect(applyDelta(base, changed)).toMatchObject({
    metadata: { title: 'new' },
    minor: 5,
    cells: [{ id: 'x', source: 'x' }]
  });
});

test.each([
  ['more cells than there are', [[0, 4]]],
  ['a negative index', [[-1, 1]]],
  ['a stop before its start', [[2, 1]]],
  [
    'one cell twice',
    [
      [1, 2],
      [0, 2]
    ]
  ]
] as [string, [number, number][]][])('a delta that copies %s is refused', (_, copies) => {
  const base = openInTab({ cells: [{}, {}, {}] });
  const cells = copies.map(copy => ({ copy }));
  expect(() => applyDelta(base, { ...delta, cells })).toThrow('Expected other cells');
});
