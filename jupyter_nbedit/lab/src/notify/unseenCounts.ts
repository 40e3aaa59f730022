import type { TranslationBundle } from '@jupyterlab/translation';
import type { UnseenModel } from '../server/unseenModel';

/** What is known of unseen changes. */
export type UnseenSource = Pick<UnseenModel, 'get' | 'notebooks' | 'canKeep'>;

/**
 * Count what is unseen in a notebook: its changes if they are known, as they are of open notebooks,
 * and else the edits that made them. It is 0 for a user who may not keep them, because the number
 * would never become less.
 */
export function countUnseen(source: UnseenSource, path: string): number {
  if (!source.canKeep) {
    return 0;
  }
  const reply = source.get(path);
  return reply !== null
    ? reply.cells.length
    : (source.notebooks.find(notebook => notebook.path === path)?.edits ?? 0);
}

/** Describe what is unseen in a notebook; '' if nothing is. */
export function describeUnseen(
  source: UnseenSource,
  path: string,
  trans: TranslationBundle
): string {
  const count = countUnseen(source, path);
  if (count === 0) {
    return '';
  }
  return source.get(path) !== null
    ? trans._n('%1 unseen change', '%1 unseen changes', count, count)
    : trans._n('%1 unseen edit', '%1 unseen edits', count, count);
}

/** List the notebooks with unseen changes. */
export function listUnseenNotebooks(source: UnseenSource): string[] {
  return source.notebooks.map(({ path }) => path).filter(path => countUnseen(source, path) > 0);
}

/** Describe how many notebooks of a folder, or of all folders, have unseen changes; '' if 0. */
export function describeUnseenNotebooks(count: number, trans: TranslationBundle): string {
  return count === 0
    ? ''
    : trans._n('Unseen changes in %1 notebook', 'Unseen changes in %1 notebooks', count, count);
}
