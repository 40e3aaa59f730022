import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, type Notebook } from '@jupyterlab/notebook';
import { getCellId } from './cellIds';

/** Number of frames for which the scroll position is held after a change. */
const HOLD_FRAMES = 30;

/** Maximum number of corrections: something else may scroll against them. */
const MAX_CORRECTIONS = 8;

/** Events by which users may scroll. */
const USER_SCROLL_EVENTS = ['wheel', 'pointerdown', 'keydown', 'touchstart'];

/** For each notebook the functions that release active holds of its scroll position. */
const activeHolds = new WeakMap<Notebook, Set<() => void>>();

/**
 * For each notebook the number of scrolls to a cell, and of holds of one in the centre, that are
 * active: they go before other holds.
 */
const scrollCounts = new WeakMap<Notebook, number>();

/**
 * Change the cells of a notebook while the user sees it: the active cell, the mode and the
 * selection stay the same, and visible cells keep their place in the window until the user scrolls
 * or `releaseScrollHold` is called.
 */
export function preserveViewport(notebook: Notebook, change: () => void): void {
  const activeId = notebook.activeCell?.model.id;
  const { mode } = notebook;
  const focused = document.activeElement;
  const hadFocus = notebook.node.contains(focused);
  const selectedIds = new Set(
    notebook.widgets.filter(cell => notebook.isSelected(cell)).map(getCellId)
  );
  const isScrolling = (scrollCounts.get(notebook) ?? 0) > 0;
  const restorePosition = isScrolling ? () => undefined : rememberScrollPosition(notebook);
  change();
  const activeIndex = notebook.widgets.findIndex(cell => getCellId(cell) === activeId);
  if (activeIndex >= 0 && notebook.activeCellIndex !== activeIndex) {
    notebook.activeCellIndex = activeIndex;
  }
  if (selectedIds.size > 0) {
    notebook.widgets
      .filter(cell => selectedIds.has(getCellId(cell)) && !notebook.isSelected(cell))
      .forEach(cell => notebook.select(cell));
  }
  if (hadFocus && focused instanceof HTMLElement && document.activeElement !== focused) {
    // It may only have been moved.
    focused.focus({ preventScroll: true });
  }
  if (activeIndex >= 0 && hadFocus && isFocusLost()) {
    notebook.mode = mode;
    notebook.activate();
  }
  restorePosition();
}

/** Return whether no element has the focus, such as when the element with the focus was removed. */
export function isFocusLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Stop holding the scroll position of a notebook. */
export function releaseScrollHold(notebook: Notebook): void {
  activeHolds.get(notebook)?.forEach(release => release());
}

/**
 * Activate a cell in command mode, scroll it to the centre of the window, and focus the notebook:
 * keys are commands there, and do not type into the cell.
 */
export async function goToCell(notebook: Notebook, cell: Cell): Promise<void> {
  // A cell below a collapsed heading has no position to scroll to.
  NotebookActions.expandParent(cell, notebook);
  releaseScrollHold(notebook);
  notebook.mode = 'command';
  await scrollToCell(notebook, cell);
  const index = notebook.widgets.indexOf(cell);
  if (index < 0) {
    return;
  }
  notebook.deselectAll();
  notebook.activeCellIndex = index;
  notebook.activate();
  holdCellCenter(notebook, cell);
}

/** Scroll a cell to the centre of the window without changing the focus and the active cell. */
export async function scrollToCellCenter(notebook: Notebook, cell: Cell): Promise<void> {
  releaseScrollHold(notebook);
  if (await scrollToCell(notebook, cell)) {
    holdCellCenter(notebook, cell);
  }
}

/** @returns False if something else has scrolled the notebook meanwhile. */
async function scrollToCell(notebook: Notebook, cell: Cell): Promise<boolean> {
  const endScroll = beginScroll(notebook);
  try {
    await notebook.scrollToItem(notebook.widgets.indexOf(cell), 'center');
    return true;
  } catch {
    return false;
  } finally {
    endScroll();
  }
}

/** @returns A function to call once when the scroll has come to its end. */
function beginScroll(notebook: Notebook): () => void {
  const add = (difference: number): void => {
    scrollCounts.set(notebook, (scrollCounts.get(notebook) ?? 0) + difference);
  };
  add(1);
  return () => add(-1);
}

