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
