import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, type Notebook } from '@jupyterlab/notebook';

/** For how many frames after a change the place in the window is held. */
const FRAMES = 30;

/** How often that place is corrected at most: something else may scroll, too, and against us. */
const CORRECTIONS = 8;

/** What the reader does to go elsewhere. */
const GOES_ELSEWHERE = ['wheel', 'pointerdown', 'keydown', 'touchstart'];

/** Of each notebook what lets go of its place, as long as that is held. */
const holds = new WeakMap<Notebook, Set<() => void>>();

/**
 * Change a notebook's cells under its reader's eyes: the same cell stays active, in the same mode,
 * selected cells stay selected, and what the reader looks at stays where it is in the window, until
 * he or `letGo` moves on.
 */
export function keepView(notebook: Notebook, change: () => void): void {
  const activeId = notebook.activeCell?.model.id;
  const { mode } = notebook;
  const hadFocus = notebook.node.contains(document.activeElement);
  const selected = new Set(
    notebook.widgets.filter(cell => notebook.isSelected(cell)).map(cell => cell.model.id)
  );
  const hold = held(notebook);
  change();
  const active = notebook.widgets.findIndex(cell => cell.model.id === activeId);
  if (active >= 0 && notebook.activeCellIndex !== active) {
    notebook.activeCellIndex = active;
  }
  for (const cell of notebook.widgets) {
    if (selected.has(cell.model.id) && !notebook.isSelected(cell)) {
      notebook.select(cell);
    }
  }
  if (active >= 0 && hadFocus && !notebook.node.contains(document.activeElement)) {
    notebook.mode = mode;
    notebook.activate();
  }
  hold();
}

/** Hold a notebook's place in the window no longer. */
export function letGo(notebook: Notebook): void {
  holds.get(notebook)?.forEach(release => release());
}

/** Make a cell the active one, and bring it to the middle of the window. */
export async function goToCell(notebook: Notebook, cell: Cell): Promise<void> {
  // A cell below a collapsed heading has no place to scroll to.
  NotebookActions.expandParent(cell, notebook);
  letGo(notebook);
  await notebook.scrollToCell(cell, 'center');
  holdInMiddle(notebook, cell);
}

/** Bring a cell to the middle of the window; the focus and the active cell stay the same. */
export async function scrollToMiddle(notebook: Notebook, cell: Cell): Promise<void> {
  letGo(notebook);
  // It rejects when something else scrolls the notebook before it is done.
  const isDone = await notebook.scrollToItem(notebook.widgets.indexOf(cell), 'center').then(
    () => true,
    () => false
  );
  if (isDone) {
    holdInMiddle(notebook, cell);
  }
}

/** Whether a part of a cell can be seen in its notebook's window. */
export function isInSight(notebook: Notebook, node: Element): boolean {
  const outer = notebook.outerNode.getBoundingClientRect();
  const { top, bottom } = node.getBoundingClientRect();
  const isThere = bottom > outer.top && top < outer.bottom && bottom > top;
  // A windowed notebook keeps its active cell, out of sight, invisible within sight.
  return isThere && getComputedStyle(node).opacity !== '0';
}

/**
 * Remember where in the window the active cell is, or if it is not in sight the first one that is.
 *
 * The browser's own scroll anchoring is absent in some browsers and drifts in windowed notebooks.
 *
 * @returns Puts it back there, now and while cells take their sizes, until something moves on.
 */
function held(notebook: Notebook): () => void {
  const inSightNow = notebook.widgets.filter(({ node }) => isInSight(notebook, node));
  const active = inSightNow.filter(cell => cell === notebook.activeCell);
  // Of several, since one may be scrolled out by the change itself.
  const anchors = [...active, ...inSightNow].map(({ model, node }) => ({
    id: model.id,
    top: node.getBoundingClientRect().top
  }));
  const driftOf = ({ id, top }: { id: string; top: number }): number[] => {
    const rect = notebook.widgets
      .find(({ model }) => model.id === id)
      ?.node.getBoundingClientRect();
    return rect === undefined || rect.height === 0 ? [] : [rect.top - top];
  };
  // A change of its height has a windowed notebook begin anew with cells of guessed sizes, and then
  // what was in sight may not even be on the page.
  const lost = (): number | undefined => {
    const index = notebook.widgets.findIndex(({ model }) => model.id === anchors[0]?.id);
    if (!isWindowed(notebook) || index < 0) {
      return undefined;
    }
    void notebook.scrollToItem(index, 'start');
    return 0;
  };
  return () => hold(notebook, () => anchors.flatMap(driftOf)[0] ?? lost());
}

/**
 * Hold a cell in the middle of the window.
 *
 * JupyterLab scrolls by the heights that it estimates for cells it has not drawn yet.
 */
function holdInMiddle(notebook: Notebook, cell: Cell): void {
  letGo(notebook);
  hold(notebook, () => {
    const { node, isHidden } = cell;
    if (isHidden || !notebook.widgets.includes(cell)) {
      return undefined;
    }
    if (!node.isConnected) {
      // In the mode "defer" JupyterLab adds the cells one by one when the page is idle.
      return isWindowed(notebook) ? undefined : null;
    }
    const outer = notebook.outerNode.getBoundingClientRect();
    const { top, height } = node.getBoundingClientRect();
    // Of a cell that is taller than the window its beginning is shown.
    return top - outer.top - Math.max((outer.height - height) / 2, 0);
  });
}

/**
 * Scroll by what `measure` returns, now and while cells take their sizes, until it returns
 * undefined or something moves on. Null means that it cannot be measured yet.
 */
function hold(notebook: Notebook, measure: () => number | null | undefined): void {
  const scroller = notebook.outerNode;
  let frame = 0;
  let corrections = 0;
  const all = holds.get(notebook) ?? new Set();
  holds.set(notebook, all);
  const release = (): void => {
    frame = FRAMES;
    all.delete(release);
  };
  const restore = (): void => {
    const isOver = frame >= FRAMES || notebook.isDisposed;
    const drift = isOver ? undefined : measure();
    if (drift === undefined) {
      release();
      GOES_ELSEWHERE.forEach(type => window.removeEventListener(type, release, true));
      return;
    }
    if (drift === null) {
      next();
      return;
    }
    if (Math.abs(drift) >= 1 && corrections < CORRECTIONS) {
      const before = scroller.scrollTop;
      scroller.scrollTop += drift;
      // At the end of the notebook there is nothing to scroll until the cells above have grown.
      corrections += scroller.scrollTop === before ? 0 : 1;
    }
    frame++;
    next();
  };
  // A windowed notebook lays its cells out in the frame that follows, and cannot be measured before.
  const isLate = isWindowed(notebook);
  const next = (): void => {
    requestAnimationFrame(isLate ? () => setTimeout(restore) : restore);
  };
  all.add(release);
  GOES_ELSEWHERE.forEach(type => window.addEventListener(type, release, true));
  if (isLate) {
    next();
  } else {
    restore();
  }
}

function isWindowed(notebook: Notebook): boolean {
  return notebook.notebookConfig.windowingMode === 'full';
}
