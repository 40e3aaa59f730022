import type { Cell } from '@jupyterlab/cells';
import type { PanelLayout, Widget } from '@lumino/widgets';
import type { Proposal, ProposedPart } from '../server/models';
import { isInsert, type PartPosition } from './proposalPartPosition';
import type { ProposalBlock } from './proposalBlock';

/** A part of a proposal as shown in one view of the notebook. */
export interface ShownPart {
  proposal: Proposal;
  part: ProposedPart;
  position: PartPosition;
  /** The MIME type of the notebook's code when the diff was drawn. */
  readonly language: string;
  /** Null while the diff is being drawn. */
  block: ProposalBlock | null;
  /** Resolves when the diff is drawn. */
  whenDrawn: Promise<void>;
  /** Why it was not accepted, and the source of the cell at that time. */
  problem: { readonly text: string; readonly source: string | null } | null;
  isBusy: boolean;
}

/** Return the key of a part. */
export function getPartKey({ proposal, part }: Pick<ShownPart, 'proposal' | 'part'>): string {
  return `${proposal.proposal_id}/${part.part}`;
}

/** Return the parts in the order in which they are shown. */
export function sortParts(
  shownParts: ReadonlyMap<string, ShownPart>
): { readonly key: string; readonly shownPart: ShownPart }[] {
  const getRank = ({ cell, side }: PartPosition): number => 2 * cell + (side === 'above' ? 0 : 1);
  return [...shownParts]
    .map(([key, shownPart]) => ({ key, shownPart }))
    .sort(
      ({ shownPart: a }, { shownPart: b }) =>
        getRank(a.position) - getRank(b.position) ||
        Number(isInsert(a.part)) - Number(isInsert(b.part)) ||
        a.proposal.proposal_id - b.proposal.proposal_id ||
        (a.part.index ?? 0) - (b.part.index ?? 0)
    );
}

/** A widget and its position. */
export interface PlacedWidget {
  readonly widget: Widget;
  readonly position: PartPosition;
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
  return cells.flatMap((cell, index) => {
    const widgetsOfCell = widgets.filter(({ position }) => position.cell === index);
    if (widgetsOfCell.length === 0 || cell.inputArea === null) {
      return [];
    }
    const layout = cell.layout as PanelLayout;
    const listWidgets = (side: PartPosition['side']): Widget[] =>
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
            above.forEach((widget, position) => layout.insertWidget(position, widget));
            below.forEach(widget => layout.addWidget(widget));
          }
        ];
  });
}
