/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. Read its keys with `Object.keys`: files may have one named `__proto__`. */
export interface JsonObject {
  [key: string]: Json;
}

/** A cell as a value. `trusted` is kept apart from the metadata: it is no part of the document. */
export interface Cell {
  /** What names the cell in this tab, or null if the tab does not have it (yet). */
  readonly key: string | null;
  /** What names the cell in the file, or null where the file has no such name. */
  readonly id: string | null;
  readonly type: string;
  readonly source: string;
  readonly metadata: JsonObject;
  readonly attachments: Json;
  readonly outputs: readonly Json[];
  readonly executionCount: number | null;
  readonly trusted: boolean;
}

/** A notebook as a value. */
export interface Notebook {
  readonly cells: readonly Cell[];
  readonly metadata: JsonObject;
  readonly minor: number;
}

/** The first nbformat 4 minor whose cells have ids. */
const FIRST_MINOR_WITH_IDS = 5;

/** Stands between an id and the number of its repetition; no id in a valid notebook has it. */
const REPEATED = '\u0000';

/** Cell types JupyterLab knows; it shows others as raw cells. */
const TYPES = ['code', 'markdown', 'raw'];

/** The least minor JupyterLab keeps; it raises older ones when it opens a file. */
const LEAST_MINOR = 4;

/**
 * Read the notebook of a file, as the contents API answers it.
 *
 * @throws Error if it is not a notebook.
 */
export function readFile(content: unknown): Notebook {
  const notebook = readNotebook(content);
  // JupyterLab shows a notebook without cells with one to begin in.
  return notebook.cells.length > 0
    ? notebook
    : { ...notebook, cells: [readCell({ cell_type: 'code' }, null)] };
}

/**
 * Read a notebook from JSON, as the contents API answers it or a shared model gives it.
 *
 * What JupyterLab adds by itself on opening a file is levelled, so that it does not pass for a
 * change that a person made.
 *
 * @throws Error if it is not a notebook.
 */
export function readNotebook(content: unknown): Notebook {
  if (!isObject(content) || !Array.isArray(content.cells)) {
    throw new Error('Expected a notebook with a list of cells.');
  }
  const minor = Math.max(numberOr(content.nbformat_minor, 0), LEAST_MINOR);
  const named = qualified(content.cells.map(cell => (isObject(cell) ? cell.id : null)));
  return {
    cells: content.cells.map((cell, index) =>
      readCell(cell, minor < FIRST_MINOR_WITH_IDS ? null : (named[index] ?? null))
    ),
    metadata: withoutDefaults(objectOr(content.metadata)),
    minor
  };
}

/** Give cells the keys by which a tab knows them. */
export function withKeys(notebook: Notebook, keys: readonly string[]): Notebook {
  const cells = notebook.cells.map((cell, index) => ({ ...cell, key: keys[index] ?? null }));
  return { ...notebook, cells };
}

/** Keys for cells with these ids; a repeated one says which one it is. */
export function keysOf(ids: readonly string[]): string[] {
  return qualified(ids).map(key => key ?? '');
}

/** Whether an id is one that another cell before it has too. */
export function isRepeated(id: string): boolean {
  return id.includes(REPEATED);
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) {
    return true;
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && sameList(a, b);
  }
  if (!isObject(a) || !isObject(b)) {
    return false;
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

/** Whether two lists of JSON values are the same. */
export function sameList(a: readonly Json[], b: readonly Json[]): boolean {
  return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
}

function readCell(value: unknown, id: string | null): Cell {
  const cell = objectOr(value);
  const { trusted, ...metadata } = objectOr(cell.metadata);
  const type = TYPES.find(known => known === cell.cell_type) ?? 'raw';
  const { source } = cell;
  const executionCount = cell.execution_count;
  return {
    key: null,
    id,
    type,
    source: Array.isArray(source) ? source.map(textOr).join('') : textOr(source),
    metadata: withBothFolds(metadata),
    attachments: cell.attachments ?? null,
    outputs: type === 'code' && Array.isArray(cell.outputs) ? cell.outputs : [],
    executionCount: typeof executionCount === 'number' ? executionCount || null : null,
    trusted: trusted === true
  };
}

/** JupyterLab keeps `collapsed` and `jupyter.outputs_hidden` equal; a file may have one of them. */
function withBothFolds(metadata: JsonObject): JsonObject {
  const { collapsed, jupyter } = metadata;
  if (typeof collapsed === 'boolean') {
    return { ...metadata, jupyter: { ...objectOr(jupyter), outputs_hidden: collapsed } };
  }
  const hidden = isObject(jupyter) ? jupyter.outputs_hidden : undefined;
  return typeof hidden === 'boolean' ? { ...metadata, collapsed: hidden } : metadata;
}

/**
 * JupyterLab adds an empty `kernelspec` and `language_info` to a notebook that has none, and drops
 * the note of the server that it was converted from an older format.
 */
function withoutDefaults(metadata: JsonObject): JsonObject {
  const isDefault = (key: string, value: Json): boolean =>
    key === 'orig_nbformat' ||
    (key === 'language_info' && sameJson(value, { name: '' })) ||
    (key === 'kernelspec' && sameJson(value, { name: '', display_name: '' }));
  return Object.fromEntries(
    Object.entries(metadata).filter(([key, value]) => !isDefault(key, value))
  );
}

/** Names in which each repetition says which one it is. */
function qualified(names: readonly unknown[]): (string | null)[] {
  const seen = new Map<string, number>();
  return names.map(name => {
    if (typeof name !== 'string') {
      return null;
    }
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? name : `${name}${REPEATED}${count}`;
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOr(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
