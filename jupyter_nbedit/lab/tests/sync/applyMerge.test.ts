import { YNotebook, type ISharedCell, type YCodeCell } from '@jupyter/ydoc';
import type { ICellModel } from '@jupyterlab/cells';
import type { INotebookModel } from '@jupyterlab/notebook';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildKeys, readNotebook, type Notebook } from '../../src/merge/notebook';
import { setKeys } from '../merge/notebooks';
import { mergeNotebooks } from '../../src/merge/notebookMerge';
import { applyMerge } from '../../src/sync/applyMerge';
import { TabReader } from '../../src/sync/tabReader';
import { applyEdits, edits, arbitraryContent, onDisk, listCellValues } from '../merge/notebooks';

interface OpenModel extends INotebookModel {
  readonly sharedModel: YNotebook;
  readonly reader: TabReader;
}

/** An open notebook without its widgets: the real shared model. */
function openModel(content: object): OpenModel {
  const sharedModel = YNotebook.create({ disableDocumentWideUndoRedo: true });
  sharedModel.fromJSON(content as Parameters<YNotebook['fromJSON']>[0]);
  sharedModel.clearUndoHistory();
  const trust = new WeakMap<ISharedCell, { trusted: boolean }>();
  const cells = {
    get: (index: number) => {
      const cell = sharedModel.getCell(index);
      const model = trust.get(cell) ?? { trusted: cell.getMetadata('trusted') === true };
      trust.set(cell, model);
      return model as ICellModel;
    }
  };
  const model = { sharedModel, cells } as unknown as OpenModel;
  return Object.assign(model, { reader: new TabReader(model) });
}

/** The content of an open notebook, read without anything remembered. */
function readFresh({ sharedModel }: OpenModel): Notebook {
  const keys = buildKeys(sharedModel.cells.map(({ id }) => id));
  return setKeys(readNotebook(sharedModel.toJSON()), keys);
}

const even: (key: string) => number = () => 1;

function toPlain(...sources: string[]): object {
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: sources.map((source, index) => ({
      id: `c${index}`,
      cell_type: 'code',
      source,
      metadata: {},
      outputs: [],
      execution_count: null
    }))
  };
}

/** Apply what these edits of the disk come to. */
function mergeFromDisk(model: OpenModel, disk: Notebook, weight = even): string[] {
  const local = model.reader.read();
  applyMerge(model, local, mergeNotebooks(local, local, disk), weight);
  expect(model.reader.read()).toEqual(readFresh(model));
  return model.reader.readKeys();
}

test.each([5, 4] as const)('an open notebook of nbformat 4.%i shows the merge', minor => {
  fc.assert(
    fc.property(arbitraryContent(minor), edits, edits, (content, mine, theirs) => {
      const model = openModel(content);
      const base = model.reader.read();
      const local = applyEdits(base, mine, 'local');
      mergeFromDisk(model, onDisk(local));
      const tab = model.reader.read();
      const result = mergeNotebooks(base, tab, onDisk(applyEdits(base, theirs, 'disk')));
      applyMerge(model, tab, result, even);
      const keys = model.reader.readKeys();
      expect(model.reader.read()).toEqual(readFresh(model));
      expect(listCellValues(model.reader.read())).toEqual(listCellValues(result));
      result.cells.forEach((cell, index) => {
        expect(cell.key ?? keys[index]).toBe(keys[index]);
      });
    }),
    { numRuns: 150 }
  );
});

test('cells that nothing happened to keep their models', () => {
  const model = openModel(toPlain('a', 'b', 'c', 'd'));
  const [a, b, c] = model.sharedModel.cells;
  mergeFromDisk(
    model,
    onDisk(applyEdits(model.reader.read(), [{ op: 'delete', cell: 3 }], 'disk'))
  );
  mergeFromDisk(
    model,
    onDisk(applyEdits(model.reader.read(), [{ op: 'insert', at: 1, source: 'n' }], 'disk'))
  );
  mergeFromDisk(
    model,
    onDisk(applyEdits(model.reader.read(), [{ op: 'write', cell: 0, source: 'A' }], 'disk'))
  );
  const cells = model.sharedModel.cells;
  expect(cells.map(cell => cell.source)).toEqual(['A', 'n', 'b', 'c']);
  expect([cells[0] === a, cells[2] === b, cells[3] === c]).toEqual([true, true, true]);
});

test('a cell that must stay keeps its model while the others move around it', () => {
  for (const stays of [0, 1, 2, 3]) {
    const model = openModel(toPlain('a', 'b', 'c', 'd'));
    const before = model.sharedModel.getCell(stays);
    const disk = onDisk(model.reader.read());
    mergeFromDisk(model, { ...disk, cells: [...disk.cells].reverse() }, key =>
      key === `c${stays}` ? 1000 : 1
    );
    expect(model.sharedModel.cells.map(cell => cell.source)).toEqual(['d', 'c', 'b', 'a']);
    expect(model.sharedModel.getCell(3 - stays)).toBe(before);
  }
});

