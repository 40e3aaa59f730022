/** Longest name shown. A toast has room for 140 characters. */
const LONGEST_NAME = 32;

/** A name as it may be shown: no control or direction characters, and not too long. */
export function clean(name: string): string {
  const visible = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  const characters = Array.from(visible);
  return characters.length > LONGEST_NAME
    ? `${characters.slice(0, LONGEST_NAME - 1).join('')}…`
    : visible;
}
