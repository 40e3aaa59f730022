import type { Cell } from '@jupyterlab/cells';
import type { PanelLayout, Widget } from '@lumino/widgets';
import type { Proposal, ProposalPart } from '../server/models';
import { isInsert, type Place } from './partPosition';
import type { Block } from './proposalBlock';

/** A part of a proposal, as it is shown in one view of the notebook. */
export interface Entry {
  proposal: Proposal;
  part: ProposalPart;
  place: Place;
  /** The MIME type of the notebook's code when its difference was drawn. */
  readonly language: string;
  /** Null while its difference is being drawn. */
  block: Block | null;
  /** Comes when that is drawn. */
  made: Promise<void>;
  /** Why it was not accepted, and what the tab had of the cell then. */
  refused: { readonly text: string; readonly source: string | null } | null;
  isBusy: boolean;
}

/** What a part is known by. */
export function keyOf({ proposal, part }: Pick<Entry, 'proposal' | 'part'>): string {
  return `${proposal.proposal_id}/${part.part}`;
}

/** The entries in the order in which they are shown. */
export function inOrder(
  entries: ReadonlyMap<string, Entry>
): { readonly key: string; readonly entry: Entry }[] {
  const height = ({ cell, side }: Place): number => 2 * cell + (side === 'above' ? 0 : 1);
  return [...entries]
    .map(([key, entry]) => ({ key, entry }))
    .sort(
      ({ entry: a }, { entry: b }) =>
        height(a.place) - height(b.place) ||
        Number(isInsert(a.part)) - Number(isInsert(b.part)) ||
        a.proposal.proposal_id - b.proposal.proposal_id ||
        (a.part.index ?? 0) - (b.part.index ?? 0)
    );
}

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
