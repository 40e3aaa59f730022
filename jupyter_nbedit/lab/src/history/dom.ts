import type { LabIcon } from '@jupyterlab/ui-components';
import { make } from '../elements';

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
