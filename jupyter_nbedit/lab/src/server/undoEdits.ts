import type { Refusal } from './client';
import type { InTheWay } from './models';

/** What the refusal of an undo says of what stands in its way. */
interface Conflict {
  readonly cells?: readonly InTheWay[];
  readonly metadata?: readonly string[];
}

/** How taking back some edits went. */
export interface Outcome {
  /** How many edits were to be taken back. */
  readonly asked: number;
  /** How many are taken back now. */
  readonly undone: number;
  /** The cells for whose sake the others stay: somebody has changed them since. */
  readonly cells: readonly InTheWay[];
  /** Whether the notebook's metadata stands in the way, too. */
  readonly isMetadataInTheWay: boolean;
  /** What else went wrong, in words; what was left then was not tried. */
  readonly failure: string | null;
}

/**
 * Take back edits of one notebook, newest first: each finds the cells as it left them.
 *
 * One that cannot be taken back stays, and those before it are tried all the same.
 *
 * @param edits Oldest first.
 * @param undo Takes one back, or throws the server's refusal.
 * @param explain Returns in words why that failed.
 */
export async function takeBack(
  edits: readonly number[],
  undo: (edit: number) => Promise<unknown>,
  explain: (error: unknown) => string
): Promise<Outcome> {
  const cells: InTheWay[] = [];
  let isMetadataInTheWay = false;
  let undone = 0;
  let failure: string | null = null;
  for (const edit of [...edits].reverse()) {
    try {
      await undo(edit);
      undone++;
    } catch (error) {
      const { reason, details } = error as Partial<Refusal>;
      const { cells: changed = [], metadata = [] } = (details ?? {}) as Conflict;
      if (reason === 'nothing_to_undo') {
        // Somebody has taken it back before us.
        undone++;
      } else if (reason === 'undo_conflict' && changed.length + metadata.length > 0) {
        cells.push(...changed);
        isMetadataInTheWay ||= metadata.length > 0;
      } else {
        failure = explain(error);
        break;
      }
    }
  }
  return { asked: edits.length, undone, cells, isMetadataInTheWay, failure };
}
