import type { Cell } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';

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
  letGo(notebook);
  await notebook.scrollToCell(cell, 'center');
  // What was changed on the way holds a place that is behind.
  letGo(notebook);
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
  const scroller = notebook.outerNode;
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
  // A windowed notebook lays its cells out in the frame that follows, and cannot be measured before.
  const isWindowed = notebook.notebookConfig.windowingMode === 'full';
  let frame = 0;
  let corrections = 0;
  // A change of its height has a windowed notebook begin anew with cells of guessed sizes, and then
  // what was in sight may not even be on the page.
  const lost = (): number | undefined => {
    const index = notebook.widgets.findIndex(({ model }) => model.id === anchors[0]?.id);
    if (!isWindowed || index < 0) {
      return undefined;
    }
    void notebook.scrollToItem(index, 'start');
    return 0;
  };
  const all = holds.get(notebook) ?? new Set();
  holds.set(notebook, all);
  const release = (): void => {
    frame = FRAMES;
    all.delete(release);
  };
  const restore = (): void => {
    const isOver = frame >= FRAMES || notebook.isDisposed;
    const drift = isOver ? undefined : (anchors.flatMap(driftOf)[0] ?? lost());
    if (drift === undefined) {
      release();
      GOES_ELSEWHERE.forEach(type => window.removeEventListener(type, release, true));
      return;
    }
    if (Math.abs(drift) >= 1 && corrections < CORRECTIONS) {
      corrections++;
      scroller.scrollTop += drift;
    }
    frame++;
    next();
  };
  const next = (): void => {
    requestAnimationFrame(isWindowed ? () => setTimeout(restore) : restore);
  };
  return () => {
    all.add(release);
    GOES_ELSEWHERE.forEach(type => window.addEventListener(type, release, true));
    if (isWindowed) {
      next();
    } else {
      restore();
    }
  };
}
