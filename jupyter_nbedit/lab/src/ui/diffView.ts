import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import type { DiffOptions, DrawnDiff } from './codeMirrorDiff';
import { makeElement, makeToggleButton } from './elements';
import { getMarkdownRenderer } from './renderedMarkdown';

/** The language of the source of a Markdown cell. */
const MARKDOWN_LANGUAGE = 'text/x-ipythongfm';

/**
 * A read-only diff of two texts, in the style of a cell.
 *
 * The code that draws it is loaded with the first diff; the texts appear when it is loaded. A diff
 * of Markdown has a button that shows both texts rendered.
 */
export class DiffView implements IDisposable {
  readonly node = makeElement('div', 'jp-nbedit-diff');

  /** Resolves when the diff is shown. */
  readonly ready: Promise<void>;

  constructor(private readonly _options: DiffOptions) {
    const { texts, trans } = _options;
    this._rendered.hidden = true;
    if (texts.language === MARKDOWN_LANGUAGE && getMarkdownRenderer() !== null) {
      const head = makeElement('div', 'jp-nbedit-diff-head');
      const toggle = makeToggleButton(trans.__('Rendered'), isPressed => {
        void this._setRendered(isPressed);
      });
      toggle.setAttribute('aria-label', trans.__('Rendered: %1', texts.label));
      head.append(toggle);
      this.node.append(head);
    }
    this.node.append(this._source, this._rendered);
    this.ready = this._draw();
  }

  /** Wait until the diff is shown, also if it cannot be drawn. */
  async whenDrawn(): Promise<void> {
    try {
      await this.ready;
    } catch (error) {
      console.warn('jupyter-nbedit: a difference could not be drawn.', error);
    }
  }

  /** Move the focus to the text. */
  focus(): void {
    this._source.querySelector<HTMLElement>('.cm-content')?.focus();
  }

  /** Where the caret is in the text after, or was when the view was disposed. */
  get caret(): number | null {
    return this._drawnDiff?.editor.state.selection.main.head ?? null;
  }

  set caret(position: number | null) {
    const editor = this._drawnDiff?.editor;
    if (editor !== undefined && position !== null) {
      editor.dispatch({ selection: { anchor: Math.min(position, editor.state.doc.length) } });
    }
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._drawnDiff?.remove();
    this._renderers.forEach(renderer => renderer.dispose());
    this._renderers = [];
    this.node.remove();
  }

  private async _draw(): Promise<void> {
    const { drawDiff } = await import('./codeMirrorDiff');
    const language = await loadLanguage(this._options);
    if (!this._isDisposed) {
      this._drawnDiff = drawDiff(this._source, this._options, language);
    }
  }

  /** Show the texts rendered, or as their sources. */
  private async _setRendered(isRendered: boolean): Promise<void> {
    this._source.hidden = isRendered;
    this._rendered.hidden = !isRendered;
    if (isRendered && this._rendered.childElementCount === 0) {
      const { texts, trans } = this._options;
      const { before, after, label } = texts;
      const versions = [
        ['before', before, trans.__('Before'), trans.__('%1, rendered before', label)],
        ['after', after, trans.__('After'), trans.__('%1, rendered after', label)]
      ] as const;
      await Promise.all(
        versions.map(async ([side, text, title, name]) => {
          if (text !== null) {
            await this._render(text, makeVersion(this._rendered, side, title, name), trans);
          }
        })
      );
    }
  }

  private async _render(text: string, host: HTMLElement, trans: TranslationBundle): Promise<void> {
    try {
      const renderer = await getMarkdownRenderer()?.render(host, text, this._options.path ?? null);
      if (renderer !== undefined) {
        this._renderers.push(renderer);
      }
    } catch (error) {
      console.warn('jupyter-nbedit: a text could not be rendered.', error);
      host.append(
        makeElement('p', '', trans.__('This text could not be rendered. Look at its source.'))
      );
    }
    if (this._isDisposed) {
      this.dispose();
    }
  }

  private readonly _source = makeElement('div', 'jp-nbedit-diff-source');
  private readonly _rendered = makeElement('div', 'jp-nbedit-diff-rendered');
  private _renderers: IDisposable[] = [];
  private _isDisposed = false;
  /** It has the last caret also when it is removed. */
  private _drawnDiff: DrawnDiff | null = null;
}

/** Add the box of one version, which can be reached and scrolled with the keyboard. */
function makeVersion(
  parent: HTMLElement,
  side: 'before' | 'after',
  title: string,
  name: string
): HTMLElement {
  const node = makeElement('div', `jp-nbedit-rendered jp-mod-${side}`);
  node.setAttribute('role', 'group');
  node.setAttribute('aria-label', name);
  node.tabIndex = 0;
  node.append(makeElement('div', 'jp-nbedit-rendered-title', title));
  parent.append(node);
  return node;
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
      return MARKDOWN_LANGUAGE;
    case null:
      return 'application/json';
    default:
      return 'text/plain';
  }
}
