import type { Conflict, Merge } from './merge';
import { ask, type Choice } from './notice';
import type { OpenNotebook } from './tab';

/** Tells of what arrives in a notebook from outside, and asks where both sides changed a cell. */
export class Arrivals {
  constructor(
    private readonly _notebook: OpenNotebook,
    /** Makes the notebook have the side that was chosen. */
    private readonly _choose: (key: string, conflict: Conflict, choice: Choice) => void
  ) {}

  /**
   * @param keys The keys of the merged cells.
   * @param clients Who is said to have changed the file.
   */
  tell(result: Merge, keys: readonly string[], clients: readonly string[]): void {
    const cells = result.touched.flatMap(index => keys[index] ?? []);
    // Without a name it was a kernel of another tab that wrote its language down.
    const isByName = result.hasNewMetadata && clients.length > 0;
    if (cells.length > 0 || result.removed > 0 || isByName) {
      this._notebook.tell({ cells, removed: result.removed, clients, isCut: false });
    }
    this.keepQuestions(keys);
    for (const conflict of result.conflicts) {
      this._ask(keys[conflict.at] ?? '', conflict, clients);
    }
    this._mark();
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

  /** Ask about a cell; a question that was open about it is taken back. */
  private _ask(key: string, conflict: Conflict, clients: readonly string[]): void {
    this._open.get(key)?.();
    const { kind, at, mine, theirs } = conflict;
    const question = {
      file: this._notebook.file,
      clients,
      kind,
      position: at,
      mine: mine?.source ?? null,
      theirs: theirs?.source ?? null
    };
    const close = ask(question, choice => {
      this._open.delete(key);
      close();
      this._mark();
      this._choose(key, conflict, choice);
    });
    this._open.set(key, close);
  }

  private _mark(): void {
    this._notebook.views.mark(new Set(this._open.keys()));
  }

  private readonly _open = new Map<string, () => void>();
}