/** Return whether a part of a cell is visible in the notebook. */
export function isCellVisible(
  notebook: Notebook,
  node: Element,
  outer = notebook.outerNode.getBoundingClientRect()
): boolean {
  const { top, bottom } = node.getBoundingClientRect();
  const isInside = bottom > outer.top && top < outer.bottom && bottom > top;
  return isInside && hasPosition(node);
}

/** Return whether a cell is at its place in the page: a windowed notebook has some cells there. */
function hasPosition(node: Element): boolean {
  // The active cell is kept in the page although it is not in its window: transparent or, in
  // JupyterLab 4.2, without a size.
  return (
    node.isConnected &&
    node.getBoundingClientRect().height > 0 &&
    getComputedStyle(node).opacity !== '0'
  );
}

/** Return whether a cell is visible, or less than the height of the notebook away from that. */
export function isNearViewport({ outerNode }: Notebook, node: Element): boolean {
  if (!node.isConnected) {
    return false;
  }
  const outer = outerNode.getBoundingClientRect();
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > outer.top - outer.height && top < outer.bottom + outer.height;
}

/** Observe elements; `onNear` is called when one of them is near, as `isNearViewport` says. */
export function observeNearViewport(
  { outerNode }: Notebook,
  onNear: () => void
): IntersectionObserver {
  const onChange: IntersectionObserverCallback = entries => {
    if (entries.some(({ isIntersecting }) => isIntersecting)) {
      onNear();
    }
  };
  return new IntersectionObserver(onChange, { root: outerNode, rootMargin: '100% 0px' });
}

/** An element of a cell, and its distance from the top of the window. */
interface Anchor {
  readonly cell: Cell;
  readonly id: string;
  readonly getNode: (cell: Cell) => HTMLElement;
  readonly top: number;
}

/** The anchors of each notebook whose position is held, and how many times it is held. */
const heldAnchors = new WeakMap<Notebook, { readonly anchors: readonly Anchor[]; count: number }>();

/**
 * Remember the position of the active cell, or of the first visible cell.
 *
 * Scroll anchoring of the browser is missing in some browsers and drifts in windowed notebooks.
 *
 * @returns Restores the position, now and while cells get their sizes, until it is released.
 */
function rememberScrollPosition(notebook: Notebook): () => void {
  // Another change may come before the position is restored after the one before.
  const held = heldAnchors.get(notebook) ?? { anchors: listAnchors(notebook), count: 0 };
  const { anchors } = held;
  const measureDrift = (): number | undefined => {
    for (const { cell, id, getNode, top } of anchors) {
      // A cell that was moved has another widget.
      const current = cell.isDisposed
        ? notebook.widgets.find(each => getCellId(each) === id)
        : cell;
      const rect = current === undefined ? undefined : getNode(current).getBoundingClientRect();
      if (rect !== undefined && rect.height > 0) {
        return rect.top - top;
      }
    }
    return undefined;
  };
  // After a change of its height, a windowed notebook starts again with estimated sizes; the anchor
  // may not be in the page then.
  const recoverAnchor = (): number | undefined => {
    const index = notebook.widgets.findIndex(cell => getCellId(cell) === anchors[0]?.id);
    if (!isWindowed(notebook) || index < 0) {
      return undefined;
    }
    void notebook.scrollToItem(index, 'start');
    return 0;
  };
  return () => {
    held.count++;
    heldAnchors.set(notebook, held);
    const onReleased = (): void => {
      held.count--;
      if (held.count === 0 && heldAnchors.get(notebook) === held) {
        heldAnchors.delete(notebook);
      }
    };
    holdScrollPosition(notebook, () => measureDrift() ?? recoverAnchor(), onReleased);
  };
}

/** Return several anchors, because the change itself may remove or move one of them. */
function listAnchors(notebook: Notebook): Anchor[] {
  const outer = notebook.outerNode.getBoundingClientRect();
  const visibleCells = notebook.widgets.filter(({ node }) => isCellVisible(notebook, node, outer));
  const active = visibleCells.filter(cell => cell === notebook.activeCell);
  const makeAnchor = (cell: Cell, getNode: Anchor['getNode']): Anchor => ({
    cell,
    id: getCellId(cell),
    getNode,
    top: getNode(cell).getBoundingClientRect().top
  });
  return [
    // A block may be put above the text in which the user types.
    ...(notebook.mode === 'edit' ? active.map(cell => makeAnchor(cell, getTextNode)) : []),
    ...[...active, ...visibleCells].map(cell => makeAnchor(cell, getCellNode))
  ];
}

