/**
 * Whether a click on something that names a command in an attribute is being handled: JupyterLab
 * executes it with arguments from there, and outputs and Markdown may bring such attributes along.
 */
export function isLinked(): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- a command is told of no event
  const target = window.event?.target;
  return target instanceof Element && target.closest('[data-commandlinker-command]') !== null;
}

/**
 * Refuse to do for a document what only its reader may decide.
 *
 * @throws Error while such a click is being handled.
 */
export function notLinked<Result>(execute: () => Result): () => Result {
  return () => {
    if (isLinked()) {
      throw new Error('What a document shows may not decide on edits.');
    }
    return execute();
  };
}
