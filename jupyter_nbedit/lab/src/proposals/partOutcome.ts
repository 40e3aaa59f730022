import { mergeLines } from '../merge/textMerge';
import type { CellDiff, CellState, ProposedPart } from '../server/models';
import type { PartPosition, TabCell } from './proposalPartPosition';

/**
 * What becomes of a cell if a part is accepted:
 *
 * - `as-proposed`: nobody has changed the cell since.
 * - `merged`: it has changed, and both changes fit together.
 * - `conflict`: both changed the same lines, or the part deletes a cell that has changed.
 * - `gone`: there is no such cell any more.
 */
export type OutcomeKind = 'as-proposed' | 'merged' | 'conflict' | 'gone';

export interface PartOutcome {
  readonly kind: OutcomeKind;
  /** The cell in the tab now, and as it is when the part is accepted. */
  readonly diff: CellDiff;
}

/**
 * Compute what becomes of a cell. Where both changed the same lines, the outcome has the part's lines.
 *
 * @param cell The cell in the tab.
 */
export function computeOutcome(
  part: ProposedPart,
  state: PartPosition['state'],
  cell: TabCell | undefined
): PartOutcome {
  const { before, after } = part;
  if (state !== 'changed' || cell === undefined || before === null) {
    return { kind: state === 'gone' ? 'gone' : 'as-proposed', diff: part };
  }
  const current: CellState = { ...before, cell_type: cell.type, source: cell.source };
  if (after === null) {
    return { kind: 'conflict', diff: { ...part, before: current } };
  }
  const { text, hasConflict } = mergeLines(before.source ?? '', cell.source, after.source ?? '');
  const isConverted = cell.type !== before.cell_type;
  return {
    kind: hasConflict || isConverted ? 'conflict' : 'merged',
    diff: {
      ...part,
      before: current,
      // A type that somebody has changed since stays.
      after: { ...after, cell_type: isConverted ? cell.type : after.cell_type, source: text }
    }
  };
}

/** Return whether a user can edit what a part makes of the source of a cell, or of a new cell. */
export function isEditable({ kind, diff: { before, after } }: PartOutcome): boolean {
  return kind !== 'gone' && after?.source != null && before?.source !== after.source;
}
