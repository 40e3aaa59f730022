import type { TranslationBundle } from '@jupyterlab/translation';
import { describeAuthor, describeEdit, describeIdentity } from '../history/wording';
import type { HistoryEdit } from '../server/models';
import { makeAge } from '../ui/age';
import { cleanName, cleanText } from '../ui/displayText';
import { makeButton, makeElement } from '../ui/elements';

const MAX_PATH_LENGTH = 200;

/** Return the name of the notebook of an edit, without its folders. */
export function getNotebookName({ path }: HistoryEdit): string {
  return cleanName(path.slice(path.lastIndexOf('/') + 1));
}

/** The agents that were seen lately, each with its last edit. */
export class LastEditList {
  readonly node = makeElement('ul', 'jp-nbedit-connect-agents');

  constructor(
    private readonly _openNotebook: (path: string) => void,
    private readonly _trans: TranslationBundle
  ) {}

  /** Show the last edit of each agent. The focus stays at the notebook that has it. */
  show(edits: readonly HistoryEdit[]): void {
    const focusedPath = document.activeElement?.closest<HTMLElement>('.jp-nbedit-connect-agent')
      ?.dataset.path;
    this.node.replaceChildren(...edits.map(edit => this._makeItem(edit)));
    if (focusedPath !== undefined) {
      const index = edits.findIndex(({ path }) => path === focusedPath);
      this.node.children[index]?.querySelector('button')?.focus();
    }
  }

  private _makeItem(edit: HistoryEdit): HTMLElement {
    const trans = this._trans;
    const item = makeElement('li', 'jp-nbedit-connect-agent');
    item.dataset.path = edit.path;
    const author = makeElement('strong', '', describeAuthor(edit, trans));
    author.title = describeIdentity(edit, trans);
    const time = makeAge('', edit.time);
    const name = getNotebookName(edit);
    const link = makeButton(name, () => this._openNotebook(edit.path));
    link.title = cleanText(edit.path, MAX_PATH_LENGTH);
    link.setAttribute('aria-label', trans.__('Open %1', name));
    item.append(author, time, link, makeElement('span', '', describeEdit(edit, trans)));
    return item;
  }
}
