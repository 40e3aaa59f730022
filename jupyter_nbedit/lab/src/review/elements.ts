/** The elements that proposals are shown with. */

import { make } from '../elements';

/**
 * Make a button in the look of JupyterLab's dialogs.
 *
 * A click with the mouse leaves the focus where it is: whoever types can go on typing.
 *
 * @param name What it is called for who does not see what is around it.
 */
export function button(
  label: string,
  name: string,
  kind: 'accept' | 'reject',
  press: () => void
): HTMLButtonElement {
  const node = make('button', `jp-mod-styled jp-mod-${kind} jp-nbedit-button`, label);
  node.type = 'button';
  node.setAttribute('aria-label', name);
  node.addEventListener('mousedown', event => {
    event.preventDefault();
    event.stopPropagation();
  });
  node.addEventListener('click', () => {
    if (node.getAttribute('aria-disabled') !== 'true') {
      press();
    }
  });
  return node;
}

/** Let buttons be pressed or not, without taking the focus from them. */
export function enable(buttons: readonly HTMLButtonElement[], isEnabled: boolean): void {
  for (const node of buttons) {
    node.setAttribute('aria-disabled', `${!isEnabled}`);
  }
}

/** Put a text into a place that is read out when it changes, and hide the place without one. */
export function tell(place: HTMLElement, text: string): void {
  if (place.textContent !== text) {
    place.textContent = text;
  }
  place.hidden = text === '';
}
