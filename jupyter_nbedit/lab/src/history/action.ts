import type { Edit } from '../answers';

/** What can be done to an edit: nothing, if what is needed for it is not kept any more. */
export type Action = 'undo' | 'redo' | null;

/** What can be done to an edit. What was taken back can be made again, and so on. */
export function actionOf(edit: Edit): Action {
  if (edit.undone_by !== null) {
    return 'redo';
  }
  if (!edit.undoable) {
    return null;
  }
  return edit.kind === 'undo' ? 'redo' : 'undo';
}
