import { isSameJson, type Cell, type Json, type JsonObject } from './notebook';
import { mergeText } from './textMerge';

/**
 * The keys of metadata in which JupyterLab, or an executor, stores what a run has done. They follow
 * the outputs: no change of them is a conflict.
 */
const RUN_METADATA: ReadonlySet<string> = new Set([
  'execution',
  'ExecuteTime',
  'papermill',
  'trusted'
]);

/** The keys of metadata that are not the content of a cell: also how JupyterLab shows it. */
const SIDE_METADATA: ReadonlySet<string> = new Set([
  ...RUN_METADATA,
  'collapsed',
  'jupyter',
  'scrolled',
  'heading_collapsed',
  'jp-MarkdownHeadingCollapsed'
]);

/**
 * The most characters that are searched for names of attachments: each name is searched in the
 * whole source. With more, a source is taken to refer to each attachment.
 */
const MAX_SEARCHED = 2 ** 26;
/** The types whose lists of strings are values and not lines, as in nbformat. */
const JSON_TYPE = /^application\/json$|\+json$/;

/** The members in which cells are compared; outputs and execution counts follow the source. */
export type Members = Pick<Cell, 'type' | 'source' | 'metadata' | 'attachments'>;

/**
 * Return the names of the members that two changes of one cell have touched differently.
 *
 * The comparison is the same on the server (`jupyter_nbedit/notebook/members.py`), and
 * `tests/member_conflicts.json` has its cases: existence, type, source (by line), each attachment
 * and each key of the metadata.
 *
 * @param mine The cell after one change, or null if that has deleted the cell.
 * @param theirs The cell after the other change, or null.
 */
export function listConflicts(
  base: Members,
  mine: Members | null,
  theirs: Members | null
): string[] {
  if (mine === null || theirs === null) {
    const remaining = mine ?? theirs;
    return remaining !== null && hasNewContent(base, remaining) ? ['existence'] : [];
  }
  const count = listAttachments(base).length;
  const isTypeChanged = mine.type !== base.type && theirs.type !== base.type;
  return [
    ...(isTypeChanged && mine.type !== theirs.type ? ['type'] : []),
    ...(mergeSource(base.source, mine.source, theirs.source) === null ? ['source'] : []),
    ...listChangedKeys(base.metadata, mine.metadata)
      .filter(key => !RUN_METADATA.has(key))
      .filter(key => isInConflict(...getValues(key, base.metadata, mine.metadata, theirs.metadata)))
      .map(key => `metadata.${key}`),
    ...listAttachments(base, mine, theirs)
      .filter(name => {
        const [old, first, second] = [base, mine, theirs].map(side =>
          find(side, name, base, count)
        );
        return isInConflict(old, first, second);
      })
      .map(name => `attachments.${name}`)
  ];
}

/** Merges two changes of a text; returns null if they are in conflict. */
export type TextMerge = (base: string, mine: string, theirs: string) => string | null;

/** Merge two changes of a source; return null if they are in conflict. */
export function mergeSource(
  base: string,
  mine: string,
  theirs: string,
  merge: TextMerge = mergeText
): string | null {
  if (mine === theirs || theirs === base) {
    return mine;
  }
  return mine === base ? theirs : merge(base, mine, theirs);
}

/**
 * Merge the attachments of a cell by name; if both sides changed an attachment, `mine` wins.
 *
 * JupyterLab drops attachments to which no source refers; they return if the merged source does.
 *
 * @param source The merged source.
 */
export function mergeAttachments(
  base: Members,
  mine: Members,
  theirs: Members,
  source: string
): Json {
  const merged: [string, Json][] = [];
  const names = listAttachments(base, mine, theirs);
  for (const name of names) {
    const [old, first, second] = [base, mine, theirs].map(side => getOwnAttachment(side, name));
    const changed = isSameJson(first, old) ? second : first;
    const isUsed = refersTo(source, name, names.length);
    const value = isUsed ? (changed ?? first ?? second ?? old) : changed;
    if (value !== undefined) {
      merged.push([name, value]);
    }
  }
  const isKept = isObject(mine.attachments) && isObject(theirs.attachments);
  return merged.length > 0 || isKept ? Object.fromEntries(merged) : null;
}

/** Return whether a change of a cell would be lost with the cell. */
export function hasNewContent(base: Members, changed: Members): boolean {
  const count = listAttachments(base).length;
  return (
    base.type !== changed.type ||
    base.source !== changed.source ||
    listChangedKeys(base.metadata, changed.metadata).some(key => !SIDE_METADATA.has(key)) ||
    listAttachments(base, changed).some(
      name => !isSameJson(find(base, name, base, count), find(changed, name, base, count))
    )
  );
}

function isInConflict(
  base: Json | undefined,
  mine: Json | undefined,
  theirs: Json | undefined
): boolean {
  return !isSameJson(mine, base) && !isSameJson(theirs, base) && !isSameJson(mine, theirs);
}

function listChangedKeys(base: JsonObject, changed: JsonObject): string[] {
  const keys = new Set([...Object.keys(base), ...Object.keys(changed)]);
  return [...keys].sort().filter(key => {
    const [old, value] = getValues(key, base, changed);
    return !isSameJson(old, value);
  });
}

function getValues<T extends JsonObject[]>(
  key: string,
  ...objects: T
): { [I in keyof T]: Json | undefined } {
  return objects.map(object => getOwn(object, key)) as { [I in keyof T]: Json | undefined };
}

/** Return an attachment; if JupyterLab has dropped it because it is unused, it is unchanged. */
function find(side: Members, name: string, base: Members, count: number): Json | undefined {
  const value = getAttachment(side, name);
  return value === undefined && !refersTo(side.source, name, count)
    ? getAttachment(base, name)
    : value;
}

/** Return whether a source may refer to an attachment, one of so many. */
function refersTo(source: string, name: string, count: number): boolean {
  return source.length * count > MAX_SEARCHED || source.includes(name);
}

function getOwnAttachment({ attachments }: Members, name: string): Json | undefined {
  return isObject(attachments) ? getOwn(attachments, name) : undefined;
}

/** Return an attachment with its texts as strings; nbformat writes lists of lines. */
function getAttachment(side: Members, name: string): Json | undefined {
  const value = getOwnAttachment(side, name);
  return isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([type, item]) => [
          type,
          JSON_TYPE.test(type) ? item : joinLines(item)
        ])
      )
    : value;
}

function listAttachments(...sides: Members[]): string[] {
  const names = sides.flatMap(({ attachments }) =>
    isObject(attachments) ? Object.keys(attachments) : []
  );
  return [...new Set(names)].sort();
}

function joinLines(value: Json): Json {
  return Array.isArray(value) && value.every(line => typeof line === 'string')
    ? value.join('')
    : value;
}

function getOwn(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
