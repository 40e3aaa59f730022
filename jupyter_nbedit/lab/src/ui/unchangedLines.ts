import { StateEffect, StateField, type EditorState, type Extension } from '@codemirror/state';
import { Decoration, EditorView, WidgetType, type DecorationSet } from '@codemirror/view';
import type { TranslationBundle } from '@jupyterlab/translation';
import { makeElement } from './elements';

/** Lines around a change that are always shown, and the minimum number of lines to hide. */
const MARGIN = 3;
const MIN_HIDDEN = 6;

/** Lines by index; the stop is exclusive. */
interface LineRange {
  readonly start: number;
  readonly stop: number;
}

/** Shows the hidden lines with this number. */
const showLines = StateEffect.define<number>();

/**
 * Hide unchanged lines that are far from a change behind a button.
 *
 * @param changes The changed lines of this text, in ascending order.
 * @param onShow Called with the number of the hidden lines that the user wants to see.
 */
export function hideUnchangedLines(
  changes: readonly LineRange[],
  trans: TranslationBundle,
  onShow: (number: number) => void
): Extension {
  const create = ({ doc }: EditorState): DecorationSet => {
    const hidden = listHiddenLines(changes, doc.lines).flatMap((range, number) =>
      range === null
        ? []
        : Decoration.replace({
            widget: new HiddenLines(range.stop - range.start, number, trans, onShow),
            block: true
          }).range(doc.line(range.start + 1).from, doc.line(range.stop).to)
    );
    return Decoration.set(hidden);
  };
  return StateField.define<DecorationSet>({
    create,
    update: (decorations, { effects }) =>
      effects.reduce(
        (shown, effect) =>
          effect.is(showLines)
            ? shown.update({
                filter: (_from, _to, { spec }) =>
                  (spec as { widget: HiddenLines }).widget.number !== effect.value
              })
            : shown,
        decorations
      ),
    provide: field => EditorView.decorations.from(field)
  });
}

/** Show hidden lines of an editor. */
export function showHiddenLines(view: EditorView, number: number): void {
  view.dispatch({ effects: showLines.of(number) });
}

/**
 * Return the lines to hide before the first change, between two, and after the last; null where
 * there are too few.
 */
function listHiddenLines(changes: readonly LineRange[], lineCount: number): (LineRange | null)[] {
  if (changes.length === 0) {
    return [];
  }
  const end = { start: lineCount + MARGIN, stop: lineCount };
  return [...changes, end].map((change, index) => {
    const previous = changes[index - 1];
    const start = previous === undefined ? 0 : previous.stop + MARGIN;
    const stop = change.start - MARGIN;
    return stop - start < MIN_HIDDEN ? null : { start, stop };
  });
}

class HiddenLines extends WidgetType {
  constructor(
    private readonly _count: number,
    readonly number: number,
    private readonly _trans: TranslationBundle,
    private readonly _onShow: (number: number) => void
  ) {
    super();
  }

  override eq(other: HiddenLines): boolean {
    return other.number === this.number;
  }

  override toDOM(): HTMLElement {
    const text = this._trans.__('%1 unchanged lines', this._count);
    const node = makeElement('div', 'cm-collapsedLines', text);
    node.setAttribute('role', 'button');
    node.tabIndex = 0;
    node.addEventListener('click', () => this._onShow(this.number));
    node.addEventListener('keydown', event => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        event.stopPropagation();
        this._onShow(this.number);
      }
    });
    return node;
  }

  override get estimatedHeight(): number {
    return 24;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}
