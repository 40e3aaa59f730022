import type { Conflict, Merge } from '../merge/notebookMerge';
import { clientOf } from '../notify/attribution';
import { ask, tellChoice, type Question } from '../notify/conflictPrompt';
import type { Choice } from '../notify/wording';
import type { FileChange } from '../server/fileChanges';
import type { OpenNotebook } from './openNotebook';

/** Tells of what arrives in a notebook from outside, and asks where both sides changed a cell. */
export class Arrivals {
  constructor(
    private readonly _notebook: OpenNotebook,
    /** Makes the notebook have the side that was chosen. */
    private readonly _choose: (key: string, conflict: Conflict, choice: Choice) => void
  ) {}

  /**
   * @param keys The keys of the merged cells.
   * @param changes What was said of the changes.
   */
  show(result: Merge, keys: readonly string[], changes: readonly FileChange[]): void {
    const cells = result.touched.flatMap(index => keys[index] ?? []);
    const clients = changes.flatMap(change => clientOf(change) ?? []);
    // Without a name it was a kernel of another tab that wrote its language down.
    const isOfNotebook = result.hasNewMetadata && clients.length > 0;
    const arrived = { cells, removed: result.removed, isOfNotebook, isCut: false };
    void this._notebook.tell(arrived, changes, keys);
    this.keepQuestions(keys);
    for (const conflict of result.conflicts) {
      this._settle(keys[conflict.at] ?? '', conflict, clients);
    }
    this._mark();
  }

  /** Whether a question is open. */
  get isAsking(): boolean {
    return this._open.size > 0;
  }

  /** Take back the questions about all other cells. */
  keepQuestions(keys: readonly string[]): void {
    const kept = new Set(keys);
    for (const [key, close] of this._open) {
      if (!kept.has(key)) {
        close();
        this._open.delete(key);
      }
    }
    this._mark();
  }

  /** Ask about a cell, or do what is set for such cells. */
  private _settle(key: string, conflict: Conflict, clients: readonly string[]): void {
    const { kind, at, mine, theirs } = conflict;
    const question = {
      file: this._notebook.file,
      clients,
      kind,
      position: at,
      mine: mine?.source ?? null,
      theirs: theirs?.source ?? null
    };
    const { conflict: rule, toasts } = this._notebook.settings.now;
    this._open.get(key)?.();
    this._open.delete(key);
    if (rule === 'ask') {
      this._ask(key, conflict, question);
      return;
    }
    const choice = rule === 'keepMine' ? 'mine' : 'theirs';
    this._choose(key, conflict, choice);
    if (toasts !== 'none') {
      tellChoice(question, choice, () => this._notebook.view([key]), this._notebook.trans);
    }
  }

  private _ask(key: string, conflict: Conflict, question: Question): void {
    const close = ask(
      question,
      choice => {
        this._open.delete(key);
        close();
        this._mark();
        this._choose(key, conflict, choice);
      },
      this._notebook.trans
    );
    this._open.set(key, close);
  }

  private _mark(): void {
    this._notebook.views.markConflicts(new Set(this._open.keys()));
  }

  private readonly _open = new Map<string, () => void>();
}
