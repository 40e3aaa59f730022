import type { CellBlock } from './cellBlock';

/** How long a user who types in a cell must pause until its diff is drawn again, in milliseconds. */
const REDRAW_DELAY = 400;

/** A block whose diff is drawn again when the user has changed the cell and pauses. */
export class RedrawnBlock {
  /** Null while it is closed, or being drawn. */
  block: CellBlock | null = null;
  /** What the diff shows. */
  drawnTexts = '';

  /** Draw the diff after a pause if it shows other texts. */
  requestRedraw(texts: string, redraw: () => Promise<void>): void {
    // Other changes of the notebook, such as outputs of a running cell, do not begin a new pause.
    if (this.block !== null && texts !== this.drawnTexts && texts !== this._awaitedTexts) {
      this._awaitedTexts = texts;
      this.cancelRedraw();
      this._timer = setTimeout(() => {
        this._awaitedTexts = '';
        void redraw();
      }, REDRAW_DELAY);
    }
  }

  cancelRedraw(): void {
    clearTimeout(this._timer);
  }

  /** What the diff shows after the pause. */
  private _awaitedTexts = '';
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
