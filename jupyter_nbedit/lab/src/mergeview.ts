/** What is drawn of a comparison. Only `compare.ts` imports this, when there is one to show. */
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { Decoration, EditorView } from '@codemirror/view';
import type { Drawing } from './compare';

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
    EditorView.updateListener.of(({ view }) => makeButtons(view.dom)),
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
        EditorView.decorations.of(wholeText)
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
        })
      ]
    });
    return () => view.destroy();
  }
  const view = new MergeView({
    parent: node,
    a: { doc: before, extensions: [shared, named(trans.__('%1, before', label))] },
    b: { doc: after, extensions: [shared, named(trans.__('%1, after', label))] },
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

/** Lines that are left out can be shown with the mouse; let the keyboard do it, too. */
function makeButtons(view: HTMLElement): void {
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
  const lines = view.visibleRanges.flatMap(({ from, to }) => {
    const { doc } = view.state;
    const first = doc.lineAt(from).number;
    const last = doc.lineAt(to).number;
    return Array.from({ length: last - first + 1 }, (_, i) =>
      changed.range(doc.line(first + i).from)
    );
  });
  return Decoration.set(lines);
}
