import type { NotebookPanel } from '@jupyterlab/notebook';

/** How long a user counts as busy after a key, a click or a turn of the wheel, in milliseconds. */
const BUSY_TIME = 2000;

const GESTURES = ['keydown', 'pointerdown', 'touchmove', 'wheel'] as const;

/** When users last typed or scrolled in the views of a notebook. */
export class UserActivity {
  addView({ content }: NotebookPanel): void {
    const onGesture = (): void => {
      this._times.set(content, performance.now());
    };
    for (const gesture of GESTURES) {
      content.node.addEventListener(gesture, onGesture, { capture: true, passive: true });
    }
  }

  /** Return whether the user types or scrolls in this view, or did so a moment ago. */
  isBusy({ content }: NotebookPanel): boolean {
    return performance.now() - (this._times.get(content) ?? Number.NEGATIVE_INFINITY) < BUSY_TIME;
  }

  private readonly _times = new WeakMap<object, number>();
}
