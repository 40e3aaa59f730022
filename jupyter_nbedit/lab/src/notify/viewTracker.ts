import type { Cell as CellWidget } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';

/** For how long a cell has to be in sight, in milliseconds. */
const DWELL = 1500;

/** For how long somebody counts as busy after a key, a click or a turn of the wheel. */
const BUSY = 2000;

/** How much of a cell, or of the window if it is larger, has to be in sight. */
const SHARE = 0.5;

/** The least share of a cell that makes a difference, and so on: cells may be very tall. */
const THRESHOLDS = [0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1];

const GESTURES = ['keydown', 'pointerdown', 'pointermove', 'touchmove', 'wheel'] as const;

/**
 * Watches in one view of a notebook for cells that its user looks at.
 *
 * A cell was looked at when the user has selected it, or when at least half of it was in sight for
 * a second and a half, in a page that has the focus, and the user then types in it, points at it,
 * scrolls or goes to another cell. Being in sight alone does not count: nobody may sit there.
 */
export class Gaze {
  constructor(
    private readonly _notebook: Notebook,
    /** Called with cells that were looked at; they may not be watched any more. */
    private readonly _looked: (cells: string[]) => void
  ) {
    this._observer = new IntersectionObserver(entries => this._moved(entries), {
      root: _notebook.outerNode,
      threshold: THRESHOLDS
    });
    this._active = _notebook.activeCell;
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
    return this._watched.size === 0;
  }

  /** Whether the user types or scrolls, or has until a moment ago. */
  get isBusy(): boolean {
    return performance.now() - this._gestureAt < BUSY;
  }

  /** Watch these cells and no others. */
  watch(cells: ReadonlyMap<string, CellWidget>): void {
    const nodes = new Set<Element>([...cells.values()].map(({ node }) => node));
    for (const [node, name] of this._watched) {
      if (!nodes.has(node)) {
        this._observer.unobserve(node);
        this._watched.delete(node);
        this._since.delete(name);
      }
    }
    for (const [name, { node }] of cells) {
      if (!this._watched.has(node)) {
        this._watched.set(node, name);
        this._observer.observe(node);
      }
    }
  }

  /** Forget for how long a cell was in sight: it has changed. */
  restart(name: string): void {
    if (this._since.has(name)) {
      this._since.set(name, performance.now());
    }
  }

  private _moved(entries: readonly IntersectionObserverEntry[]): void {
    for (const {
      target,
      isIntersecting,
      intersectionRatio,
      intersectionRect,
      rootBounds
    } of entries) {
      const name = this._watched.get(target);
      const height = rootBounds?.height ?? Number.POSITIVE_INFINITY;
      const isInSight =
        isIntersecting && (intersectionRatio >= SHARE || intersectionRect.height >= SHARE * height);
      if (name !== undefined && !isInSight) {
        this._since.delete(name);
      } else if (name !== undefined && !this._since.has(name)) {
        this._since.set(name, performance.now());
      }
    }
  }

  /** The cells that were in sight for long enough. */
  private _rested(): string[] {
    if (!document.hasFocus() || document.visibilityState !== 'visible') {
      return [];
    }
    const until = performance.now() - DWELL;
    return this._focusedAt > until
      ? []
      : [...this._since].filter(([, since]) => since <= until).map(([name]) => name);
  }

  private readonly _onGesture = (event: Event): void => {
    if (event.type !== 'pointermove') {
      this._gestureAt = performance.now();
    }
    if (this.isIdle) {
      return;
    }
    const rested = this._rested();
    switch (event.type) {
      case 'keydown':
        this._look(rested.filter(name => name === this._notebook.activeCell?.model.id));
        break;
      case 'pointermove':
        this._look(rested.filter(name => name === this._nameAt(event)));
        break;
      case 'pointerdown': {
        const clicked = this._nameAt(event);
        this._look(clicked === undefined ? rested : [...rested, clicked]);
        break;
      }
      default:
        this._look(rested);
    }
  };

  private readonly _onActiveCellChanged = (_: unknown, cell: CellWidget | null): void => {
    const before = this._active;
    this._active = cell;
    // Where the active cell has gone or got another widget, it was not the user who went on.
    const isByUser = before !== null && this._notebook.widgets.includes(before);
    if (isByUser && cell !== null && !this.isIdle) {
      const isMarked = [...this._watched.values()].includes(cell.model.id);
      this._look([...this._rested(), ...(isMarked ? [cell.model.id] : [])]);
    }
  };

  private readonly _onFocus = (): void => {
    this._focusedAt = performance.now();
  };

  private _nameAt({ target }: Event): string | undefined {
    const node = target instanceof Element ? target.closest('.jp-Cell') : null;
    return node === null ? undefined : this._watched.get(node);
  }

  private _look(names: string[]): void {
    if (names.length > 0) {
      this._looked(names);
    }
  }

  private readonly _observer: IntersectionObserver;
  /** The cells that are watched, by their elements. */
  private readonly _watched = new Map<Element, string>();
  /** Since when cells are in sight, by the clock of the page. */
  private readonly _since = new Map<string, number>();
  private _active: CellWidget | null;
  private _focusedAt = 0;
  private _gestureAt = Number.NEGATIVE_INFINITY;
}
