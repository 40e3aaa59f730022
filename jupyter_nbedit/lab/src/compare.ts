import type { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';

/** How two texts are shown: one below the other where they differ, or in two columns. */
export type Layout = 'inline' | 'side-by-side';

/** Two versions of a text. */
export interface Texts {
  /** The former text, or null if there was none. */
  readonly before: string | null;
  /** The later text, or null if there is none. */
  readonly after: string | null;
  /** The language of both, by its MIME type or its name. */
  readonly language: string;
  /** What it is a text of, for who does not see it: "Cell 3". */
  readonly label: string;
}

/** What the code that draws a comparison is given. */
export interface Drawing {
  readonly texts: Texts;
  readonly layout: Layout;
  readonly languages: IEditorLanguageRegistry;
  readonly themes: IEditorThemeRegistry | null;
  readonly trans: TranslationBundle;
}

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
    const { draw } = await import('./mergeview');
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
