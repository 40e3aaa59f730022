/**
 * Line ends in an open notebook. A shared model keeps CR LF and CR as the file has them; an editor
 * shows each kind as a new line, and has LF in its text.
 */

/** Return a text as an editor has it. */
export function toEditorText(source: string): string {
  return source.replace(/\r\n?/g, '\n');
}

/** Return whether a text changes and one of its versions has a carriage return. */
export function hasCarriageReturn(from: string, to: string): boolean {
  return from !== to && (from.includes('\r') || to.includes('\r'));
}
