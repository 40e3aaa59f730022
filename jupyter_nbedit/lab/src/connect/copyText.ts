import type { TranslationBundle } from '@jupyterlab/translation';
import { makeElement, makeStyledButton } from '../ui/elements';

/** How long a button says that its text was copied, in milliseconds. */
const FEEDBACK_TIME = 3000;

/**
 * Make a text with a button that copies it; `announce` is for screen readers.
 *
 * @param buttonName What the text is, as screen readers name it: "Copy the command for Zed".
 */
export function makeCopyableText(
  text: string,
  buttonName: string,
  announce: (message: string) => void,
  trans: TranslationBundle
): HTMLElement {
  const node = makeElement('div', 'jp-nbedit-copyable');
  const content = makeElement('pre', 'jp-nbedit-copyable-text', text);
  let timer = 0;
  const button = makeStyledButton(trans.__('Copy'), buttonName, 'reject', () => {
    void copyText(content).then(isCopied => {
      announce(
        isCopied
          ? trans.__('Copied.')
          : trans.__('The browser did not copy. The text is selected: copy it with the keyboard.')
      );
      if (isCopied) {
        button.textContent = trans.__('Copied');
        window.clearTimeout(timer);
        timer = window.setTimeout(() => {
          button.textContent = trans.__('Copy');
        }, FEEDBACK_TIME);
      }
    });
  });
  node.append(content, button);
  return node;
}

/** Copy the text of an element; if that is not possible, select it. Return whether it is copied. */
async function copyText(content: HTMLElement): Promise<boolean> {
  try {
    // Without HTTPS, browsers have no clipboard except on the machine itself.
    await navigator.clipboard.writeText(content.textContent);
    return true;
  } catch {
    const selection = window.getSelection();
    selection?.selectAllChildren(content);
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way without HTTPS
    const isCopied = document.execCommand('copy');
    if (isCopied) {
      selection?.removeAllRanges();
    }
    return isCopied;
  }
}
