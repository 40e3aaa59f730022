/** What arrow keys reach in the list of edits: a heading, or a row. */
export interface ListItem {
  readonly node: HTMLElement;
  /** Opens and closes the item. */
  readonly toggle: HTMLButtonElement;
  readonly isOpen: boolean;
  setOpen(isOpen: boolean): void;
  /** Put the item into the tab order, or remove it. */
  setReachable(isReachable: boolean): void;
}
