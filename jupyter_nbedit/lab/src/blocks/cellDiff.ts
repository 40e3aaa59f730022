import type { TranslationBundle } from '@jupyterlab/translation';
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

/** What can happen to a cell, in the order in which it is listed. */
type CellVerb = 'change' | 'convert' | 'move' | 'clear';

/**
 * Describe what happens to a cell that exists before and after; null if none of the verbs applies.
 *
 * @param phrases A phrase for each verb if it is the first, and if it follows another.
 */
export function joinPhrases(
  { before, after, moved, outputs_cleared: isCleared }: CellDiff,
  phrases: Readonly<Record<CellVerb, readonly [first: string, next: string]>>,
  trans: TranslationBundle
): string | null {
  const [first, ...others] = [
    ...(before?.source === after?.source ? [] : [phrases.change]),
    ...(before?.cell_type === after?.cell_type ? [] : [phrases.convert]),
    ...(moved ? [phrases.move] : []),
    ...(isCleared ? [phrases.clear] : [])
  ];
  if (first === undefined) {
    return null;
  }
  const texts = [first[0], ...others.map(([, next]) => next)];
  const last = texts.pop() ?? '';
  return texts.length === 0 ? last : trans.__('%1 and %2', texts.join(', '), last);
}
