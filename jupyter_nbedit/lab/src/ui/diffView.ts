import type { IDisposable } from '@lumino/disposable';
import type { Drawing } from './codeMirrorDiff';

/**
 * Two texts and how they differ, to be read and not to be written, in the look of a cell.
 *
 * The code that draws it is fetched when the first one is made: until then it costs nothing, and
 * the texts are shown as soon as it is there.
 */
export class Comparison implements IDisposable {
  readonly node = document.createElement('div');

  /** Settles when the texts are shown. */
  readonly ready: Promise<void>;

  constructor(drawing: Drawing) {
    this.node.className = 'jp-nbedit-diff';
    this.ready = this._draw(drawing);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._erase?.();
    this._erase = null;
    this.node.remove();
  }

  private async _draw(drawing: Drawing): Promise<void> {
    const { draw } = await import('./codeMirrorDiff');
    const language = await support(drawing);
    if (!this._isDisposed) {
      this._erase = draw(this.node, drawing, language);
    }
  }

  private _isDisposed = false;
  private _erase: (() => void) | null = null;
}

/** A language that cannot be loaded leaves the text without colours. */
async function support({ languages, texts }: Drawing) {
  try {
    return (await languages.getLanguage(texts.language))?.support ?? [];
  } catch (error) {
    console.warn(`jupyter-nbedit: no colours for ${texts.language}:`, error);
    return [];
  }
}

/** The language of a cell's source. `code` is that of the notebook's code. */
export function languageOf(cellType: string | null, code: string): string {
  switch (cellType) {
    case 'code':
      return code;
    case 'markdown':
      return 'text/x-ipythongfm';
    case null:
      return 'application/json';
    default:
      return 'text/plain';
  }
}
