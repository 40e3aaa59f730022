import type { CellDiff } from '../server/models';

/** Return whether a change is about the metadata of the notebook and no cell. */
export function isAboutNotebook(cell: CellDiff): boolean {
  return cell.cell_id === null && cell.index_before === null && cell.index === null;
}

/** Return the two texts of a cell diff; null for both if there is nothing to compare. */
export function getTextPair({ before, after }: Pick<CellDiff, 'before' | 'after'>): {
  readonly before: string | null;
  readonly after: string | null;
  readonly isMetadata: boolean;
} {
  if (before?.source !== after?.source) {
    return { before: before?.source ?? null, after: after?.source ?? null, isMetadata: false };
  }
  const keys = [
    ...new Set([...Object.keys(before?.metadata ?? {}), ...Object.keys(after?.metadata ?? {})])
  ].filter(key => JSON.stringify(before?.metadata[key]) !== JSON.stringify(after?.metadata[key]));
  const getShownSource = (side: CellDiff['before']): string | null => {
    const entries = Object.entries(side?.metadata ?? {}).filter(([key]) => keys.includes(key));
    return keys.length === 0 ? null : JSON.stringify(Object.fromEntries(entries), null, 2);
  };
  return { before: getShownSource(before), after: getShownSource(after), isMetadata: true };
}
