import type { Cell, MarkdownCell } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';
import { preserveViewport } from '../ui/viewport';
import { parseHeadings } from './jupyterlabInternals';

/** The metadata of a Markdown cell whose heading is collapsed. */
const COLLAPSED = 'jp-MarkdownHeadingCollapsed';

/**
 * Hide and show cells after a change of the notebook as JupyterLab does when it loads a notebook:
 * the cells below collapsed headings are hidden, and all others are shown.
 *
 * JupyterLab does so only when its user collapses, expands or moves a heading.
 */
export async function updateCollapsedHeadings(notebook: Notebook): Promise<void> {
  const headings = notebook.widgets.filter(isMarkdownCell);
  for (const cell of headings) {
    const isCollapsed = cell.model.getMetadata(COLLAPSED) === true;
    // JupyterLab would hide the editor, and what its user types then would be commands.
    if (cell.headingCollapsed !== isCollapsed && !(isCollapsed && isTypingBelow(notebook, cell))) {
      cell.headingCollapsed = isCollapsed;
    }
  }
  const isAnyHidden = notebook.widgets.some(({ isHidden }) => isHidden);
  if (!isAnyHidden && !headings.some(({ headingCollapsed }) => headingCollapsed)) {
    return;
  }
  // The levels of headings are parsed in the background.
  await Promise.all(headings.map(parseHeadings));
  if (!notebook.isDisposed) {
    hideCells(notebook);
  }
}

function isMarkdownCell(cell: Cell): cell is MarkdownCell {
  return cell.model.type === 'markdown';
}

/** Return whether the user types in a cell below a heading. */
function isTypingBelow(notebook: Notebook, heading: MarkdownCell): boolean {
  const start = notebook.widgets.indexOf(heading) + 1;
  const { level } = heading.headingInfo;
  return (
    notebook.mode === 'edit' &&
    notebook.activeCellIndex >= start &&
    !notebook.widgets
      .slice(start, notebook.activeCellIndex + 1)
      .filter(isMarkdownCell)
      .some(({ headingInfo: next }) => next.level > 0 && next.level <= level)
  );
}

function hideCells(notebook: Notebook): void {
  const { hiddenCells, counts } = findHiddenCells(notebook.widgets);
  if (notebook.mode === 'edit' && notebook.activeCell !== null) {
    hiddenCells.delete(notebook.activeCell);
  }
  const changed = notebook.widgets.filter(cell => cell.isHidden !== hiddenCells.has(cell));
  if (changed.length > 0) {
    preserveViewport(notebook, () => {
      changed.forEach(cell => cell.setHidden(hiddenCells.has(cell)));
    });
  }
  // If a heading is hidden itself, JupyterLab counts its cells when it is shown.
  for (const cell of notebook.widgets.filter(isMarkdownCell).filter(({ isHidden }) => !isHidden)) {
    const count = counts.get(cell) ?? 0;
    if (count !== (cell.numberChildNodes || 0)) {
      cell.numberChildNodes = count;
    }
  }
}

/** Return the cells below collapsed headings, and how many each visible heading hides. */
function findHiddenCells(cells: readonly Cell[]): {
  hiddenCells: Set<Cell>;
  counts: Map<MarkdownCell, number>;
} {
  const hiddenCells = new Set<Cell>();
  const counts = new Map<MarkdownCell, number>();
  let collapsedHeading: MarkdownCell | null = null;
  for (const cell of cells) {
    const level = isMarkdownCell(cell) ? cell.headingInfo.level : -1;
    if (collapsedHeading !== null && level > 0 && level <= collapsedHeading.headingInfo.level) {
      collapsedHeading = null;
    }
    if (collapsedHeading !== null) {
      hiddenCells.add(cell);
      counts.set(collapsedHeading, (counts.get(collapsedHeading) ?? 0) + 1);
    } else if (level > 0 && isMarkdownCell(cell) && cell.headingCollapsed) {
      collapsedHeading = cell;
      counts.set(cell, 0);
    }
  }
  return { hiddenCells, counts };
}
