import { Time } from '@jupyterlab/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { describeAuthor, describeEdit, describeIdentity } from '../history/wording';
import type { HistoryEdit } from '../server/models';
import { describeAge } from '../ui/age';
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
    this._edits = edits;
    this._times = [];
    this.node.replaceChildren(...edits.map(edit => this._makeItem(edit)));
    this.updateTimes();
    if (focusedPath !== undefined) {
      const index = edits.findIndex(({ path }) => path === focusedPath);
      this.node.children[index]?.querySelector('button')?.focus();
    }
  }

  /** Update the ages of the edits. */
  updateTimes(): void {
    const now = Date.now();
    this._edits.forEach(({ time }, index) => {
      const node = this._times[index];
      if (node !== undefined) {
        node.textContent = describeAge(time, now);
      }
    });
  }

  private _makeItem(edit: HistoryEdit): HTMLElement {
    const trans = this._trans;
    const item = makeElement('li', 'jp-nbedit-connect-agent');
    item.dataset.path = edit.path;
    const author = makeElement('strong', '', describeAuthor(edit, trans));
    author.title = describeIdentity(edit, trans);
    const time = makeElement('time', '');
    time.dateTime = edit.time;
    time.title = Time.format(new Date(edit.time));
    this._times.push(time);
    const name = getNotebookName(edit);
    const link = makeButton(name, () => this._openNotebook(edit.path));
    link.title = cleanText(edit.path, MAX_PATH_LENGTH);
    link.setAttribute('aria-label', trans.__('Open %1', name));
    item.append(author, time, link, makeElement('span', '', describeEdit(edit, trans)));
    return item;
  }

  private _edits: readonly HistoryEdit[] = [];
  private _times: HTMLTimeElement[] = [];
}
