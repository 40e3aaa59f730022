import { toEditorText } from './lineEnds';
import type { Cell } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { Notebook } from '@jupyterlab/notebook';
import { computeHunks, mapOffset } from '../merge/textMerge';
import { getCellId } from '../ui/cellIds';

/** A selection in a text, by offsets; without selected text both are the caret. */
interface Selection {
  readonly anchor: number;
  readonly head: number;
}

/**
 * Change the cells of a notebook, and preserve caret and selection of the active cell if it is
 * replaced, as by a change of its type: its new editor would have the caret at the start.
 */
export function preserveCaret(notebook: Notebook, change: () => void): void {
  const cell = notebook.activeCell;
  const editor = cell?.editor ?? null;
  if (cell === null || editor === null) {
    change();
    return;
  }
  const id = getCellId(cell);
  const hadFocus = notebook.mode === 'edit' && editor.hasFocus();
  const text = readText(cell);
  const selections = readSelections(editor);
  change();
  const replacement = notebook.widgets.find(each => getCellId(each) === id);
  if (replacement === undefined || replacement === cell) {
    return;
  }
  const hunks = computeHunks(text, readText(replacement));
  const mapped = selections.map(({ anchor, head }) => ({
    anchor: mapOffset(anchor, hunks),
    head: mapOffset(head, hunks)
  }));
  const restore = (): void => {
    if (replacement.editor === null) {
      return;
    }
    if (hadFocus && !replacement.editor.hasFocus()) {
      // JupyterLab 4.2 leaves the focus nowhere, and the next key would be a command.
      notebook.activeCellIndex = notebook.widgets.indexOf(replacement);
      notebook.mode = 'edit';
      replacement.editor.focus();
    }
    writeSelections(replacement.editor, mapped);
  };
  if (replacement.editor !== null) {
    restore();
  } else {
    // JupyterLab renders cells out of sight later.
    void replacement.ready.then(restore);
  }
}

function readText({ model }: Cell): string {
  return toEditorText(model.sharedModel.getSource());
}

function readSelections(editor: CodeEditor.IEditor): Selection[] {
  const caret = editor.getOffsetAt(editor.getCursorPosition());
  return editor.getSelections().map(selection => {
    const start = editor.getOffsetAt(selection.start);
    const end = editor.getOffsetAt(selection.end);
    return start === caret ? { anchor: end, head: start } : { anchor: start, head: end };
  });
}

function writeSelections(editor: CodeEditor.IEditor, selections: readonly Selection[]): void {
  editor.setSelections(
    selections.flatMap(({ anchor, head }) => {
      const [start, end] = [editor.getPositionAt(anchor), editor.getPositionAt(head)];
      return start === undefined || end === undefined ? [] : [{ start, end }];
    })
  );
}
