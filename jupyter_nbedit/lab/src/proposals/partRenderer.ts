import type { NotebookPanel } from '@jupyterlab/notebook';
import { drawCellDiff } from '../blocks/cellDiffView';
import type { DiffServices } from '../ui/codeMirrorDiff';
import type { DiffView } from '../ui/diffView';
import { isNearViewport, observeNearViewport, preserveViewport } from '../ui/viewport';
import type { ProposalBlock } from './proposalBlock';
import type { ShownPart } from './proposalPartView';

/** What the renderer needs. */
export interface RendererHost {
  readonly makeBlock: (shownPart: ShownPart) => ProposalBlock;
  /** Whether a part is still shown. */
  readonly isShown: (shownPart: ShownPart) => boolean;
  /** Schedule an update, which calls `update` for each part. */
  readonly requestUpdate: () => void;
}

/**
 * Draws the blocks of proposed changes when their cells come near to what the user sees: a notebook
 * with 100 of them is opened as fast as one without.
 */
export class PartRenderer {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _diffs: DiffServices,
    private readonly _host: RendererHost
  ) {
    this._observer = observeNearViewport(_panel.content, _host.requestUpdate);
    _panel.disposed.connect(() => this._observer.disconnect());
  }

  /** Draw the block of a part if its cell is near or if it was drawn before. */
  update(shownPart: ShownPart): void {
    const { content } = this._panel;
    const cell = content.widgets[shownPart.position.cell];
    if (shownPart.drawnKey !== '' || cell === undefined || isNearViewport(content, cell.node)) {
      void this.draw(shownPart);
    } else {
      this._observer.observe(cell.node);
    }
  }

  /** Draw the block of a part unless it is drawn; wait until it is. */
  async draw(shownPart: ShownPart): Promise<void> {
    const key = this._getKey(shownPart);
    if (shownPart.drawnKey !== key) {
      shownPart.drawnKey = key;
      shownPart.whenDrawn = this._draw(shownPart);
    }
    await shownPart.whenDrawn;
  }

  /** Return what decides how a diff looks. */
  private _getKey({ outcome: { diff }, editedSource }: ShownPart): string {
    const { before, after } = diff;
    const shownAfter = editedSource === null ? after : 'edited';
    return JSON.stringify([this._panel.content.codeMimetype, before, shownAfter]);
  }

  /** Draw the diff before it is shown, so that a block in sight does not grow. */
  private async _draw(shownPart: ShownPart): Promise<void> {
    const { drawnKey } = shownPart;
    const diffView = this._makeDiffView(shownPart);
    await diffView?.whenDrawn();
    const isOutdated = shownPart.drawnKey !== drawnKey || !this._host.isShown(shownPart);
    if (isOutdated || this._panel.isDisposed) {
      diffView?.dispose();
      return;
    }
    const { block } = shownPart;
    const caret = block === null ? shownPart.caret : (block.diff?.caret ?? null);
    if (diffView !== null && shownPart.editedSource !== null) {
      diffView.caret = caret;
    }
    if (block === null) {
      shownPart.block = this._host.makeBlock(shownPart);
      shownPart.block.diff = diffView;
    } else {
      const hadFocus = block.hasFocusInDiff;
      preserveViewport(this._panel.content, () => (block.diff = diffView));
      if (shownPart.editedSource !== null && (hadFocus || !shownPart.hasEditor)) {
        shownPart.hasEditor = true;
        diffView?.focus();
      }
    }
    this._host.requestUpdate();
  }

  private _makeDiffView(shownPart: ShownPart): DiffView | null {
    const { codeMimetype: language } = this._panel.content;
    const { outcome, editedSource } = shownPart;
    const { after } = outcome.diff;
    if (editedSource === null || after === null) {
      return drawCellDiff(outcome.diff, language, this._diffs);
    }
    const { drawnKey } = shownPart;
    const diff = { ...outcome.diff, after: { ...after, source: editedSource } };
    return drawCellDiff(diff, language, this._diffs, text => {
      // Text that is typed into an editor that is about to be replaced does not count.
      if (shownPart.drawnKey === drawnKey) {
        shownPart.editedSource = text;
      }
    });
  }

  private readonly _observer: IntersectionObserver;
}
