import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Tab } from '../merge/baseVersion';
import type { Notebook } from '../merge/notebook';
import { difference, type Merge } from '../merge/notebookMerge';
import { isEdit, shares, toldOf, type Arrived, type Share } from '../notify/attribution';
import type { Settings } from '../notify/settings';
import { ArrivalToasts } from '../notify/toasts';
import { explain } from '../notify/wording';
import type { FileChange } from '../server/fileChanges';
import { ownEdits } from '../server/localEdits';
import { takeBack, type Outcome } from '../server/undoEdits';
import { applyMerge, readTab, tabKeys } from './applyMerge';
import type { Views } from './notebookViews';
import type { RunningCells } from './runningCells';

/** How much it takes to move a cell: any number of others are moved around a running one. */
const WEIGHT = { running: 1e12, active: 1e6, other: 1 };

/** What an open notebook needs to know of the application. */
export interface Around {
  readonly running: RunningCells;
  readonly views: Views;
  readonly settings: Settings;
  readonly trans: TranslationBundle;
  /** Take one edit of the notebook with this path back. */
  readonly undo: (path: string, edit: number) => Promise<unknown>;
  /** Return which edit of the notebook with this path an undo or a redo takes back. */
  readonly findUndone: (path: string, edit: number) => Promise<number | null>;
}

/** An open notebook with all its views. */
export class OpenNotebook {
  constructor(
    private readonly _context: DocumentRegistry.IContext<INotebookModel>,
    private readonly _around: Around
  ) {
    this._toasts = new ArrivalToasts(this, _around.trans);
  }

  get views(): Views {
    return this._around.views;
  }

  get settings(): Settings {
    return this._around.settings;
  }

  get trans(): TranslationBundle {
    return this._around.trans;
  }

  /** The name of the file, to be shown. */
  get file(): string {
    return this._context.contentsModel?.name ?? this._context.localPath;
  }

  read(): Tab {
    return { notebook: readTab(this._context.model), pinned: this._pinned() };
  }

  /** Show a merge in all views; answers the keys of its cells. */
  apply(result: Merge): string[] {
    const pinned = this._pinned();
    const active = this.views.active();
    const weight = (key: string): number =>
      pinned.has(key) ? WEIGHT.running : active.has(key) ? WEIGHT.active : WEIGHT.other;
    // Before the change: an editor that cannot follow it throws. New cells have new editors.
    for (const index of result.touched) {
      const key = result.cells[index]?.key;
      if (key != null) {
        this._unchecked.add(key);
      }
    }
    let keys: string[] = [];
    this.views.keep(() => {
      keys = applyMerge(this._context.model, result, weight, pinned);
    });
    return keys;
  }

  /** Whether the editors show what was merged into the model since this was last true. */
  isShown(): boolean {
    if (this.views.hasText(this._unchecked)) {
      this._unchecked.clear();
    }
    return this._unchecked.size === 0;
  }

  /** The keys of its cells. */
  keys(): string[] {
    return tabKeys(this._context.model.sharedModel);
  }

  /** Tell no more of an edit that a change takes back, whoever made that and wherever. */
  withdrawUndone({ edit, done }: FileChange): void {
    const isUndo = done.length > 0 && done.every(({ op }) => op === 'undo' || op === 'redo');
    if (edit === null || !isUndo) {
      return;
    }
    this._around.findUndone(this._context.path, edit).then(
      undone => {
        if (undone !== null) {
          this._toasts.withdraw(undone);
        }
      },
      (error: unknown) => {
        const { path } = this._context;
        console.warn(`jupyter-nbedit: what edit ${edit} of ${path} takes back is unknown.`, error);
      }
    );
  }

  /**
   * Flash and mark what came from outside, and tell of it, but not to who has asked for it here.
   *
   * @param changes What was said of it, oldest first.
   * @param keys The keys of the cells that the notebook has with it.
   */
  async tell(
    arrived: Arrived,
    changes: readonly FileChange[],
    keys: readonly string[]
  ): Promise<void> {
    this.views.flash(arrived.cells);
    await ownEdits.known();
    const isOwn = ({ edit }: FileChange): boolean => edit !== null && ownEdits.has(edit);
    const own = toldOf(changes.filter(isOwn), keys).cells;
    const others = changes.filter(change => !isOwn(change));
    const byOthers = new Set(toldOf(others, keys).cells);
    const seen = new Set(own.filter(cell => !byOthers.has(cell)));
    this.views.unmark([...seen]);
    if (!changes.some(isOwn) || others.some(isEdit)) {
      const cells = arrived.cells.filter(cell => !seen.has(cell));
      shares({ ...arrived, cells }, others, keys).forEach(share => this._tell(share));
    }
  }

  /** Show these cells. */
  view(keys: readonly string[]): void {
    void this.views.goTo(keys);
  }

  /** Take edits back, oldest first as they are given. */
  takeBack(edits: readonly number[]): Promise<Outcome> {
    return takeBack(
      edits,
      edit => this._around.undo(this._context.path, edit),
      error => explain(error, this.trans)
    );
  }

  /** Return where cells stand, from 0, in order; those that are gone are left out. */
  positions(keys: readonly string[]): number[] {
    const wanted = new Set(keys);
    return this._context.model.sharedModel.cells.flatMap(({ id }, index) =>
      wanted.has(id) ? [index] : []
    );
  }

  /** Say whether there is anything to save, after changes of ours that are none of the user's. */
  settleDirty(wasDirty: boolean, saved: Notebook): void {
    const differs = difference(readTab(this._context.model), saved);
    // Data may differ in how JupyterLab writes it; its own word is better there.
    this._context.model.dirty = differs === 'text' || (differs === 'data' && wasDirty);
  }

  private _tell(share: Share): void {
    const { toasts } = this.settings.now;
    this.views.mark(share.cells, share.clients);
    void this.views.follow(share.cells);
    if (toasts === 'all' || (toasts === 'background' && !this.views.areInSight)) {
      this._toasts.show(share);
    }
  }

  /** The keys of the cells that are running. */
  private _pinned(): Set<string> {
    const { cells, sharedModel } = this._context.model;
    const keys = tabKeys(sharedModel);
    return new Set(keys.filter((_, index) => this._around.running.has(cells.get(index))));
  }

  private readonly _toasts: ArrivalToasts;
  /** Keys of cells that were changed in the model, and may look different in their editors. */
  private readonly _unchecked = new Set<string>();
}
