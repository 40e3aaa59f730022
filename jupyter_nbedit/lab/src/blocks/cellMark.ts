import type { Cell } from '@jupyterlab/cells';
import { keepFocus, makeElement } from '../ui/elements';
import { suppressShortcuts } from './cellBlock';

/** What a mark shows and does. */
export interface CellMark {
  readonly label: string;
  /** Whether the block of the change is shown; left out if the block is always shown. */
  readonly isOpen?: boolean;
  /** @param isByKey Whether the keyboard was used. */
  readonly onClick: (isByKey: boolean) => void;
}

/** The marks of one kind: buttons at cells. */
export class CellMarks {
  constructor(private readonly _className: string) {}

  /** Set the mark of a cell, or remove it. */
  set(cell: Cell, mark: CellMark | null): void {
    const node = this._nodes.get(cell);
    if (mark === null) {
      node?.remove();
      this._nodes.delete(cell);
    } else {
      show(node ?? this._add(cell), mark);
    }
  }

  private _add(cell: Cell): HTMLButtonElement {
    const node = makeElement('button', this._className);
    node.type = 'button';
    suppressShortcuts(node);
    keepFocus(node);
    // At the end, because the cell's layout counts the elements before it.
    cell.node.append(node);
    this._nodes.set(cell, node);
    return node;
  }

  private readonly _nodes = new WeakMap<Cell, HTMLButtonElement>();
}

function show(node: HTMLButtonElement, { label, isOpen, onClick }: CellMark): void {
  // A click by the keyboard has no detail.
  node.onclick = ({ detail }) => onClick(detail === 0);
  if (node.title !== label) {
    node.title = label;
    node.setAttribute('aria-label', label);
  }
  if (isOpen !== undefined) {
    node.setAttribute('aria-expanded', `${isOpen}`);
  }
}
