/** What is drawn of a comparison. Only `compare.ts` imports this, when there is one to show. */
import { getChunks, MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { Decoration, EditorView, WidgetType } from '@codemirror/view';
import type { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import { make } from './elements';

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

/** Lines around a change that are shown in any case, and how many must be left out to do so. */
const COLLAPSE = { margin: 3, minSize: 6 };

/** Texts that differ in more than this are compared roughly, not letter by letter. */
const DIFF = { scanLimit: 500, timeout: 200 };

/**
 * Show how two texts differ.
 *
 * @returns Takes it away again.
 */
export function draw(node: HTMLElement, drawing: Drawing, language: Extension): () => void {
  const { texts, layout, themes, trans } = drawing;
  const { before, after, label } = texts;
  const shared = [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.lineWrapping,
    EditorState.phrases.of({ '$ unchanged lines': trans.__('$ unchanged lines') }),
    EditorView.updateListener.of(({ view }) => completeWidgets(view.dom, trans)),
    themes?.defaultTheme() ?? [],
    language
  ];
  if (before === null || after === null) {
    const isAdded = before === null;
    const view = new EditorView({
      parent: node,
      doc: after ?? before ?? '',
      extensions: [
        shared,
        named(isAdded ? trans.__('%1, added', label) : trans.__('%1, removed', label)),
        EditorView.editorAttributes.of({ class: isAdded ? 'cm-merge-b' : 'cm-merge-a' }),
        EditorView.decorations.of(wholeText),
        showSigns(isAdded ? 'added' : 'removed', trans)
      ]
    });
    return () => view.destroy();
  }
  if (layout === 'inline') {
    const view = new EditorView({
      parent: node,
      doc: after,
      extensions: [
        shared,
        named(trans.__('%1, changes', label)),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          collapseUnchanged: COLLAPSE,
          diffConfig: DIFF
        }),
        showSigns('added', trans)
      ]
    });
    completeWidgets(view.dom, trans);
    return () => view.destroy();
  }
  const view = new MergeView({
    parent: node,
    a: {
      doc: before,
      extensions: [shared, named(trans.__('%1, before', label)), showSigns('removed', trans)]
    },
    b: {
      doc: after,
      extensions: [shared, named(trans.__('%1, after', label)), showSigns('added', trans)]
    },
    collapseUnchanged: COLLAPSE,
    diffConfig: DIFF
  });
  return () => view.destroy();
}

/** The text can be reached and read with the keyboard, although it cannot be written. */
function named(label: string): Extension {
  return EditorView.contentAttributes.of({
    'aria-label': label,
    'aria-readonly': 'true',
    tabindex: '0'
  });
}

/** What happened to a line. */
type Fate = 'added' | 'removed';

/** Make what says at the beginning of a line, to the eye and to a screen reader, what it is. */
function makeSign(fate: Fate, trans: TranslationBundle): HTMLElement {
  const sign = make('span', 'jp-nbedit-sign');
  const mark = make('span', 'jp-nbedit-sign-mark', fate === 'added' ? '+' : '-');
  mark.setAttribute('aria-hidden', 'true');
  const name = fate === 'added' ? trans.__('added:') : trans.__('removed:');
  sign.append(mark, make('span', 'jp-nbedit-spoken', `${name} `));
  return sign;
}

class SignWidget extends WidgetType {
  constructor(
    private readonly _fate: Fate,
    private readonly _trans: TranslationBundle
  ) {
    super();
  }

  override eq(other: SignWidget): boolean {
    return other._fate === this._fate;
  }

  override toDOM(): HTMLElement {
    return makeSign(this._fate, this._trans);
  }
}

/** Put a sign before each changed line in sight. */
function showSigns(fate: Fate, trans: TranslationBundle): Extension {
  const sign = Decoration.widget({ widget: new SignWidget(fate, trans), side: -1 });
  return EditorView.decorations.of(view =>
    Decoration.set(changedLines(view).map(from => sign.range(from)))
  );
}

/** Return where the changed lines in sight begin: all lines, where there is no other text. */
function changedLines(view: EditorView): number[] {
  const { doc } = view.state;
  const merged = getChunks(view.state);
  const changes =
    merged === null
      ? [{ from: 0, to: doc.length + 1 }]
      : merged.chunks.map(({ fromA, toA, fromB, toB }) =>
          merged.side === 'a' ? { from: fromA, to: toA } : { from: fromB, to: toB }
        );
  const { viewport } = view;
  return changes.flatMap(({ from, to }) => {
    // The end of a chunk is behind the line break, which the last line of the text does not have.
    const begin = Math.max(from, viewport.from);
    const end = Math.min(to - 1, viewport.to);
    if (begin > end) {
      return [];
    }
    const first = doc.lineAt(begin).number;
    const last = doc.lineAt(end).number;
    return Array.from({ length: last - first + 1 }, (_, i) => doc.line(first + i).from);
  });
}

/** Add to the widgets that the merge view draws what they lack for keyboards and screen readers. */
function completeWidgets(view: HTMLElement, trans: TranslationBundle): void {
  // Beside another text the same class marks the words of a line, which has its sign already.
  const deletedLines = '.cm-deletedChunk > .cm-deletedLine:not(:has(.jp-nbedit-sign))';
  for (const line of view.querySelectorAll(deletedLines)) {
    line.prepend(makeSign('removed', trans));
  }
  // Lines that are left out can be shown with the mouse; let the keyboard do it, too.
  for (const lines of view.querySelectorAll<HTMLElement>('.cm-collapsedLines:not([role])')) {
    lines.setAttribute('role', 'button');
    lines.tabIndex = 0;
    lines.addEventListener('keydown', event => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        event.stopPropagation();
        lines.click();
      }
    });
  }
}

const changed = Decoration.line({ class: 'cm-changedLine' });

/** Mark all lines in sight as changed. */
function wholeText(view: EditorView) {
  return Decoration.set(changedLines(view).map(from => changed.range(from)));
}
