import type { LabIcon } from '@jupyterlab/ui-components';

/** Make an element. What is to be seen in it is only ever set as text. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  text = ''
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

/** Make a button that says what it does. */
export function button(label: string, onClick: () => void): HTMLButtonElement {
  const made = make('button', 'jp-nbedit-button', label);
  made.type = 'button';
  made.addEventListener('click', onClick);
  return made;
}

/** Make a button that shows what it does by an icon. */
export function iconButton(icon: LabIcon, label: string, onClick: () => void): HTMLButtonElement {
  const made = button('', onClick);
  made.classList.add('jp-mod-icon');
  made.title = label;
  made.setAttribute('aria-label', label);
  made.append(picture(icon));
  return made;
}

/** Make an icon that only adorns what is said in words. */
export function picture(icon: LabIcon): HTMLElement {
  const made = icon.element({ tag: 'span', elementSize: 'normal' });
  made.setAttribute('aria-hidden', 'true');
  return made;
}

/**
 * Make a button in the look of JupyterLab's dialogs.
 *
 * A click with the mouse leaves the focus where it is: whoever types can go on typing.
 *
 * @param name What it is called for who does not see what is around it.
 */
export function decisionButton(
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
