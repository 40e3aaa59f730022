import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Token } from '@lumino/coreutils';
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

  /** Return these actions, each of which changes something, or none for a user who may only read. */
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

/** The token of the right that all plugins of the page share. */
export const IWriteRight = new Token<WriteRight>(
  'jupyter-nbedit:IWriteRight',
  'Whether the user may change notebooks on the server.'
);

/** The plugin of modes, which reads the right with each mode, keeps it up to date. */
export const writeRightPlugin: JupyterFrontEndPlugin<WriteRight> = {
  id: 'jupyter-nbedit:write-right',
  description: 'Knows whether the user may change notebooks on the server.',
  autoStart: true,
  provides: IWriteRight,
  activate: () => new WriteRight()
};
