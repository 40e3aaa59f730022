import type { TranslationBundle } from '@jupyterlab/translation';

/** Maximum length of a name. A toast has room for 140 characters. */
const MAX_NAME_LENGTH = 32;

/** Return a name without control and direction characters, shortened if it is too long. */
export function cleanName(name: string): string {
  return cleanText(name, MAX_NAME_LENGTH);
}

/** Return a text in one line, without control and direction characters, shortened if needed. */
export function cleanText(text: string, maxLength: number): string {
  const visible = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  const characters = Array.from(visible);
  return characters.length > maxLength
    ? `${characters.slice(0, maxLength - 1).join('')}…`
    : visible;
}

/**
 * The user name that Jupyter Server generates for each request that is authenticated by the
 * server's token: a version 4 UUID without hyphens.
 */
const GENERATED_USER_NAME = /^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/;

/** The name that our server has for all of them, because they cannot be told apart. */
export const ANONYMOUS_USER = 'anonymous';

/** Return whether a user name identifies no user; edits of older releases have generated names. */
export function isAnonymousUserName(name: string): boolean {
  return name === ANONYMOUS_USER || GENERATED_USER_NAME.test(name);
}

/** Return the name of a client or user for display; '' if nothing of it can be shown. */
export function getDisplayName(name: string, trans: TranslationBundle): string {
  return isAnonymousUserName(name) ? trans.__('An agent') : cleanName(name);
}

/** Format the numbers from a first to a last one: "2" or "2–4". */
export function formatRange(first: number, last: number): string {
  return first === last ? `${first}` : `${first}–${last}`;
}