test('a new cell has the id it has in the file', () => {
  const model = openModel(toPlain('a'));
  mergeFromDisk(
    model,
    onDisk(applyEdits(model.reader.read(), [{ op: 'insert', at: 0, source: 'n' }], 'disk'))
  );
  expect(model.sharedModel.cells.map(cell => cell.id)).toEqual(['disk-0', 'c0']);
});

test('an edit from the disk is one step of undo of its own', () => {
  const model = openModel(toPlain('one\ntwo\nthree'));
  const [cell] = model.sharedModel.cells;
  cell?.updateSource(0, 0, 'typed ');
  const text = 'typed ONE\ntwo\nTHREE';
  mergeFromDisk(
    model,
    onDisk(applyEdits(model.reader.read(), [{ op: 'write', cell: 0, source: text }], 'disk'))
  );
  cell?.updateSource(0, 0, 'more ');
  cell?.undo();
  expect(cell?.source).toBe(text);
  cell?.undo();
  expect(cell?.source).toBe('typed one\ntwo\nthree');
  cell?.undo();
  expect(cell?.source).toBe('one\ntwo\nthree');
});

test('cells removed and inserted from the disk are one step of undo of the notebook', () => {
  const model = openModel(toPlain('a', 'b', 'c'));
  const disk = applyEdits(
    model.reader.read(),
    [
      { op: 'delete', cell: 1 },
      { op: 'insert', at: 2, source: 'n' }
    ],
    'disk'
  );
  mergeFromDisk(model, onDisk(disk));
  expect(model.sharedModel.cells.map(cell => cell.source)).toEqual(['a', 'c', 'n']);
  model.sharedModel.undo();
  expect(model.sharedModel.cells.map(cell => cell.source)).toEqual(['a', 'b', 'c']);
});

test('metadata that is gone on disk is gone here', () => {
  const model = openModel(toPlain('a'));
  model.sharedModel.getCell(0).setMetadata('name', 'x');
  model.sharedModel.setMetadata('title', 'x');
  mergeFromDisk(model, readNotebook(toPlain('a')));
  expect(model.sharedModel.getCell(0).metadata).toEqual({});
  expect(Object.keys(model.sharedModel.metadata)).not.toContain('title');
});

test('outputs from an untrusted disk make the cell untrusted, and no save makes it trusted', () => {
  const model = openModel(toPlain('a'));
  model.sharedModel.getCell(0).setMetadata('trusted', true);
  expect(model.cells.get(0).trusted).toBe(true);
  const html = { output_type: 'display_data', data: { 'text/html': '<b>x</b>' }, metadata: {} };
  const disk = readNotebook(toPlain('a'));
  const cells = disk.cells.map(cell => ({ ...cell, outputs: [html] }));
  mergeFromDisk(model, { ...disk, cells });
  expect(model.cells.get(0).trusted).toBe(false);
  expect(model.sharedModel.getCell(0).getMetadata('trusted')).toBeUndefined();
});

test('a cell is replaced when a carriage return is in its former or its new source', () => {
  const model = openModel(toPlain('a\r\nb', 'a\nb', 'a\r\nb', 'plain'));
  const before = model.sharedModel.cells.slice();
  const disk = readNotebook(toPlain('a\r\nc', 'a\r\nb', 'a\r\nb', 'changed'));
  const keys = mergeFromDisk(model, disk);
  expect(keys).toEqual(['c0', 'c1', 'c2', 'c3']);
  expect(model.sharedModel.cells.map(cell => cell.getSource())).toEqual([
    'a\r\nc',
    'a\r\nb',
    'a\r\nb',
    'changed'
  ]);
  const stayed = model.sharedModel.cells.map((cell, index) => cell === before[index]);
  expect(stayed).toEqual([false, false, true, true]);
});

test('a pinned cell keeps its model, whatever is in its source', () => {
  const model = openModel(toPlain('a\r\nb'));
  const [before] = model.sharedModel.cells;
  const local = model.reader.read();
  const result = mergeNotebooks(local, local, readNotebook(toPlain('a\r\nc')), new Set(['c0']));
  applyMerge(model, local, result, even, new Set(['c0']));
  expect(model.sharedModel.cells).toEqual([before]);
  expect(before?.getSource()).toBe('a\r\nc');
});

test('a cell is read again only after it has changed, also by a kernel', () => {
  const model = openModel(toPlain('a', 'b', 'c'));
  const [a, b, c] = model.reader.read().cells;
  const shared = model.sharedModel.getCell(1) as YCodeCell;
  const output = { output_type: 'stream', name: 'stdout', text: 'from the kernel' };
  // JupyterLab stores outputs like this, and the shared model sends no signal.
  model.sharedModel.transact(
    () => shared.setOutputs([output] as Parameters<YCodeCell['setOutputs']>[0]),
    false,
    'silent-change'
  );
  model.sharedModel.setMetadata('title', 'new');
  const { cells, metadata } = model.reader.read();
  expect([cells[0] === a, cells[1] === b, cells[2] === c]).toEqual([true, false, true]);
  expect(cells[1]?.outputs).toEqual([output]);
  expect(metadata).toEqual({ title: 'new' });
  expect(model.reader.read().cells[1]).toBe(cells[1]);
});
