import { highlightingFor, language } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';
import { WidgetType, type EditorView } from '@codemirror/view';
import type { TranslationBundle } from '@jupyterlab/translation';
import { highlightTree } from '@lezer/highlight';
import { makeElement } from './elements';
import type { LineChange, Span } from './lineChanges';
import { makeSign } from './lineSign';
import { renderCharacters } from './specialCharacters';

/** Maximum length of a text before whose syntax is coloured. */
const MAX_COLOURED_LENGTH = 20_000;

/** Approximate height of a line before it is drawn, in pixels. */
const LINE_HEIGHT = 17;

/** A part of a text with the classes of its syntax. */
interface StyledSpan extends Span {
  readonly classes: string;
}

/** Lines that are no longer in the text, drawn above the lines that were added in their place. */
export class RemovedLines extends WidgetType {
  /** @param _before The text before; what is removed of it are the lines of `change`. */
  constructor(
    private readonly _before: TextBefore,
    private readonly _change: LineChange,
    private readonly _trans: TranslationBundle
  ) {
    super();
  }

  override eq(other: RemovedLines): boolean {
    const { start, stop, removedWords } = this._change;
    return (
      other._before === this._before &&
      other._change.start === start &&
      other._change.stop === stop &&
      JSON.stringify(other._change.removedWords) === JSON.stringify(removedWords)
    );
  }

  override get estimatedHeight(): number {
    return (this._change.stop - this._change.start) * LINE_HEIGHT;
  }

  override toDOM({ state }: EditorView): HTMLElement {
    const node = makeElement('div', 'cm-deletedChunk');
    const { start, stop, removedWords } = this._change;
    for (let index = start; index < stop; index++) {
      const line = makeElement('del', 'cm-deletedLine');
      line.append(
        makeSign('removed', this._trans),
        ...this._before.drawLine(index, removedWords[index - start] ?? [], state)
      );
      node.append(line);
    }
    return node;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

/** The text before, of which lines are drawn beside the text after. */
export class TextBefore {
  constructor(private readonly _lines: readonly string[]) {}

  /** Return a line as nodes, with its syntax in colours and the words that differ marked. */
  drawLine(index: number, words: readonly Span[], state: EditorState): Node[] {
    const line = this._lines[index] ?? '';
    if (line === '') {
      return [document.createElement('br')];
    }
    const styles = (this._styles ??= this._colour(state))[index] ?? [];
    const cuts = [...styles, ...words].flatMap(({ from, to }) => [from, to]);
    const offsets = [...new Set([0, ...cuts, line.length])].sort((a, b) => a - b);
    return offsets.slice(0, -1).flatMap((from, position) => {
      const nodes = renderCharacters(line.slice(from, offsets[position + 1]));
      const isIn = (span: Span): boolean => span.from <= from && from < span.to;
      const classes = styles.filter(isIn).map(span => span.classes);
      if (words.some(isIn)) {
        classes.push('cm-deletedText');
      }
      if (classes.length === 0) {
        return nodes;
      }
      const span = makeElement('span', classes.join(' '));
      span.append(...nodes);
      return [span];
    });
  }

  /** Return the classes of the syntax for each line, in the language of the editor. */
  private _colour(state: EditorState): StyledSpan[][] {
    const styles: StyledSpan[][] = this._lines.map(() => []);
    const text = this._lines.join('\n');
    const parser = state.facet(language)?.parser;
    if (parser === undefined || text.length > MAX_COLOURED_LENGTH) {
      return styles;
    }
    const style = {
      style: (tags: Parameters<typeof highlightingFor>[1]) => highlightingFor(state, tags)
    };
    let [line, lineStart] = [0, 0];
    highlightTree(parser.parse(text), style, (from, to, classes) => {
      for (let start = from; start < to;) {
        let lineEnd = lineStart + (this._lines[line]?.length ?? 0);
        while (lineEnd < start) {
          lineStart = lineEnd + 1;
          lineEnd = lineStart + (this._lines[++line]?.length ?? 0);
        }
        const end = Math.min(to, lineEnd);
        if (end > start) {
          styles[line]?.push({ from: start - lineStart, to: end - lineStart, classes });
        }
        start = end + 1;
      }
    });
    return styles;
  }

  private _styles: StyledSpan[][] | null = null;
}
