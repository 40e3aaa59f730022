/** Notebooks and edits for the property tests. */
import fc from 'fast-check';
import { readNotebook, type Cell, type Notebook } from '../../src/merge/notebook';

/** Return the notebook with the keys by which a tab identifies its cells. */
export function setKeys(notebook: Notebook, keys: readonly string[]): Notebook {
  const cells = notebook.cells.map((cell, index) => ({ ...cell, key: keys[index] ?? null }));
  return { ...notebook, cells };
}

export type Edit =
  | { op: 'write'; cell: number; source: string }
  | { op: 'append'; cell: number; line: string }
  | { op: 'retype'; cell: number; type: string }
  | { op: 'run'; cell: number; text: string }
  | { op: 'tag'; cell: number; tag: string }
  | { op: 'insert'; at: number; source: string }
  | { op: 'delete'; cell: number }
  | { op: 'move'; cell: number; to: number };

const line = fc.constantFrom(
  '',
  'a',
  'b',
  'x = 1',
  'y = 2',
  'é',
  '😀',
  '😁😀',
  '\u{1FA00}',
  '    return'
);
export const text = fc
  .array(fc.oneof(line, fc.string({ unit: 'grapheme', maxLength: 6 })), { maxLength: 6 })
  .map(lines => lines.join('\n'));
const type = fc.constantFrom('code', 'markdown', 'raw');
const place = fc.nat(12);

export const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ op: fc.constant('write' as const), cell: place, source: text }),
  fc.record({ op: fc.constant('append' as const), cell: place, line }),
  fc.record({ op: fc.constant('retype' as const), cell: place, type }),
  fc.record({ op: fc.constant('run' as const), cell: place, text: line }),
  fc.record({ op: fc.constant('tag' as const), cell: place, tag: line }),
  fc.record({ op: fc.constant('insert' as const), at: place, source: text }),
  fc.record({ op: fc.constant('delete' as const), cell: place }),
  fc.record({ op: fc.constant('move' as const), cell: place, to: place })
);
export const edits = fc.array(edit, { maxLength: 6 });

const cell = fc.record({
  cell_type: type,
  source: text,
  metadata: fc.dictionary(fc.constantFrom('tags', 'name', '__proto__', 'scrolled'), line, {
    maxKeys: 2
  }),
  ran: fc.boolean()
});

/** A notebook as the contents API answers it; minor 5 has ids and minor 4 has none. */
export function arbitraryContent(minor: 4 | 5): fc.Arbitrary<object> {
  return fc.array(cell, { minLength: 1, maxLength: 7 }).map(cells => ({
    nbformat: 4,
    nbformat_minor: minor,
    metadata: {},
    cells: cells.map(({ ran, ...rest }, index) => ({
      ...(minor === 5 ? { id: `cell-id-${index}` } : {}),
      ...rest,
      ...(rest.cell_type === 'code'
        ? {
            execution_count: ran ? index : null,
            outputs: ran ? [{ output_type: 'stream', name: 'stdout', text: `${index}` }] : []
          }
        : {})
    }))
  }));
}

/** The notebook in a tab that has just opened it. */
export function openInTab(content: object): Notebook {
  const notebook = readNotebook(content);
  return setKeys(
    notebook,
    notebook.cells.map((cell, index) => cell.id ?? `tab-${index}`)
  );
}

/** The notebook as it is on disk: without the tab's keys. */
export function onDisk(notebook: Notebook): Notebook {
  return {
    ...notebook,
    cells: notebook.cells.map(cell => ({
      ...cell,
      key: null,
      id: notebook.minor < 5 ? null : (cell.id ?? cell.key)
    }))
  };
}

/** The notebook on disk, read as a delta: it has the cells of the base to which nothing happened. */
export function readDelta(notebook: Notebook, base: Notebook): Notebook {
  const cells = onDisk(notebook).cells.map((cell, index) => {
    const original = notebook.cells[index];
    return original !== undefined && base.cells.includes(original) ? original : cell;
  });
  return { ...notebook, cells };
}

/** Edit a notebook; `side` keeps the names of inserted cells apart. */
export function applyEdits(notebook: Notebook, changes: readonly Edit[], side: string): Notebook {
  let cells = [...notebook.cells];
  changes.forEach((change, number) => {
    if (change.op === 'insert') {
      const at = change.at % (cells.length + 1);
      cells.splice(at, 0, makeCell(change.source, `${side}-${number}`, notebook.minor));
      return;
    }
    const at = change.cell % Math.max(cells.length, 1);
    const old = cells[at];
    if (old === undefined) {
      return;
    }
    if (change.op === 'delete') {
      cells.splice(at, 1);
    } else if (change.op === 'move') {
      cells.splice(at, 1);
      cells.splice(change.to % (cells.length + 1), 0, old);
    } else {
      cells = cells.with(at, changeCell(old, change));
    }
  });
  return { ...notebook, cells };
}

export function changeCell(
  cell: Cell,
  change: Extract<Edit, { op: 'write' | 'append' | 'retype' | 'run' | 'tag' }>
): Cell {
  switch (change.op) {
    case 'write':
      return { ...cell, source: change.source, outputs: [], executionCount: null };
    case 'append':
      return { ...cell, source: `${cell.source}\n${change.line}` };
    case 'retype':
      return { ...cell, type: change.type, outputs: [], executionCount: null };
    case 'run':
      return cell.type === 'code'
        ? { ...cell, outputs: [{ output_type: 'stream', text: change.text }], executionCount: 9 }
        : cell;
    case 'tag':
      return { ...cell, metadata: { ...cell.metadata, tags: [change.tag] } };
  }
}

function makeCell(source: string, name: string, minor: number): Cell {
  return {
    key: name,
    id: minor < 5 ? null : name,
    type: 'code',
    source,
    metadata: {},
    attachments: null,
    outputs: [],
    executionCount: null,
    trusted: true
  };
}

/** What a reader of the notebook sees: without names, and without the tab's view on trust. */
export function listCellValues(notebook: { readonly cells: readonly Cell[] }): unknown[] {
  return notebook.cells.map(({ type, source, metadata, attachments, outputs, executionCount }) => ({
    type,
    source,
    metadata,
    attachments,
    outputs,
    executionCount
  }));
}
