import { highlightSpecialChars } from '@codemirror/view';
import type { Extension } from '@codemirror/state';
import { makeElement } from './elements';

/**
 * Characters that show nothing or look like a space, except tabs. Joiners and selectors are among
 * them only where they do not follow an emoji or a letter outside of ASCII.
 */
const SPECIAL = new RegExp(
  [
    '[\\p{Cc}\\p{Zs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800]' +
      '(?<![ \\t]|\\p{Join_Control}|\\p{Variation_Selector})',
    '(?<=^|\\p{ASCII})[\\p{Join_Control}\\p{Variation_Selector}]'
  ].join('|'),
  'gu'
);

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\r', '\\r']
]);

/** Return a character as JSON escapes it, as in the diffs of the server. */
function escapeCharacter(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => {
    const code = character.charCodeAt(index).toString(16);
    return `\\u${code.padStart(4, '0')}`;
  });
  return SHORT_ESCAPES.get(character) ?? units.join('');
}

function makeSpecialCharacter(character: string): HTMLElement {
  return makeElement('span', 'jp-nbedit-special-character', escapeCharacter(character));
}

/** Return a text as nodes, with its special characters escaped. */
export function renderCharacters(text: string): Node[] {
  const nodes: Node[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(SPECIAL)) {
    nodes.push(document.createTextNode(text.slice(end, index)), makeSpecialCharacter(character));
    end = index + character.length;
  }
  nodes.push(document.createTextNode(text.slice(end)));
  return nodes;
}

/** Shows special characters escaped in an editor. */
export const showSpecialCharacters: Extension = highlightSpecialChars({
  specialChars: SPECIAL,
  render: code => makeSpecialCharacter(String.fromCodePoint(code))
});
