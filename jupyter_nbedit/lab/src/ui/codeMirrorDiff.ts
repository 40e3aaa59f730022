/** Draws a diff with CodeMirror. `diffView.ts` imports this module when a diff is first shown. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { getChunks, getOriginalDoc, MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension, type Text } from '@codemirror/state';
import { Decoration, EditorView, keymap, WidgetType } from '@codemirror/view';
import type { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import { makeElement } from './elements';

/** The layout of a diff: in one column, or in two. */
export type DiffLayout = 'inline' | 'side-by-side';

/** Two versions of a text. */
export interface TextPair {
  /** The text before, or null if there was none. */
  readonly before: string | null;
  /** The text after, or null if there is none. */
  readonly after: string | null;
  /** The language of both, by its MIME type or its name. */
  readonly language: string;
  /** What the text belongs to, for screen readers: "Cell 3". */
  readonly label: string;
}

/** What is needed to draw a diff. */
export interface DiffOptions {
  readonly texts: TextPair;
  readonly layout: DiffLayout;
  readonly languages: IEditorLanguageRegistry;
  readonly themes: IEditorThemeRegistry | null;
  readonly trans: TranslationBundle;
  /** Lets the user edit the text after, in one column; called with the text after each change. */
  readonly onEdit?: ((text: string) => void) | undefined;
  /** The notebook that the addresses in rendered Markdown are relative to. */
  readonly path?: string;
}

/** Lines around a change that are always shown, and the minimum number of lines to hide. */
const COLLAPSE_OPTIONS = { margin: 3, minSize: 6 };

/** Limits above which texts are compared roughly, not character by character. */
const DIFF_OPTIONS = { scanLimit: 500, timeout: 200 };

/** A diff on the page. */
export interface DrawnDiff {
  /** The editor of the text after, or of the only text. */
  readonly editor: EditorView;
  readonly remove: () => void;
}

/** Draw the diff of two texts. */
export function drawDiff(node: HTMLElement, options: DiffOptions, language: Extension): DrawnDiff {
  const { texts, layout, themes, trans, onEdit } = options;
  const { before, after, label } = texts;
  const shared = [
    onEdit === undefined ? readOnly : makeEditable(onEdit),
    EditorView.lineWrapping,
    EditorState.phrases.of({ '$ unchanged lines': trans.__('$ unchanged lines') }),
    EditorView.updateListener.of(({ view }) => addAccessibility(view.dom, trans)),
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
        labelEditor(({ state: { doc } }) => {
          const count = doc.length === 0 ? 0 : doc.lines;
          return `${label}, ${isAdded ? describeAdded(count, trans) : describeRemoved(count, trans)}`;
        }),
        EditorView.editorAttributes.of({ class: isAdded ? 'cm-merge-b' : 'cm-merge-a' }),
        EditorView.decorations.of(decorateAllLines),
        showSigns(isAdded ? 'added' : 'removed', trans)
      ]
    });
    return { editor: view, remove: () => view.destroy() };
  }
  if (layout === 'inline') {
    const view = new EditorView({
      parent: node,
      doc: after,
      extensions: [
        shared,
        labelEditor(({ state }) => {
          const removed = describeRemoved(countLines(state, 'a', getOriginalDoc(state)), trans);
          const added = describeAdded(countLines(state, 'b', state.doc), trans);
          return `${label}, ${added}, ${removed}`;
        }),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          ...(onEdit === undefined ? { collapseUnchanged: COLLAPSE_OPTIONS } : {}),
          diffConfig: DIFF_OPTIONS
        }),
        showSigns('added', trans)
      ]
    });
    addAccessibility(view.dom, trans);
    return { editor: view, remove: () => view.destroy() };
  }
  const view = new MergeView({
    parent: node,
    a: {
      doc: before,
      extensions: [
        shared,
        labelEditor(({ state }) => {
          const removed = describeRemoved(countLines(state, 'a', state.doc), trans);
          return trans.__('%1, before, %2', label, removed);
        }),
        showSigns('removed', trans)
      ]
    },
    b: {
      doc: after,
      extensions: [
        shared,
        labelEditor(({ state }) => {
          const added = describeAdded(countLines(state, 'b', state.doc), trans);
          return trans.__('%1, after, %2', label, added);
        }),
        showSigns('added', trans)
      ]
    },
    collapseUnchanged: COLLAPSE_OPTIONS,
    diffConfig: DIFF_OPTIONS
  });
  return { editor: view.b, remove: () => view.destroy() };
}

