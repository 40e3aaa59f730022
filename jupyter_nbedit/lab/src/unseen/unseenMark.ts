import type { Cell } from '@jupyterlab/cells';
import { suppressShortcuts } from '../blocks/cellBlock';
import { keepFocus, makeElement } from '../ui/elements';

/** What a mark shows and does. */
export interface UnseenMark {
  readonly label: string;
  /** Whether the block of the change is shown. */
  readonly isOpen: boolean;
  /** @param isByKey Whether the keyboard was used. */
  readonly onClick: (isByKey: boolean) => void;
}

interface MarkElement {
  readonly node: HTMLButtonElement;
  mark: UnseenMark;
}

/** The elements of the marks. */
const markElements = new WeakMap<Cell, MarkElement>();

/** Set the mark of a cell, or remove it. */
export function setMark(cell: Cell, mark: UnseenMark | null): void {
  const known = markElements.get(cell);
  if (mark === null) {
    known?.node.remove();
    markElements.delete(cell);
    return;
  }
  const element = known ?? makeMark(cell, mark);
  element.mark = mark;
  const { node } = element;
  if (node.title !== mark.label) {
    node.title = mark.label;
    node.setAttribute('aria-label', mark.label);
  }
  node.setAttribute('aria-expanded', `${mark.isOpen}`);
}

function makeMark(cell: Cell, mark: UnseenMark): MarkElement {
  const node = makeElement('button', 'jp-nbedit-mark');
  node.type = 'button';
  suppressShortcuts(node);
  const element = { node, mark };
  keepFocus(node);
  // A click by the keyboard has no detail.
  node.addEventListener('click', ({ detail }) => element.mark.onClick(detail === 0));
  // At the end, because the cell's layout counts the elements before it.
  cell.node.append(node);
  markElements.set(cell, element);
  return element;
}
