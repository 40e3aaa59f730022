import type * as nbformat from '@jupyterlab/nbformat';

export type CellJson = Record<string, unknown>;

export function code(
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
    source: lines(source)
  };
}

export function markdown(id: string | null, source: string): CellJson {
  return {
    cell_type: 'markdown',
    ...(id === null ? {} : { id }),
    metadata: {},
    source: lines(source)
  };
}

export function printed(text: string): nbformat.IOutput {
  return { name: 'stdout', output_type: 'stream', text: lines(text) };
}

export function html(text: string): nbformat.IOutput {
  return { data: { 'text/html': lines(text) }, metadata: {}, output_type: 'display_data' };
}

/** The text of a notebook file as Jupyter writes it; `minor` is nbformat's 4.x. */
export function notebook(cells: CellJson[], minor = 5): string {
  return `${JSON.stringify(content(cells, minor), null, 1)}\n`;
}

export function content(cells: CellJson[], minor = 5): Record<string, unknown> {
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

/** `count` code cells of a few lines, each with an output, with the ids `cell-id-0`, ... */
export function many(count: number): CellJson[] {
  return Array.from({ length: count }, (_, index) =>
    code(
      `cell-id-${index}`,
      `first_${index} = ${index}\nsecond_${index} = ${index}\nprint(${index})`,
      [printed(`output ${index}\n`)],
      index + 1
    )
  );
}

function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}
