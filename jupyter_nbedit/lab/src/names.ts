/** Longest name shown. A toast has room for 140 characters. */
const LONGEST_NAME = 32;

/** A name as it may be shown: no control or direction characters, and not too long. */
export function clean(name: string): string {
  return cleanText(name, LONGEST_NAME);
}

/** A text of one line as it may be shown, as a name is. */
export function cleanText(text: string, longest: number): string {
  const visible = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  const characters = Array.from(visible);
  return characters.length > longest ? `${characters.slice(0, longest - 1).join('')}…` : visible;
}
