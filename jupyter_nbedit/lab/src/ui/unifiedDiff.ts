import { makeElement } from './elements';

const LINE_CLASSES: Readonly<Record<string, string>> = {
  '+': 'jp-mod-added',
  '-': 'jp-mod-removed',
  '@': 'jp-mod-position'
};

/** Make an element that shows a unified diff, and can be scrolled with the keyboard. */
export function makeUnifiedDiff(diff: string, label: string): HTMLElement {
  const node = makeElement('pre', 'jp-nbedit-unified-diff');
  node.tabIndex = 0;
  node.setAttribute('role', 'group');
  node.setAttribute('aria-label', label);
  const lines = diff.replace(/\n$/, '').split('\n');
  node.append(
    ...lines.map(line => {
      const isName = line.startsWith('--- ') || line.startsWith('+++ ');
      const kind = isName ? 'jp-mod-name' : LINE_CLASSES[line.charAt(0)];
      return makeElement('span', `jp-nbedit-unified-line ${kind ?? ''}`, `${line}\n`);
    })
  );
  return node;
}
