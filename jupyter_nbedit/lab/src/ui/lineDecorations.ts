import { type EditorState, type Extension, type Range, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view';
import type { TranslationBundle } from '@jupyterlab/translation';
import { compareTexts, type LineChange, type TextDiff } from './lineChanges';
import { SignWidget, type LineKind } from './lineSign';
import { RemovedLines, TextBefore } from './removedLines';

/** The difference of the text of an editor from another text. */
export type DiffField = StateField<TextDiff>;

/** Make the field that has the difference of the text in the editor, also when it is edited. */
export function makeDiffField(before: string | null): DiffField {
  return StateField.define<TextDiff>({
    create: ({ doc }) => compareTexts(before, doc.toString()),
    update: (diff, { docChanged, newDoc }) =>
      docChanged ? compareTexts(before, newDoc.toString()) : diff
  });
}

/** Show the lines of the text before that are no longer in the editor. */
export function showRemovedLines(field: DiffField, trans: TranslationBundle): Extension {
  let textBefore: TextBefore | null = null;
  return EditorView.decorations.compute([field], state => {
    const { beforeLines, changes } = state.field(field);
    textBefore ??= new TextBefore(beforeLines);
    const text = textBefore;
    return Decoration.set(
      changes
        .filter(({ start, stop }) => start < stop)
        .map(change => {
          const { position, side } = findLinePosition(state, change.newStart);
          const widget = new RemovedLines(text, change, trans);
          return Decoration.widget({ widget, side, block: true }).range(position);
        })
    );
  });
}

/** Return where a block is drawn before the line with this index, or after the last line. */
export function findLinePosition(
  { doc }: EditorState,
  index: number
): { readonly position: number; readonly side: -1 | 1 } {
  return index < doc.lines
    ? { position: doc.line(index + 1).from, side: -1 }
    : { position: doc.length, side: 1 };
}

/** Mark the changed lines of an editor, and the words in them, in what is visible. */
export function markLines(
  getDiff: (state: EditorState) => TextDiff,
  kind: LineKind,
  trans: TranslationBundle
): Extension {
  const sign = Decoration.widget({ widget: new SignWidget(kind, trans), side: -1 });
  const tagName = kind === 'added' ? 'ins' : 'del';
  const content = Decoration.mark({ tagName });
  return EditorView.decorations.of((view): DecorationSet => {
    const { doc } = view.state;
    const { from, to } = view.viewport;
    const [first, last] = [doc.lineAt(from).number - 1, doc.lineAt(to).number];
    const ranges = getDiff(view.state).changes.flatMap((change): Range<Decoration>[] => {
      const { start, stop, words } = getSide(change, kind);
      const visible: Range<Decoration>[] = [];
      for (let index = Math.max(start, first); index < Math.min(stop, last); index++) {
        const line = doc.line(index + 1);
        visible.push(CHANGED_LINE.range(line.from), sign.range(line.from));
        if (line.length > 0) {
          visible.push(content.range(line.from, line.to));
        }
        for (const span of words[index - start] ?? []) {
          visible.push(CHANGED_WORDS.range(line.from + span.from, line.from + span.to));
        }
      }
      return visible;
    });
    return Decoration.set(ranges, true);
  });
}

const CHANGED_LINE = Decoration.line({ class: 'cm-changedLine' });
const CHANGED_WORDS = Decoration.mark({ class: 'cm-changedText' });

/** The lines of one side of a change. */
interface ChangeSide {
  readonly start: number;
  readonly stop: number;
  readonly words: LineChange['addedWords'];
}

/** Return the lines of a change in the text that the kind of lines belongs to. */
export function getSide(change: LineChange, kind: LineKind): ChangeSide {
  return kind === 'added'
    ? { start: change.newStart, stop: change.newStop, words: change.addedWords }
    : { start: change.start, stop: change.stop, words: change.removedWords };
}
