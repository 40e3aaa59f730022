import type { Cell } from '@jupyterlab/cells';
import type { PanelLayout, Widget } from '@lumino/widgets';
import type { Place } from './places';

/** A widget, and at which cell it is to be. */
export interface Placed {
  readonly widget: Widget;
  readonly place: Place;
}

/**
 * Find what is to be done so that each widget is in its cell: as a part of the cell's own widget it
 * comes and goes with it in a notebook that shows only the cells in sight.
 *
 * Cells that are not drawn yet are left out.
 *
 * @param placed In the order in which widgets at the same cell are to stand.
 * @returns What is to be done, which is nothing if all are in place.
 */
export function moves(cells: readonly Cell[], placed: readonly Placed[]): (() => void)[] {
  return cells.flatMap((cell, index) => {
    const here = placed.filter(({ place }) => place.cell === index);
    if (here.length === 0 || cell.inputArea === null) {
      return [];
    }
    const layout = cell.layout as PanelLayout;
    const on = (side: Place['side']): Widget[] =>
      here.filter(({ place }) => place.side === side).map(({ widget }) => widget);
    const above = on('above');
    const below = on('below');
    const now = layout.widgets;
    const isDone =
      above.every((widget, position) => now[position] === widget) &&
      below.every((widget, position) => now[now.length - below.length + position] === widget);
    return isDone
      ? []
      : [
          () => {
            above.forEach((widget, position) => layout.insertWidget(position, widget));
            below.forEach(widget => layout.addWidget(widget));
          }
        ];
  });
}