const readOnly: Extension = [EditorState.readOnly.of(true), EditorView.editable.of(false)];

/** Tab moves the focus, so that users of the keyboard can leave the editor. */
function makeEditable(onEdit: (text: string) => void): Extension {
  return [
    history(),
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) {
        onEdit(state.doc.toString());
      }
    })
  ];
}

/** A text that is read-only, too, can be reached and read with the keyboard. */
function labelEditor(describe: (view: EditorView) => string): Extension {
  return EditorView.contentAttributes.of(view => ({
    'aria-label': describe(view),
    'aria-readonly': `${view.state.readOnly}`,
    tabindex: '0'
  }));
}

/** Return the number of lines that differ, in the text before (a) or after (b). */
function countLines(state: EditorState, side: 'a' | 'b', doc: Text): number {
  const chunks = getChunks(state)?.chunks ?? [];
  const ranges = chunks.map(chunk =>
    side === 'a' ? ([chunk.fromA, chunk.toA] as const) : ([chunk.fromB, chunk.toB] as const)
  );
  return ranges
    .filter(([from, to]) => to > from && doc.length > 0)
    .map(([from, to]) => {
      // The end of a chunk is behind its last line break, which the last line does not have.
      const last = doc.lineAt(Math.min(to - 1, doc.length)).number;
      return last - doc.lineAt(from).number + 1;
    })
    .reduce((sum, count) => sum + count, 0);
}

function describeAdded(count: number, trans: TranslationBundle): string {
  return trans._n('%1 line added', '%1 lines added', count, count);
}

function describeRemoved(count: number, trans: TranslationBundle): string {
  return trans._n('%1 line removed', '%1 lines removed', count, count);
}

/** How a line has changed. */
type LineChange = 'added' | 'removed';

/** Make the sign before a line: a symbol, and a word for screen readers. */
function makeSign(change: LineChange, trans: TranslationBundle): HTMLElement {
  const sign = makeElement('span', 'jp-nbedit-line-sign');
  const mark = makeElement('span', 'jp-nbedit-line-sign-symbol', change === 'added' ? '+' : '-');
  mark.setAttribute('aria-hidden', 'true');
  const name = change === 'added' ? trans.__('added:') : trans.__('removed:');
  sign.append(mark, makeElement('span', 'jp-nbedit-visually-hidden', `${name} `));
  return sign;
}

class SignWidget extends WidgetType {
  constructor(
    private readonly _change: LineChange,
    private readonly _trans: TranslationBundle
  ) {
    super();
  }

  override eq(other: SignWidget): boolean {
    return other._change === this._change;
  }

  override toDOM(): HTMLElement {
    return makeSign(this._change, this._trans);
  }
}

/** Show a sign before each changed line in the viewport. */
function showSigns(change: LineChange, trans: TranslationBundle): Extension {
  const sign = Decoration.widget({ widget: new SignWidget(change, trans), side: -1 });
  return EditorView.decorations.of(view =>
    Decoration.set(findChangedLines(view).map(from => sign.range(from)))
  );
}

/** Return where the changed lines in the viewport begin: all lines if there is no other text. */
function findChangedLines(view: EditorView): number[] {
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

/** Add signs and keyboard support to the widgets of the merge view. */
function addAccessibility(view: HTMLElement, trans: TranslationBundle): void {
  // Beside another text, the same class marks the words of a line that has its sign already.
  const deletedLines = '.cm-deletedChunk > .cm-deletedLine:not(:has(.jp-nbedit-line-sign))';
  for (const line of view.querySelectorAll(deletedLines)) {
    line.prepend(makeSign('removed', trans));
  }
  // The merge view expands hidden lines with the mouse only.
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

const changedLine = Decoration.line({ class: 'cm-changedLine' });

/** Decorate all lines in the viewport as changed. */
function decorateAllLines(view: EditorView) {
  return Decoration.set(findChangedLines(view).map(from => changedLine.range(from)));
}
