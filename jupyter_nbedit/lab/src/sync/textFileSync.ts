import { Notification } from '@jupyterlab/apputils';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { FileEditor } from '@jupyterlab/fileeditor';
import type { Contents } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { computeHunks, mapOffset } from '../merge/textMerge';
import { cleanName } from '../ui/displayText';
import { isFileCurrent } from './diskVersion';

/** Reloads an open text file when it changes on disk, unless it has unsaved changes. */
export class TextFileSync {
  constructor(
    private readonly _context: DocumentRegistry.Context,
    private readonly _contents: Contents.IManager,
    /** The editors of this file. */
    private readonly _editors: () => FileEditor[],
    private readonly _trans: TranslationBundle
  ) {
    _context.saveState.connect((_, state) => {
      this._isSaving = state === 'started';
    });
  }

  /** Compare the file with the disk. */
  requestSync(): void {
    if (this._isBusy || this._isSaving || this._context.isDisposed || !this._context.isReady) {
      return;
    }
    this._isBusy = true;
    this._sync()
      .catch((error: unknown) => {
        console.warn(
          `jupyter-nbedit: ${this._context.path} was not compared with its file.`,
          error
        );
      })
      .finally(() => {
        this._isBusy = false;
      });
  }

  private async _sync(): Promise<void> {
    const context = this._context;
    if (await isFileCurrent(this._contents, context.path, context.contentsModel)) {
      this._hasWarned = false;
      return;
    }
    if (this._isSaving || context.isDisposed) {
      return;
    }
    if (!context.model.dirty) {
      this._hasWarned = false;
      await this._reload();
    } else if (!this._hasWarned) {
      this._hasWarned = true;
      warnUnsavedChanges(context.contentsModel?.name ?? context.localPath, this._trans);
    }
  }

  /** Reload, and keep the carets at the same place in the text. */
  private async _reload(): Promise<void> {
    const oldText = this._context.model.toString();
    const carets = this._editors().map(({ editor }) => ({
      editor,
      caret: editor.getOffsetAt(editor.getCursorPosition()),
      scroller: editor.host.querySelector('.cm-scroller'),
      top: editor.host.querySelector('.cm-scroller')?.scrollTop ?? 0
    }));
    await this._context.revert();
    const reloadHunks = computeHunks(oldText, this._context.model.toString());
    for (const { editor, caret, scroller, top } of carets) {
      const position = editor.getPositionAt(mapOffset(caret, reloadHunks));
      if (position !== undefined) {
        editor.setCursorPosition(position, { scroll: false });
      }
      if (scroller !== null) {
        scroller.scrollTop = top;
      }
    }
  }

  private _isBusy = false;
  private _isSaving = false;
  private _hasWarned = false;
}

/** Warn that a text file with unsaved changes has changed on disk. */
function warnUnsavedChanges(file: string, trans: TranslationBundle): void {
  Notification.warning(
    trans.__(
      '%1 changed on disk. You have unsaved changes: saving will ask which to keep.',
      cleanName(file)
    ),
    { autoClose: false }
  );
}
