/** The names of those who edit notebooks. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { clean } from './names';

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