function getCellNode({ node }: Cell): HTMLElement {
  return node;
}

/** Return the element with the text of a cell. */
function getTextNode({ editorWidget, node }: Cell): HTMLElement {
  return editorWidget?.node ?? node;
}

/**
 * Hold a cell in the centre of the window.
 *
 * JupyterLab scrolls by the heights that it estimates for cells that are not rendered yet.
 */
function holdCellCenter(notebook: Notebook, cell: Cell): void {
  releaseScrollHold(notebook);
  const measure = (): number | null | undefined => {
    const { node, isHidden } = cell;
    if (isHidden || !notebook.widgets.includes(cell)) {
      return undefined;
    }
    if (isWindowed(notebook) && !hasPosition(node)) {
      // JupyterLab scrolls on until the cell is there.
      return 0;
    }
    if (!node.isConnected) {
      // In the mode "defer", JupyterLab adds the cells one by one when the page is idle.
      return null;
    }
    const outer = notebook.outerNode.getBoundingClientRect();
    const { top, height } = node.getBoundingClientRect();
    // If a cell is taller than the window, its beginning is shown.
    return top - outer.top - Math.max((outer.height - height) / 2, 0);
  };
  holdScrollPosition(notebook, measure, beginScroll(notebook));
}

/**
 * Scroll an element into view, and hold it there while cells get their sizes.
 *
 * JupyterLab 4.2 corrects its estimates of heights for some time after it has scrolled.
 */
export function holdInView(notebook: Notebook, node: HTMLElement): void {
  releaseScrollHold(notebook);
  const measure = (): number => {
    if (!node.isConnected) {
      return 0;
    }
    const outer = notebook.outerNode.getBoundingClientRect();
    const { top, bottom } = node.getBoundingClientRect();
    const isAbove = top < outer.top || bottom - top > outer.height;
    return isAbove ? top - outer.top : Math.max(bottom - outer.bottom, 0);
  };
  holdScrollPosition(notebook, measure, beginScroll(notebook));
}

/**
 * Scroll by what `measure` returns, now and while cells get their sizes, until it returns undefined
 * or the hold is released. Null means that it cannot be measured yet.
 */
function holdScrollPosition(
  notebook: Notebook,
  measure: () => number | null | undefined,
  onReleased: () => void = () => undefined
): void {
  const scroller = notebook.outerNode;
  let frame = 0;
  let corrections = 0;
  const releases = activeHolds.get(notebook) ?? new Set();
  activeHolds.set(notebook, releases);
  const release = (): void => {
    frame = HOLD_FRAMES;
    if (releases.delete(release)) {
      onReleased();
    }
  };
  const onUserEvent = (event: Event): void => {
    if (!isTyping(event)) {
      release();
    }
  };
  const restore = (): void => {
    const isFinished = frame >= HOLD_FRAMES || notebook.isDisposed;
    const drift = isFinished ? undefined : measure();
    if (drift === undefined) {
      release();
      USER_SCROLL_EVENTS.forEach(type => window.removeEventListener(type, onUserEvent, true));
      return;
    }
    if (drift === null) {
      scheduleRestore();
      return;
    }
    if (Math.abs(drift) >= 1 && corrections < MAX_CORRECTIONS) {
      const previousTop = scroller.scrollTop;
      scroller.scrollTop += drift;
      // At the end of the notebook, nothing can scroll until the cells above have grown.
      corrections += scroller.scrollTop === previousTop ? 0 : 1;
    }
    frame++;
    scheduleRestore();
  };
  // A windowed notebook lays out its cells in the next frame.
  const needsDelay = isWindowed(notebook);
  const scheduleRestore = (): void => {
    requestAnimationFrame(needsDelay ? () => setTimeout(restore) : restore);
  };
  releases.add(release);
  USER_SCROLL_EVENTS.forEach(type => window.addEventListener(type, onUserEvent, true));
  if (needsDelay) {
    scheduleRestore();
  } else {
    restore();
  }
}

/** Return whether an event types a character into a text, which does not scroll. */
function isTyping(event: Event): boolean {
  return (
    event instanceof KeyboardEvent &&
    event.key.length === 1 &&
    !event.ctrlKey &&
    !event.metaKey &&
    (event.target as HTMLElement).isContentEditable
  );
}

function isWindowed(notebook: Notebook): boolean {
  return notebook.notebookConfig.windowingMode === 'full';
}
