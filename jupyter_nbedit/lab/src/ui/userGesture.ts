/**
 * Return whether a click on an element that names a command in an attribute is being handled.
 * JupyterLab runs that command, and outputs and Markdown may contain such attributes.
 */
export function isCommandLinkClick(): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- a command is told of no event
  const target = window.event?.target;
  return target instanceof Element && target.closest('[data-commandlinker-command]') !== null;
}

/**
 * Let only the user run a command, not an element of a document.
 *
 * @throws Error while a click on an element that names a command is being handled.
 */
export function requireUserGesture<Args extends readonly unknown[], Result>(
  execute: (...args: Args) => Result
): (...args: Args) => Result {
  return (...args) => {
    if (isCommandLinkClick()) {
      throw new Error('What a document shows may not decide on edits.');
    }
    return execute(...args);
  };
}
