import type { TranslationBundle } from '@jupyterlab/translation';

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

/**
 * The user name that Jupyter Server invents for each request that brings the server's token: a
 * version 4 UUID without hyphens.
 */
const INVENTED = /^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/;

/** The invented name that stands for all of them: nothing tells their bearers apart. */
export const UNNAMED = '00000000000040008000000000000000';

/** Whether Jupyter Server has invented a user name, so that it names nobody. */
export function isInvented(name: string): boolean {
  return INVENTED.test(name);
}

/** Return the name of an editor as it may be shown; '' if nothing of it can be shown. */
export function displayName(name: string, trans: TranslationBundle): string {
  return isInvented(name) ? trans.__('An agent') : clean(name);
}
