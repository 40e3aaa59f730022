import { StateEffect, StateField, type EditorState } from '@codemirror/state';
import {
  BlockType,
  Decoration,
  EditorView,
  WidgetType,
  type BlockInfo,
  type DecorationSet
} from '@codemirror/view';
import { makeElement } from './elements';
import type { LineChange } from './lineChanges';
import { findLinePosition, getSide } from './lineDecorations';
import type { LineKind } from './lineSign';

/** Differences of height that nobody sees, in pixels. */
const TOLERANCE = 0.5;

/** An empty space below or in the place of changed lines. */
interface Space {
  /** The index of the line before which it is. */
  readonly line: number;
  readonly height: number;
}

const setSpaces = StateEffect.define<DecorationSet>();

/** Has the spaces of an editor. */
export const spaceField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (spaces, { effects }) =>
    effects.reduce((latest, effect) => (effect.is(setSpaces) ? effect.value : latest), spaces),
  provide: field => EditorView.decorations.from(field)
});

/**
 * Keeps equal lines of two editors beside each other.
 *
 * Lines that wrap have heights that are known only when they are drawn, so the space below the
 * changed lines of one side follows the heights on the page.
 */
export class ColumnAligner {
  constructor(
    private readonly _before: EditorView,
    private readonly _after: EditorView,
    private readonly _changes: readonly LineChange[]
  ) {}

  /** Align the lines before the page is drawn next. */
  schedule(): void {
    this._frame ??= requestAnimationFrame(() => {
      this._frame = null;
      this._align();
    });
  }

  dispose(): void {
    if (this._frame !== null) {
      cancelAnimationFrame(this._frame);
    }
  }

  private _align(): void {
    const differences = this._changes.map(
      change =>
        measureLines(this._before, change, 'removed') - measureLines(this._after, change, 'added')
    );
    const isAligned = differences.every(
      (difference, index) => Math.abs(difference - (this._differences[index] ?? 0)) < TOLERANCE
    );
    // Spaces change the geometry, which asks for the next alignment.
    if (!isAligned) {
      this._differences = differences;
      this._setSpaces(this._before, 'removed', -1);
      this._setSpaces(this._after, 'added', 1);
    }
  }

  /** @param sign The sign of the differences for which this side is shorter. */
  private _setSpaces(view: EditorView, kind: LineKind, sign: 1 | -1): void {
    const spaces = this._changes.flatMap((change, index): Space[] => {
      const height = sign * (this._differences[index] ?? 0);
      return height < TOLERANCE ? [] : [{ line: getSide(change, kind).stop, height }];
    });
    view.dispatch({ effects: setSpaces.of(drawSpaces(spaces, view.state)) });
  }

  private _frame: number | null = null;
  /** How much higher the lines of each change are in the text before. */
  private _differences: readonly number[] = [];
}

/** Return the height of the changed lines of one side, in pixels. */
function measureLines(view: EditorView, change: LineChange, kind: LineKind): number {
  const { start, stop } = getSide(change, kind);
  return start < stop ? findTextBlock(view, stop - 1).bottom - findTextBlock(view, start).top : 0;
}

/** Return where a line is, without the blocks around it. */
function findTextBlock(view: EditorView, index: number): BlockInfo {
  const block = view.lineBlockAt(view.state.doc.line(index + 1).from);
  const parts = Array.isArray(block.type) ? (block.type as readonly BlockInfo[]) : [];
  return parts.find(({ type }) => type === BlockType.Text) ?? block;
}

function drawSpaces(spaces: readonly Space[], state: EditorState): DecorationSet {
  return Decoration.set(
    spaces.map(({ line, height }) => {
      const { position, side } = findLinePosition(state, line);
      return Decoration.widget({ widget: new SpaceWidget(height), side, block: true }).range(
        position
      );
    })
  );
}

class SpaceWidget extends WidgetType {
  constructor(private readonly _height: number) {
    super();
  }

  override eq(other: SpaceWidget): boolean {
    return other._height === this._height;
  }

  override toDOM(): HTMLElement {
    const node = makeElement('div', 'jp-nbedit-diff-space');
    node.style.height = `${this._height}px`;
    return node;
  }

  override get estimatedHeight(): number {
    return this._height;
  }
}
