/** A cell of a notebook, as far as headings matter. */
export interface SectionCell {
  /** Whether it is hidden below a collapsed heading. */
  readonly isHidden: boolean;
  /** Whether it is a collapsed heading. */
  readonly isCollapsed: boolean;
}

/** Something at a cell. */
export interface CellEntry {
  readonly key: string;
  readonly position: { readonly cell: number };
  /** Number of changes that it stands for; 1 if it is left out. */
  readonly changeCount?: number;
}

/** The entries that a collapsed heading hides. */
export interface HiddenEntries {
  /** The key of the first hidden entry. */
  readonly firstKey: string;
  /** Number of changes that they stand for. */
  readonly count: number;
}

/**
 * Group entries by the collapsed heading that hides them.
 *
 * @returns What is hidden, by the index of the heading's cell; visible entries are left out.
 */
export function groupByCollapsedHeading(
  cells: readonly SectionCell[],
  entries: readonly CellEntry[]
): Map<number, HiddenEntries> {
  const groups = new Map<number, HiddenEntries>();
  for (const { key, position, changeCount = 1 } of entries) {
    let index = position.cell;
    if (cells[index]?.isHidden !== true) {
      continue;
    }
    // A collapsed heading may itself be hidden by one above.
    while (index >= 0 && (cells[index]?.isHidden === true || cells[index]?.isCollapsed !== true)) {
      index--;
    }
    if (index >= 0) {
      const { firstKey, count } = groups.get(index) ?? { firstKey: key, count: 0 };
      groups.set(index, { firstKey, count: count + changeCount });
    }
  }
  return groups;
}

/** A heading of a table of contents. */
export interface TocHeading {
  /** The index of its cell, or -1 if the cell is gone. */
  readonly cell: number;
  readonly level: number;
  /** Whether the headings below it are not shown. */
  readonly isCollapsed: boolean;
}

/**
 * Count the changes of each heading: of its section up to the next heading, and of the sections that
 * it hides if it is collapsed.
 */
export function countByHeading(
  headings: readonly TocHeading[],
  entries: readonly CellEntry[]
): number[] {
  const counts = headings.map(() => 0);
  for (const { position, changeCount = 1 } of entries) {
    const index = findHeading(headings, position.cell);
    if (index !== null) {
      counts[index] = (counts[index] ?? 0) + changeCount;
    }
  }
  return headings.map(({ isCollapsed, level }, index) => {
    let total = counts[index] ?? 0;
    for (
      let next = index + 1;
      isCollapsed && next < headings.length && (headings[next]?.level ?? 0) > level;
      next++
    ) {
      total += counts[next] ?? 0;
    }
    return total;
  });
}

/** Return the heading of a cell: the first heading in it, or else the last heading above it. */
function findHeading(headings: readonly TocHeading[], cell: number): number | null {
  const own = headings.findIndex(heading => heading.cell === cell);
  if (own >= 0) {
    return own;
  }
  const above = headings.map(heading => heading.cell >= 0 && heading.cell < cell).lastIndexOf(true);
  return above < 0 ? null : above;
}
