import type { TranslationBundle } from '@jupyterlab/translation';
import type { HistoryEdit } from '../server/models';
import { getAuthorKey } from './editGroups';
import { describeEdit } from './wording';

/** Which of the loaded edits are shown. */
export interface EditFilter {
  /** The key of an author, or '' for all. */
  readonly author: string;
  /** Words of the message, the path, the snippet or the title, or ''. */
  readonly text: string;
}

export const NO_FILTER: EditFilter = { author: '', text: '' };

/** Return the edits that a filter selects. */
export function selectEdits(
  edits: readonly HistoryEdit[],
  { author, text }: EditFilter,
  trans: TranslationBundle
): readonly HistoryEdit[] {
  const words = text.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (author === '' && words.length === 0) {
    return edits;
  }
  return edits.filter(edit => {
    if (author !== '' && getAuthorKey(edit) !== author) {
      return false;
    }
    const { message, path, snippet } = edit;
    const content = [message, path, snippet, describeEdit(edit, trans)]
      .join('\n')
      .toLocaleLowerCase();
    return words.every(word => content.includes(word));
  });
}
