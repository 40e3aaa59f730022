import type { Cell as CellWidget } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';

/** How long a cell must be visible, in milliseconds. */
const DWELL_TIME = 1500;

/** How long a user counts as busy after a key, a click or a turn of the wheel. */
const BUSY_TIME = 2000;

/** The share of a cell, or of the window if the cell is larger, that must be visible. */
const MIN_VISIBLE_SHARE = 0.5;

/** The visible shares of a cell that are reported; small ones are for very tall cells. */
const THRESHOLDS = [0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1];

const GESTURES = ['keydown', 'pointerdown', 'pointermove', 'touchmove', 'wheel'] as const;

/**
 * Tracks in one view of a notebook which cells the user has viewed.
 *
 * A cell is viewed when the user selects it, or when at least half of it was visible for 1.5 s in a
 * focused page and the user then types in it, points at it, scrolls or goes to another cell.
 * Visibility alone does not count, because the user may be away.
 */
export class ViewTracker {
  constructor(
    private readonly _notebook: Notebook,
    /** Called with viewed cells; they may not be watched any more. */
    private readonly _onViewed: (cells: string[]) => void
  ) {
    this._observer = new IntersectionObserver(entries => this._onIntersection(entries), {
      root: _notebook.outerNode,
      threshold: THRESHOLDS
    });
    this._activeCell = _notebook.activeCell;
    _notebook.activeCellChanged.connect(this._onActiveCellChanged);
    for (const gesture of GESTURES) {
      _notebook.node.addEventListener(gesture, this._onGesture, { capture: true, passive: true });
    }
    window.addEventListener('focus', this._onFocus);
    document.addEventListener('visibilitychange', this._onFocus);
  }

  dispose(): void {
    this._observer.disconnect();
    window.removeEventListener('focus', this._onFocus);
    document.removeEventListener('visibilitychange', this._onFocus);
  }

  /** Whether no cell is watched. */
  get isIdle(): boolean {
    return this._watchedCells.size === 0;
  }

  /** Whether the user types or scrolls, or did so a moment ago. */
  get isBusy(): boolean {
    return performance.now() - this._gestureAt < BUSY_TIME;
  }

  /** Watch exactly these cells. */
  watch(cells: ReadonlyMap<string, CellWidget>): void {
    const nodes = new Set<Element>([...cells.values()].map(({ node }) => node));
    for (const [node, name] of this._watchedCells) {
      if (!nodes.has(node)) {
        this._observer.unobserve(node);
        this._watchedCells.delete(node);
        this._visibleSince.delete(name);
      }
    }
    for (const [name, { node }] of cells) {
      if (!this._watchedCells.has(node)) {
        this._watchedCells.set(node, name);
        this._observer.observe(node);
      }
    }
  }

  /** Restart the time that a cell must be visible, because it has changed. */
  restartDwell(name: string): void {
    if (this._visibleSince.has(name)) {
      this._visibleSince.set(name, performance.now());
    }
  }

  private _onIntersection(entries: readonly IntersectionObserverEntry[]): void {
    for (const {
      target,
      isIntersecting,
      intersectionRatio,
      intersectionRect,
      rootBounds
    } of entries) {
      const name = this._watchedCells.get(target);
      const height = rootBounds?.height ?? Number.POSITIVE_INFINITY;
      const isVisible =
        isIntersecting &&
        (intersectionRatio >= MIN_VISIBLE_SHARE ||
          intersectionRect.height >= MIN_VISIBLE_SHARE * height);
      if (name !== undefined && !isVisible) {
        this._visibleSince.delete(name);
      } else if (name !== undefined && !this._visibleSince.has(name)) {
        this._visibleSince.set(name, performance.now());
      }
    }
  }

  /** Return the cells that were visible for long enough. */
  private _listDwelledCells(): string[] {
    if (!document.hasFocus() || document.visibilityState !== 'visible') {
      return [];
    }
    const latestStart = performance.now() - DWELL_TIME;
    return this._focusedAt > latestStart
      ? []
      : [...this._visibleSince].filter(([, since]) => since <= latestStart).map(([name]) => name);
  }

  private readonly _onGesture = (event: Event): void => {
    if (event.type !== 'pointermove') {
      this._gestureAt = performance.now();
    }
    if (this.isIdle) {
      return;
    }
    const dwelledCells = this._listDwelledCells();
    switch (event.type) {
      case 'keydown':
        this._reportViewed(
          dwelledCells.filter(name => name === this._notebook.activeCell?.model.id)
        );
        break;
      case 'pointermove':
        this._reportViewed(dwelledCells.filter(name => name === this._getCellAt(event)));
        break;
      case 'pointerdown': {
        const clickedCell = this._getCellAt(event);
        this._reportViewed(
          clickedCell === undefined ? dwelledCells : [...dwelledCells, clickedCell]
        );
        break;
      }
      default:
        this._reportViewed(dwelledCells);
    }
  };

  private readonly _onActiveCellChanged = (_: unknown, cell: CellWidget | null): void => {
    const previous = this._activeCell;
    this._activeCell = cell;
    // If the previous cell was removed or got another widget, the user has not moved.
    const isByUser = previous !== null && this._notebook.widgets.includes(previous);
    if (isByUser && cell !== null && !this.isIdle) {
      const isMarked = [...this._watchedCells.values()].includes(cell.model.id);
      this._reportViewed([...this._listDwelledCells(), ...(isMarked ? [cell.model.id] : [])]);
    }
  };

  private readonly _onFocus = (): void => {
    this._focusedAt = performance.now();
  };

  private _getCellAt({ target }: Event): string | undefined {
    const node = target instanceof Element ? target.closest('.jp-Cell') : null;
    return node === null ? undefined : this._watchedCells.get(node);
  }

  private _reportViewed(names: string[]): void {
    if (names.length > 0) {
      this._onViewed(names);
    }
  }

  private readonly _observer: IntersectionObserver;
  /** The watched cells by their elements. */
  private readonly _watchedCells = new Map<Element, string>();
  /** When each cell became visible, in milliseconds of `performance.now`. */
  private readonly _visibleSince = new Map<string, number>();
  private _activeCell: CellWidget | null;
  private _focusedAt = 0;
  private _gestureAt = Number.NEGATIVE_INFINITY;
}
