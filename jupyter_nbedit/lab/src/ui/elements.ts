import type { LabIcon } from '@jupyterlab/ui-components';

/** Make an element. Texts are only ever set as text, never as markup. */
export function makeElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  text = ''
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}

/** Append a sentence to an element, with a name in it in bold. */
export function appendSentence(node: HTMLElement, sentence: string, name: string): void {
  const [before = '', ...rest] = sentence.split(name);
  node.append(before);
  // A translation may leave it out.
  if (rest.length > 0) {
    node.append(makeElement('strong', '', name), rest.join(name));
  }
}

/**
 * Return the element with an id.
 *
 * In JupyterLab 4.2, an element of a notebook may have the name `getElementById`, and would be found
 * instead of the method of the document.
 */
export function findById(id: string): HTMLElement | null {
  return Document.prototype.getElementById.call(document, id);
}

/** Make a button with a text. */
export function makeButton(label: string, onClick: () => void): HTMLButtonElement {
  const node = makeElement('button', 'jp-nbedit-button', label);
  node.type = 'button';
  node.addEventListener('click', onClick);
  return node;
}

/** Make a button with an icon. */
export function makeIconButton(
  icon: LabIcon,
  label: string,
  onClick: () => void
): HTMLButtonElement {
  const node = makeButton('', onClick);
  node.classList.add('jp-mod-icon');
  node.title = label;
  node.setAttribute('aria-label', label);
  node.append(makeIcon(icon));
  return node;
}

/**
 * Make a button that is pressed or not, at first not.
 *
 * A click with the mouse does not move the focus, so that users can go on typing.
 */
export function makeToggleButton(
  label: string,
  onToggle: (isPressed: boolean) => void
): HTMLButtonElement {
  const node = makeButton(label, () => {
    const isPressed = node.getAttribute('aria-pressed') !== 'true';
    node.setAttribute('aria-pressed', `${isPressed}`);
    onToggle(isPressed);
  });
  node.setAttribute('aria-pressed', 'false');
  keepFocus(node);
  return node;
}

/** Make a decorative icon. */
export function makeIcon(icon: LabIcon): HTMLElement {
  const node = icon.element({ tag: 'span', elementSize: 'normal' });
  node.setAttribute('aria-hidden', 'true');
  return node;
}

/**
 * Make a button in the style of JupyterLab's dialogs.
 *
 * @param name The accessible name, which does not depend on the surroundings.
 */
export function makeStyledButton(
  label: string,
  name: string,
  kind: 'accept' | 'reject',
  onClick: () => void
): HTMLButtonElement {
  const node = makeButton(label, () => {
    if (node.getAttribute('aria-disabled') !== 'true') {
      onClick();
    }
  });
  node.classList.add('jp-mod-styled', `jp-mod-${kind}`);
  node.setAttribute('aria-label', name);
  return node;
}

/**
 * Make a button for a decision, in the same style.
 *
 * A click with the mouse does not move the focus, so that users can go on typing.
 */
export function makeDecisionButton(
  ...options: Parameters<typeof makeStyledButton>
): HTMLButtonElement {
  const node = makeStyledButton(...options);
  keepFocus(node);
  return node;
}

/** Let a click with the mouse not move the focus to a button, nor select the cell around it. */
export function keepFocus(node: HTMLButtonElement): void {
  node.addEventListener('mousedown', event => {
    event.preventDefault();
    event.stopPropagation();
  });
}

/** Enable or disable buttons without taking the focus from them. */
export function setEnabled(buttons: readonly HTMLButtonElement[], isEnabled: boolean): void {
  for (const node of buttons) {
    node.setAttribute('aria-disabled', `${!isEnabled}`);
  }
}

/**
 * Show texts that screen readers announce at once, one in each line; or hide the element.
 *
 * There is an alert only while there is a text: lists have hundreds of places for one.
 */
export function showAlert(node: HTMLElement, texts: readonly string[]): void {
  const shownTexts = texts.filter(text => text !== '');
  node.hidden = shownTexts.length === 0;
  if (node.textContent === shownTexts.join('')) {
    return;
  }
  node.replaceChildren();
  if (shownTexts.length > 0) {
    const alert = makeElement('div', '');
    alert.setAttribute('role', 'alert');
    alert.append(...shownTexts.map(text => makeElement('p', '', text)));
    node.append(alert);
  }
}

/** Set the text of an element, and hide the element without one. */
export function showText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
  node.hidden = text === '';
}
