import {
  addBlankCell,
  hasCellIds,
  readCell,
  readMetadata,
  readMinor,
  type Cell,
  type Notebook
} from './notebook';

/** The version of a notebook on disk, as its difference from a known version. */
export interface NotebookDelta {
  /** The hash of the known version. */
  readonly since: string;
  /** The hash of the version on disk. */
  readonly hash: string;
  readonly last_modified: string;
  /** Whether its code cells are trusted. */
  readonly trusted: boolean;
  /** Its cells: ranges of the known version (`stop` is exclusive), and cells as JSON. */
  readonly cells: readonly DeltaPart[];
  /** The metadata of the notebook, if it differs. */
  readonly metadata?: unknown;
  /** The minor version of the format, if it differs. */
  readonly nbformat_minor?: number;
}

/** Cells that a version copies from the known version, or a cell that it does not. */
export type DeltaPart =
  { readonly copy: readonly [start: number, stop: number] } | { readonly cell: unknown };

/**
 * Return the version on disk that a delta describes.
 *
 * Copied cells keep their keys, and are the same objects if their trust is the same, so that a
 * merge recognizes them without a comparison.
 *
 * @param base The version `since`, with all its cells in the order of the file.
 * @throws Error if the delta copies cells that this version does not have, or copies one twice.
 */
export function applyDelta(base: Notebook, delta: NotebookDelta): Notebook {
  const minor = delta.nbformat_minor === undefined ? base.minor : readMinor(delta.nbformat_minor);
  checkCopies(delta, base.cells.length);
  const cells = delta.cells.flatMap(part =>
    'cell' in part
      ? [readNewCell(part.cell, minor, delta.trusted)]
      : base.cells.slice(...part.copy).map(cell => setTrust(cell, delta.trusted))
  );
  const metadata = 'metadata' in delta ? readMetadata(delta.metadata) : base.metadata;
  return addBlankCell({ cells, metadata, minor });
}

function checkCopies({ cells }: NotebookDelta, count: number): void {
  const ranges = cells.flatMap(part => ('copy' in part ? [part.copy] : []));
  let last = 0;
  for (const [start, stop] of ranges.sort(([a], [b]) => a - b)) {
    if (!(last <= start && start <= stop && stop <= count)) {
      throw new Error(`Expected other cells than ${start} to ${stop} of ${count}.`);
    }
    last = stop;
  }
}

function readNewCell(value: unknown, minor: number, isTrusted: boolean): Cell {
  const { id } = (value ?? {}) as { id?: unknown };
  return setTrust(
    readCell(value, hasCellIds(minor) && typeof id === 'string' ? id : null),
    isTrusted
  );
}

/** Only code cells have outputs, and so a trust of their own. */
function setTrust(cell: Cell, isTrusted: boolean): Cell {
  return cell.type !== 'code' || cell.trusted === isTrusted
    ? cell
    : { ...cell, trusted: isTrusted };
}
