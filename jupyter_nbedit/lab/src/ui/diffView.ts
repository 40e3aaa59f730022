import type { IDisposable } from '@lumino/disposable';
import type { DiffOptions } from './codeMirrorDiff';

/**
 * A read-only diff of two texts, in the style of a cell.
 *
 * The code that draws it is loaded with the first diff; the texts appear when it is loaded.
 */
export class DiffView implements IDisposable {
  readonly node = document.createElement('div');

  /** Resolves when the diff is shown. */
  readonly ready: Promise<void>;

  constructor(options: DiffOptions) {
    this.node.className = 'jp-nbedit-diff';
    this.ready = this._draw(options);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._removeDiff?.();
    this._removeDiff = null;
    this.node.remove();
  }

  private async _draw(options: DiffOptions): Promise<void> {
    const { drawDiff } = await import('./codeMirrorDiff');
    const language = await loadLanguage(options);
    if (!this._isDisposed) {
      this._removeDiff = drawDiff(this.node, options, language);
    }
  }

  private _isDisposed = false;
  private _removeDiff: (() => void) | null = null;
}

/** If a language cannot be loaded, the text is shown without colours. */
async function loadLanguage({ languages, texts }: DiffOptions) {
  try {
    return (await languages.getLanguage(texts.language))?.support ?? [];
  } catch (error) {
    console.warn(`jupyter-nbedit: no colours for ${texts.language}:`, error);
    return [];
  }
}

/**
 * Return the language of a cell's source.
 *
 * @param codeLanguage The language of the notebook's code.
 */
export function getCellLanguage(cellType: string | null, codeLanguage: string): string {
  switch (cellType) {
    case 'code':
      return codeLanguage;
    case 'markdown':
      return 'text/x-ipythongfm';
    case null:
      return 'application/json';
    default:
      return 'text/plain';
  }
}
