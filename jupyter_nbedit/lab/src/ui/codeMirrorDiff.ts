/** Draws a diff with CodeMirror. `diffView.ts` imports this module when a diff is first shown. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap } from '@codemirror/view';
import type { IEditorLanguageRegistry, IEditorThemeRegistry } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ColumnAligner, spaceField } from './diffColumns';
import { makeElement } from './elements';
import { compareTexts } from './lineChanges';
import { getSide, makeDiffField, markLines, showRemovedLines } from './lineDecorations';
import type { LineKind } from './lineSign';
import { showSpecialCharacters } from './specialCharacters';
import { hideUnchangedLines, showHiddenLines } from './unchangedLines';

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

/** What each diff is drawn with. */
export interface DiffServices {
  readonly languages: IEditorLanguageRegistry;
  readonly themes: IEditorThemeRegistry | null;
  readonly trans: TranslationBundle;
}

/** What is needed to draw a diff. */
export interface DiffOptions extends DiffServices {
  readonly texts: TextPair;
  readonly layout: DiffLayout;
  /** Lets the user edit the text after, in one column; called with the text after each change. */
  readonly onEdit?: ((text: string) => void) | undefined;
  /** The notebook that the addresses in rendered Markdown are relative to. */
  readonly path?: string;
}

/** A diff on the page. */
export interface DrawnDiff {
  /** The editor of the text after, or of the only text. */
  readonly editor: EditorView;
  readonly remove: () => void;
}

/** Draw the diff of two texts. */
export function drawDiff(node: HTMLElement, options: DiffOptions, language: Extension): DrawnDiff {
  const { layout, themes, onEdit, texts } = options;
  const shared = [
    onEdit === undefined ? readOnly : makeEditable(onEdit),
    // Other line ends, such as the carriage return of CR LF, are characters of a line.
    EditorState.lineSeparator.of('\n'),
    EditorView.lineWrapping,
    showSpecialCharacters,
    themes?.defaultTheme() ?? [],
    language
  ];
  const { before, after } = texts;
  if (after === null) {
    return drawRemovedText(node, before ?? '', options, shared);
  }
  return layout === 'inline' || before === null
    ? drawInOneColumn(node, before, after, options, shared)
    : drawInTwoColumns(node, before, after, options, shared);
}

function drawRemovedText(
  parent: HTMLElement,
  before: string,
  { texts, trans }: DiffOptions,
  shared: Extension
): DrawnDiff {
  const diff = compareTexts(before, null);
  const name = `${texts.label}, ${describeRemoved(diff.removedCount, trans)}`;
  const view = new EditorView({
    parent,
    doc: before,
    extensions: [
      shared,
      labelEditor(() => name),
      markEditor('removed'),
      markLines(() => diff, 'removed', trans)
    ]
  });
  return { editor: view, remove: () => view.destroy() };
}

function drawInOneColumn(
  parent: HTMLElement,
  before: string | null,
  after: string,
  { texts, trans, onEdit }: DiffOptions,
  shared: Extension
): DrawnDiff {
  const field = makeDiffField(before);
  const lines = compareTexts(before, after).changes.map(change => getSide(change, 'added'));
  const view: EditorView = new EditorView({
    parent,
    doc: after,
    extensions: [
      shared,
      field,
      labelEditor(({ state }) => {
        const { addedCount, removedCount } = state.field(field);
        const added = `${texts.label}, ${describeAdded(addedCount, trans)}`;
        return before === null ? added : `${added}, ${describeRemoved(removedCount, trans)}`;
      }),
      markEditor('added'),
      markLines(state => state.field(field), 'added', trans),
      showRemovedLines(field, trans),
      onEdit === undefined
        ? hideUnchangedLines(lines, trans, number => showHiddenLines(view, number))
        : []
    ]
  });
  return { editor: view, remove: () => view.destroy() };
}

function drawInTwoColumns(
  parent: HTMLElement,
  before: string,
  after: string,
  { texts, trans }: DiffOptions,
  shared: Extension
): DrawnDiff {
  const diff = compareTexts(before, after);
  const node = makeElement('div', 'jp-nbedit-diff-columns');
  parent.append(node);
  const drawColumn = (doc: string, kind: LineKind, name: string): EditorView => {
    const lines = diff.changes.map(change => getSide(change, kind));
    return new EditorView({
      parent: node,
      doc,
      extensions: [
        shared,
        labelEditor(() => name),
        markEditor(kind),
        markLines(() => diff, kind, trans),
        hideUnchangedLines(lines, trans, number =>
          [left, right].forEach(view => showHiddenLines(view, number))
        ),
        spaceField,
        EditorView.updateListener.of(({ geometryChanged }) => {
          if (geometryChanged) {
            aligner.schedule();
          }
        })
      ]
    });
  };
  const removed = describeRemoved(diff.removedCount, trans);
  const left = drawColumn(before, 'removed', trans.__('%1, before, %2', texts.label, removed));
  const added = describeAdded(diff.addedCount, trans);
  const right = drawColumn(after, 'added', trans.__('%1, after, %2', texts.label, added));
  const aligner = new ColumnAligner(left, right, diff.changes);
  aligner.schedule();
  return {
    editor: right,
    remove: () => {
      aligner.dispose();
      left.destroy();
      right.destroy();
      node.remove();
    }
  };
}

/** Give an editor the class of the lines that are marked in it. */
function markEditor(kind: LineKind): Extension {
  return EditorView.editorAttributes.of({
    class: kind === 'removed' ? 'jp-mod-before' : 'jp-mod-after'
  });
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

/** The keyboard can also reach and read a read-only text. */
function labelEditor(describe: (view: EditorView) => string): Extension {
  return EditorView.contentAttributes.of(view => ({
    'aria-label': describe(view),
    'aria-readonly': `${view.state.readOnly}`,
    tabindex: '0'
  }));
}

function describeAdded(count: number, trans: TranslationBundle): string {
  return trans._n('%1 line added', '%1 lines added', count, count);
}

function describeRemoved(count: number, trans: TranslationBundle): string {
  return trans._n('%1 line removed', '%1 lines removed', count, count);
}
