/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. Read its keys with `Object.keys`: files may have one named `__proto__`. */
export interface JsonObject {
  [key: string]: Json;
}

/**
 * A cell as a value. `trusted` is separate from the metadata because it is not part of the file.
 */
export interface Cell {
  /** Identifies the cell in this tab; null if the tab does not have the cell yet. */
  readonly key: string | null;
  /** The id of the cell in the file, or null if it has none. */
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

/** The first minor version of nbformat 4 whose cells have ids. */
const FIRST_MINOR_WITH_IDS = 5;

/** Separates an id from the number of its repetition; not valid in an id. */
const REPEAT_SEPARATOR = '\u0000';

/** Cell types that JupyterLab knows; it shows others as raw cells. */
const CELL_TYPES = ['code', 'markdown', 'raw'];

/**
 * The lowest minor version that JupyterLab keeps; it upgrades older notebooks when it opens them.
 */
const MIN_MINOR = 4;

/**
 * Read a notebook from the content that the Contents API returns.
 *
 * @throws Error if it is not a notebook.
 */
export function readFileContent(content: unknown): Notebook {
  return addBlankCell(readNotebook(content));
}

/** Return the notebook as JupyterLab shows it: a notebook without cells gets an empty code cell. */
export function addBlankCell(notebook: Notebook): Notebook {
  return notebook.cells.length > 0
    ? notebook
    : { ...notebook, cells: [readCell({ cell_type: 'code' }, null)] };
}

/**
 * Read a notebook from JSON, as returned by the Contents API or a shared model.
 *
 * Normalize what JupyterLab adds when it opens a file, so that it does not count as a change of the
 * user.
 *
 * @throws Error if it is not a notebook.
 */
export function readNotebook(content: unknown): Notebook {
  if (!isObject(content) || !Array.isArray(content.cells)) {
    throw new Error('Expected a notebook with a list of cells.');
  }
  const minor = readMinor(content.nbformat_minor);
  const ids = numberRepetitions(content.cells.map(cell => (isObject(cell) ? cell.id : null)));
  return {
    cells: content.cells.map((cell, index) =>
      readCell(cell, hasCellIds(minor) ? (ids[index] ?? null) : null)
    ),
    metadata: readMetadata(content.metadata),
    minor
  };
}

/** Read the minor version of a notebook, as JupyterLab keeps it. */
export function readMinor(value: unknown): number {
  return Math.max(toNumber(value, 0), MIN_MINOR);
}

/** Return whether the cells of a notebook with this minor version have ids. */
export function hasCellIds(minor: number): boolean {
  return minor >= FIRST_MINOR_WITH_IDS;
}

/** Read the metadata of a notebook, without what JupyterLab adds or drops. */
export function readMetadata(value: unknown): JsonObject {
  return removeDefaultMetadata(toObject(value));
}

/** Return keys for cells with these ids; a repeated id gets a number. */
export function buildKeys(ids: readonly string[]): string[] {
  return numberRepetitions(ids).map(key => key ?? '');
}

/** Return whether a previous cell has the same id. */
export function isRepeatedId(id: string): boolean {
  return id.includes(REPEAT_SEPARATOR);
}

/** Return whether two JSON values are equal, regardless of the order of their keys. */
export function isSameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) {
    return true;
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && isSameList(a, b);
  }
  if (!isObject(a) || !isObject(b)) {
    return false;
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && isSameJson(a[key], b[key]))
  );
}

/** Return whether two lists of JSON values are equal. */
export function isSameList(a: readonly Json[], b: readonly Json[]): boolean {
  return a.length === b.length && a.every((item, index) => isSameJson(item, b[index]));
}

/**
 * Read a cell from JSON, as the Contents API or a shared model returns it.
 *
 * @param id The id of the cell in the file, or null if it has none.
 */
export function readCell(value: unknown, id: string | null): Cell {
  const cell = toObject(value);
  const { trusted, ...metadata } = toObject(cell.metadata);
  const type = CELL_TYPES.find(known => known === cell.cell_type) ?? 'raw';
  const { source } = cell;
  const executionCount = cell.execution_count;
  return {
    key: null,
    id,
    type,
    source: Array.isArray(source) ? source.map(toText).join('') : toText(source),
    metadata: normalizeCollapsed(metadata),
    attachments: cell.attachments ?? null,
    outputs: type === 'code' && Array.isArray(cell.outputs) ? cell.outputs : [],
    executionCount: typeof executionCount === 'number' ? executionCount || null : null,
    trusted: trusted === true
  };
}

/** JupyterLab keeps `collapsed` and `jupyter.outputs_hidden` equal; a file may have one of them. */
function normalizeCollapsed(metadata: JsonObject): JsonObject {
  const { collapsed, jupyter } = metadata;
  if (typeof collapsed === 'boolean') {
    return { ...metadata, jupyter: { ...toObject(jupyter), outputs_hidden: collapsed } };
  }
  const hidden = isObject(jupyter) ? jupyter.outputs_hidden : undefined;
  return typeof hidden === 'boolean' ? { ...metadata, collapsed: hidden } : metadata;
}

/**
 * JupyterLab adds an empty `kernelspec` and `language_info` to a notebook that has none, and drops
 * the `orig_nbformat` that the server adds to converted notebooks.
 */
function removeDefaultMetadata(metadata: JsonObject): JsonObject {
  const isDefault = (key: string, value: Json): boolean =>
    key === 'orig_nbformat' ||
    (key === 'language_info' && isSameJson(value, { name: '' })) ||
    (key === 'kernelspec' && isSameJson(value, { name: '', display_name: '' }));
  return Object.fromEntries(
    Object.entries(metadata).filter(([key, value]) => !isDefault(key, value))
  );
}

/** Return the names, with a number added to each repetition. */
function numberRepetitions(names: readonly unknown[]): (string | null)[] {
  const counts = new Map<string, number>();
  return names.map(name => {
    if (typeof name !== 'string') {
      return null;
    }
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name}${REPEAT_SEPARATOR}${count}`;
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function toNumber(value: unknown, defaultValue: number): number {
  return typeof value === 'number' ? value : defaultValue;
}
