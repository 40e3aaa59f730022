import type { Cell } from '@jupyterlab/cells';
import type { PanelLayout, Widget } from '@lumino/widgets';

/** Where a widget is shown. */
export interface BlockPosition {
  /** The index of the cell at which it is shown. */
  readonly cell: number;
  readonly side: 'above' | 'below';
}

/** A widget and its position. */
export interface PlacedWidget {
  readonly widget: Widget;
  readonly position: BlockPosition;
}

/** Return the position in a gap, which has `gap` cells before it. */
export function getGapPosition(gap: number, cellCount: number): BlockPosition {
  return gap <= 0
    ? { cell: 0, side: 'above' }
    : { cell: Math.min(gap, cellCount) - 1, side: 'below' };
}

/** Compare positions by their order in the notebook. */
export function comparePositions(a: BlockPosition, b: BlockPosition): number {
  return getRank(a) - getRank(b);
}

function getRank({ cell, side }: BlockPosition): number {
  return 2 * cell + (side === 'above' ? 0 : 1);
}

/**
 * Return the layout changes that put each widget into its cell.
 *
 * As a part of the cell's widget, it is attached and detached with the cell in a windowed notebook.
 * Cells that are not rendered yet are left out.
 *
 * @param widgets Widgets at the same cell are in the order in which they are shown.
 * @returns The changes, empty if all widgets are in place.
 */
export function planLayoutChanges(
  cells: readonly Cell[],
  widgets: readonly PlacedWidget[]
): (() => void)[] {
  const widgetsByCell = new Map<number, PlacedWidget[]>();
  for (const placed of widgets) {
    const { cell } = placed.position;
    widgetsByCell.set(cell, [...(widgetsByCell.get(cell) ?? []), placed]);
  }
  return [...widgetsByCell].flatMap(([index, widgetsOfCell]) => {
    const cell = cells[index];
    if (cell === undefined || cell.isPlaceholder()) {
      return [];
    }
    const layout = cell.layout as PanelLayout;
    const listWidgets = (side: BlockPosition['side']): Widget[] =>
      widgetsOfCell.filter(({ position }) => position.side === side).map(({ widget }) => widget);
    const above = listWidgets('above');
    const below = listWidgets('below');
    const currentWidgets = layout.widgets;
    const isInPlace =
      above.every((widget, position) => currentWidgets[position] === widget) &&
      below.every(
        (widget, position) =>
          currentWidgets[currentWidgets.length - below.length + position] === widget
      );
    return isInPlace
      ? []
      : [
          () => {
            insertAbove(layout, above);
            insertBelow(layout, below);
          }
        ];
  });
}

/** Put widgets at the start; a widget that is in place stays attached, with the focus in it. */
function insertAbove(layout: PanelLayout, widgets: readonly Widget[]): void {
  widgets.forEach((widget, index) => {
    if (layout.widgets[index] !== widget) {
      layout.insertWidget(index, widget);
    }
  });
}

/** Put widgets at the end; a widget that is in place stays attached, with the focus in it. */
function insertBelow(layout: PanelLayout, widgets: readonly Widget[]): void {
  [...widgets].reverse().forEach((widget, count) => {
    const { length } = layout.widgets;
    if (layout.widgets[length - 1 - count] !== widget) {
      layout.insertWidget(length - count, widget);
    }
  });
}
