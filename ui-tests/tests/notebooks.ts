import * as nbformat from '@jupyterlab/nbformat';
import type { Operation } from './agent';

export type CellJson = Record<string, unknown>;

export function makeCodeCell(
  id: string | null,
  source: string,
  outputs: nbformat.IOutput[] = [],
  executionCount: number | null = null
): CellJson {
  return {
    cell_type: 'code',
    execution_count: executionCount,
    ...(id === null ? {} : { id }),
    metadata: {},
    outputs,
    source: splitLines(source)
  };
}

export function makeMarkdownCell(id: string | null, source: string): CellJson {
  return {
    cell_type: 'markdown',
    ...(id === null ? {} : { id }),
    metadata: {},
    source: splitLines(source)
  };
}

export function makeStreamOutput(text: string): nbformat.IOutput {
  return { name: 'stdout', output_type: 'stream', text: splitLines(text) };
}

export function makeHtmlOutput(text: string): nbformat.IOutput {
  return { data: { 'text/html': splitLines(text) }, metadata: {}, output_type: 'display_data' };
}

/** Return an image of about that many bytes, which no browser can show; `n` makes it another one. */
export function makeImageOutput(size: number, n: number): nbformat.IOutput {
  const data = Buffer.alloc(Math.floor((size * 3) / 4), n + 1).toString('base64');
  return { data: { 'image/png': data }, metadata: {}, output_type: 'display_data' };
}

/** Return the text of a notebook file as Jupyter writes it; `minor` is the minor of nbformat 4. */
export function formatNotebook(cells: CellJson[], minor = 5): string {
  return `${JSON.stringify(makeNotebook(cells, minor), null, 1)}\n`;
}

export function makeNotebook(cells: CellJson[], minor = 5): Record<string, unknown> {
  return {
    cells,
    metadata: {
      kernelspec: { display_name: 'Python 3 (ipykernel)', language: 'python', name: 'python3' },
      language_info: { name: 'python' }
    },
    nbformat: 4,
    nbformat_minor: minor
  };
}

/** Return `count` code cells with a few lines and an output, with the ids `cell-id-0`, ... */
export function makeManyCells(count: number): CellJson[] {
  return Array.from({ length: count }, (_, index) =>
    makeCodeCell(
      `cell-id-${index}`,
      `first_${index} = ${index}\nsecond_${index} = ${index}\nprint(${index})`,
      [makeStreamOutput(`output ${index}\n`)],
      index + 1
    )
  );
}

/** Return the operation that replaces a source; a number is the index in `makeManyCells`. */
export function replace(cell: number | string, source = `theirs = ${cell}`): Operation {
  return { op: 'replace', cell: typeof cell === 'number' ? `cell-id-${cell}` : cell, source };
}

/** Return the text of the file that Jupyter writes for the content of a tab. */
export function formatModel(content: nbformat.INotebookContent): string {
  const cells = content.cells.map(cell => {
    // The server keeps what is trusted elsewhere.
    const metadata = { ...cell.metadata };
    delete metadata.trusted;
    const outputs = (cell.outputs as nbformat.IOutput[] | undefined)?.map(output =>
      nbformat.isStream(output)
        ? { ...output, text: splitLines([output.text].flat().join('')) }
        : output
    );
    const source = splitLines([cell.source].flat().join(''));
    return { ...cell, metadata, source, ...(outputs === undefined ? {} : { outputs }) };
  });
  return `${JSON.stringify(sortKeys({ ...content, cells }), null, 1)}\n`;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sortKeys);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sortKeys(each)]));
}

function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}
