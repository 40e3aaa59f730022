import { Signal, type ISignal } from '@lumino/signaling';

/**
 * Whether the user may change notebooks on the server.
 *
 * Whatever asks the server for a change is offered by `offer` or `restrict`, so that the page does
 * not offer what the server refuses. Until the server has answered, the user is taken for a writer.
 */
export class WriteRight {
  get isGranted(): boolean {
    return this._isGranted;
  }

  set isGranted(isGranted: boolean) {
    if (isGranted !== this._isGranted) {
      this._isGranted = isGranted;
      this._changed.emit();
    }
  }

  /** Emitted when the right was granted or taken away. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Return these actions, which change something, or no actions for a user who may only read. */
  offer<Action>(actions: readonly Action[]): readonly Action[] {
    return this._isGranted ? actions : [];
  }

  /** Return a condition of a command that changes something: this one, and the right. */
  restrict(isPossible: () => boolean): () => boolean {
    return () => this._isGranted && isPossible();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _isGranted = true;
}
