import type { Edit, Page } from '../answers';

/** More edits than this are not kept while new ones come; they are asked for again. */
const MOST = 1000;

/** Nothing is known yet. */
export const NOTHING: Page = { edits: [], next: null };

/**
 * Put the newest page before what is known of a history.
 *
 * @param page The newest edits as they are now. Where edits between it and what is known are
 *   missing, what is known is dropped: it is asked for again when somebody looks that far.
 */
export function renewed(known: Page, page: Page): Page {
  const last = page.edits.at(-1)?.edit_id;
  if (page.next === null || last === undefined) {
    return page;
  }
  const older = known.edits.filter(({ edit_id: id }) => id < last);
  const isGap = !known.edits.some(({ edit_id: id }) => id >= last);
  if (isGap || older.length === 0) {
    return page;
  }
  const edits = [...page.edits, ...older].slice(0, Math.max(MOST, known.edits.length));
  const isCut = edits.length < page.edits.length + older.length;
  return { edits, next: isCut ? (edits.at(-1)?.edit_id ?? null) : known.next };
}

/** Put an older page behind what is known. */
export function extended(known: Page, page: Page): Page {
  const last = known.edits.at(-1)?.edit_id ?? Number.POSITIVE_INFINITY;
  const older = page.edits.filter(({ edit_id: id }) => id < last);
  return { edits: [...known.edits, ...older], next: page.next };
}

/** Put an edit as it is now in the place of what is known of it. */
export function replaced(known: Page, edit: Edit): Page {
  const edits = known.edits.map(old => (old.edit_id === edit.edit_id ? edit : old));
  return { ...known, edits };
}

/** Which known edits that are not on the newest page it has changed, by taking them back. */
export function outdated(known: Page, page: Page): number[] {
  const byId = new Map([...known.edits, ...page.edits].map(edit => [edit.edit_id, edit]));
  const newest = known.edits[0]?.edit_id ?? 0;
  const fresh = new Set(page.edits.map(({ edit_id: id }) => id));
  const found = new Set<number>();
  for (const { undoes } of page.edits.filter(({ edit_id: id }) => id > newest)) {
    // A redo takes back an undo, and with it changes what that had taken back.
    for (let id = undoes; id !== null; id = byId.get(id)?.undoes ?? null) {
      if (!fresh.has(id) && byId.has(id)) {
        found.add(id);
      }
    }
  }
  return [...found];
}
