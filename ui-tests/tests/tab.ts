import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { ICellModel } from '@jupyterlab/cells';
import type { INotebookContent } from '@jupyterlab/nbformat';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { expect, type JSHandle, type Locator, type Page } from '@playwright/test';

/** What users notice about their position in a notebook. */
export interface ViewState {
  activeCellIndex: number;
  activeCellId: string | null;
  mode: string;
  scrollTop: number;
  focused: string;
}

const SAVE_TIMEOUT = 60_000;

/** An open notebook, as its user sees it, and its model through `window.jupyterapp`. */
export class Tab {
  private constructor(
    readonly page: Page,
    private readonly panel: JSHandle<NotebookPanel>,
    private readonly id: string
  ) {}

  static async open(page: Page, path: string, kernel: boolean): Promise<Tab> {
    const panel = await page.evaluateHandle(
      async ({ path, kernel }) => {
        const app = window.jupyterapp;
        // The same as "Notebook (no kernel)", which JupyterLab 4.2 does not have yet.
        const factory = app.docRegistry.getWidgetFactory('Notebook')!;
        Object.defineProperty(factory, 'preferKernel', { value: kernel, configurable: true });
        const panel = (await app.commands.execute('docmanager:open', {
          path,
          factory: 'Notebook'
        })) as NotebookPanel;
        await panel.context.ready;
        await panel.revealed;
        if (kernel) {
          await panel.sessionContext.ready;
          await panel.sessionContext.session!.kernel!.info;
        }
        return panel;
      },
      { path, kernel }
    );
    return Tab.fromPanel(page, panel);
  }

  /** Return the notebook that the page shows, once it is loaded. */
  static async ofCurrent(page: Page): Promise<Tab> {
    await page.waitForFunction(
      () => (window as Partial<Window>).jupyterapp?.shell.currentWidget != null
    );
    const panel = await page.evaluateHandle(async () => {
      const panel = window.jupyterapp.shell.currentWidget as NotebookPanel;
      await panel.context.ready;
      return panel;
    });
    return Tab.fromPanel(page, panel);
  }

  private static async fromPanel(page: Page, panel: JSHandle<NotebookPanel>): Promise<Tab> {
    const tab = new Tab(page, panel, await panel.evaluate(panel => panel.id));
    await tab.cells.first().waitFor();
    return tab;
  }

  /** Open another view of the same notebook in the same page. */
  async newView(): Promise<Tab> {
    const panel = await this.panel.evaluateHandle(async panel => {
      const { commands, shell } = window.jupyterapp;
      shell.activateById(panel.id);
      await commands.execute('docmanager:clone');
      const views = [...shell.widgets('main')] as NotebookPanel[];
      const view = views.find(widget => widget !== panel && widget.context === panel.context)!;
      await view.revealed;
      return view;
    });
    return Tab.fromPanel(this.page, panel);
  }

  get root(): Locator {
    return this.page.locator(`[id="${this.id}"]`);
  }

  get cells(): Locator {
    return this.root.locator('.jp-Notebook-cell');
  }

  cell(index: number): Locator {
    return this.root.locator(`.jp-Cell[data-windowed-list-index="${index}"]`);
  }

  /** The editor's text as rendered. */
  editor(index: number): Locator {
    return this.cell(index).locator('.jp-InputArea-editor .cm-content');
  }

  /** The change mark of a cell. */
  mark(index: number): Locator {
    return this.cell(index).locator('.jp-nbedit-mark');
  }

  /** The bar that counts what is unseen and what is proposed. */
  get bar(): Locator {
    return this.root.getByRole('region', { name: 'Changes by agents' });
  }

  get blocks(): Locator {
    return this.root.locator('.jp-nbedit-block');
  }

  /** The blocks at a cell: its change, proposals for it, its conflict. */
  block(index: number): Locator {
    return this.cell(index).locator('.jp-nbedit-block');
  }

  get changes(): Locator {
    return this.root.locator('.jp-nbedit-change');
  }

  /** The block that shows how a cell was changed. */
  change(index: number): Locator {
    return this.cell(index).locator('.jp-nbedit-change');
  }

  get proposals(): Locator {
    return this.root.locator('.jp-nbedit-proposal');
  }

  /** The blocks that show what is proposed for a cell. */
  proposal(index: number): Locator {
    return this.cell(index).locator('.jp-nbedit-proposal');
  }

  /** Return the indexes of all cells with a change mark, visible or not. */
  async listMarkedCells(): Promise<number[]> {
    return this.panel.evaluate(panel =>
      panel.content.widgets.flatMap(({ node }, index) =>
        node.querySelector('.jp-nbedit-mark') ? [index] : []
      )
    );
  }

  output(index: number): Locator {
    return this.cell(index).locator('.jp-OutputArea-output');
  }

  /** Set the language of the notebook, as its kernel does when it has started. */
  async setLanguage(name: string): Promise<void> {
    await this.panel.evaluate((panel, name) => {
      panel.content.model!.setMetadata('language_info', { name });
    }, name);
  }

  async getSources(): Promise<string[]> {
    return this.panel.evaluate(panel =>
      panel.content.widgets.map(cell => cell.model.sharedModel.getSource())
    );
  }

  async getIds(): Promise<string[]> {
    return this.panel.evaluate(panel => panel.content.widgets.map(cell => cell.model.id));
  }

  /** Return the ids of the cells that a collapsed heading hides. */
  async getHiddenIds(): Promise<string[]> {
    return this.panel.evaluate(panel =>
      panel.content.widgets.filter(cell => cell.isHidden).map(cell => cell.model.id)
    );
  }

  async getSource(index: number): Promise<string> {
    return (await this.getSources())[index];
  }

  /** Return the notebook as the tab would save it. */
  async getContent(): Promise<INotebookContent> {
    return this.panel.evaluate(panel => panel.context.model.toJSON() as INotebookContent);
  }

  /** Return whether a room on the server keeps the notebook in sync with its file. */
  async isCollaborative(): Promise<boolean> {
    return this.panel.evaluate(panel => panel.context.model.collaborative === true);
  }

  /** Return whether all cells are rendered, also those that were never visible. */
  async isComplete(): Promise<boolean> {
    return this.panel.evaluate(panel => panel.content.widgets.every(cell => !cell.isPlaceholder()));
  }

  async isDirty(): Promise<boolean> {
    return this.panel.evaluate(panel => panel.context.model.dirty);
  }

  /** Return the version of the file that JupyterLab expects on disk. */
  async getHash(): Promise<string | undefined> {
    return this.panel.evaluate(panel => panel.context.contentsModel?.hash);
  }

  async getKernelId(): Promise<string | undefined> {
    return this.panel.evaluate(panel => panel.sessionContext.session?.kernel?.id);
  }

  /** Return the models of the cells: a reloaded or replaced cell has another one. */
  async getModels(): Promise<JSHandle<ICellModel[]>> {
    return this.panel.evaluateHandle(panel => panel.content.widgets.map(cell => cell.model));
  }

  /** Return the current indexes of the cells of `before`; -1 for a removed cell. */
  async getPositions(before: JSHandle<ICellModel[]>): Promise<number[]> {
    return this.panel.evaluate((panel, before) => {
      const now = panel.content.widgets.map(cell => cell.model);
      return before.map(model => (model.isDisposed ? -1 : now.indexOf(model)));
    }, before);
  }

  /** Watch for flashing cells; the result returns the ids so far, in the order of the cells. */
  async watchFlashes(): Promise<() => Promise<string[]>> {
    const seen = await this.panel.evaluateHandle(panel => {
      const seen = new Set<string>();
      new MutationObserver(() => {
        for (const { model, node } of panel.content.widgets) {
          if (node.classList.contains('jp-nbedit-flash')) {
            seen.add(model.id);
          }
        }
      }).observe(panel.node, { attributes: true, attributeFilter: ['class'], subtree: true });
      return seen;
    });
    return async () => {
      const order = await this.getIds();
      const ids = await seen.evaluate(seen => [...seen]);
      return ids.sort((a, b) => order.indexOf(a) - order.indexOf(b));
    };
  }

  async getViewState(): Promise<ViewState> {
    return this.panel.evaluate(panel => {
      const { content } = panel;
      const focused = document.activeElement as HTMLElement | null;
      return {
        activeCellIndex: content.activeCellIndex,
        activeCellId: content.activeCell?.model.id ?? null,
        mode: content.mode,
        scrollTop: content.node.querySelector('.jp-WindowedPanel-outer')!.scrollTop,
        focused: `${focused?.tagName}.${focused?.className}`
      };
    });
  }

  /**
   * Scroll, and wait until the cells have their sizes: JupyterLab lays them out over many frames.
   */
  async scrollTo(top: number): Promise<void> {
    await this.panel.evaluate(
      async (panel, { top, still, timeout }) => {
        const outer = panel.content.node.querySelector('.jp-WindowedPanel-outer')!;
        const end = Date.now() + timeout;
        let before = '';
        for (let frames = 0; frames < still;) {
          if (Date.now() > end) {
            throw new Error(`The notebook does not come to rest at ${top}: ${before}`);
          }
          outer.scrollTop = top;
          await new Promise(resolve => requestAnimationFrame(resolve));
          const now = `${outer.scrollTop} of ${outer.scrollHeight}`;
          frames = now === before && outer.scrollTop === top ? frames + 1 : 0;
          before = now;
        }
      },
      { top, still: 30, timeout: 60_000 }
    );
  }

  /**
   * Scroll a cell to the centre of the window, and wait until nothing moves.
   *
   * A windowed notebook ignores scrolling by the user while it scrolls by itself, and on a busy
   * machine shows nothing then: the cell is scrolled to as JupyterLab's own commands do.
   */
  async scrollToCell(index: number): Promise<void> {
    await expect(async () => {
      await this.panel.evaluate(
        async (panel, index) => panel.content.scrollToItem(index, 'center'),
        index
      );
      const before = await this.getViewState();
      await this.waitFrames(30);
      expect((await this.getViewState()).scrollTop).toBe(before.scrollTop);
      expect(await this.isInView(index)).toBe(true);
    }).toPass({ timeout: 60_000 });
  }

  /** Turn the wheel as soon as the notebook changes, and scroll to a cell. */
  async scrollAwayOnNextChange(index: number): Promise<() => Promise<void>> {
    const left = await this.panel.evaluateHandle(
      (panel, index) => ({
        there: new Promise<void>(resolve => {
          const leave = () => {
            panel.content.model!.sharedModel.changed.disconnect(leave);
            requestAnimationFrame(() => {
              panel.content.node.dispatchEvent(new WheelEvent('wheel', { bubbles: true }));
              void panel.content.scrollToItem(index, 'center').then(resolve);
            });
          };
          panel.content.model!.sharedModel.changed.connect(leave);
        })
      }),
      index
    );
    return async () => left.evaluate(async ({ there }) => there);
  }

  async waitFrames(count: number): Promise<void> {
    await this.page.evaluate(async count => {
      for (let i = 0; i < count; i++) {
        await new Promise(resolve => requestAnimationFrame(resolve));
      }
    }, count);
  }

  /** Return the id of the cell in the middle of the window. */
  async getMiddleCellId(): Promise<string> {
    return this.panel.evaluate(panel => {
      const outer = panel.content.node
        .querySelector('.jp-WindowedPanel-outer')!
        .getBoundingClientRect();
      const middle = (outer.top + outer.bottom) / 2;
      return panel.content.widgets.find(
        ({ node }) => node.isConnected && node.getBoundingClientRect().bottom >= middle
      )!.model.id;
    });
  }

  /** Return the distance of a cell from the top of the window. */
  async getCellTop(id: string): Promise<number> {
    return this.panel.evaluate(
      (panel, id) =>
        panel.content.widgets.find(({ model }) => model.id === id)!.node.getBoundingClientRect()
          .top,
      id
    );
  }

  /** Return whether a part of a cell is visible. */
  async isInView(index: number): Promise<boolean> {
    return this.panel.evaluate((panel, index) => {
      const view = panel.content.node.querySelector('.jp-WindowedPanel-outer')!;
      const outer = view.getBoundingClientRect();
      const cell = panel.content.widgets[index].node;
      const inner = cell.getBoundingClientRect();
      return cell.isConnected && inner.bottom > outer.top && inner.top < outer.bottom;
    }, index);
  }

  /** Return whether a cell is visible as far as it fits into the window. */
  async isFullyVisible(index: number): Promise<boolean> {
    return this.panel.evaluate((panel, index) => {
      const view = panel.content.node.querySelector('.jp-WindowedPanel-outer')!;
      const outer = view.getBoundingClientRect();
      const { node } = panel.content.widgets[index];
      const inner = node.getBoundingClientRect();
      const isVisible = node.isConnected && getComputedStyle(node).opacity !== '0';
      const seen = Math.min(inner.bottom, outer.bottom) - Math.max(inner.top, outer.top);
      return isVisible && inner.height > 0 && seen >= Math.min(inner.height, outer.height) - 1;
    }, index);
  }

  async isInFront(): Promise<boolean> {
    return this.panel.evaluate(panel => window.jupyterapp.shell.currentWidget === panel);
  }

  /** Put the caret at the end of a cell, as a user does. */
  async placeCaret(index: number): Promise<void> {
    await expect(async () => {
      if ((await this.editor(index).count()) === 0) {
        // JupyterLab 4.2 has no nodes of cells that are far from view.
        await this.scrollToCell(index);
      }
      // It may remove the node again while it scrolls.
      await this.editor(index).click({ timeout: 5000 });
    }).toPass();
    await this.page.keyboard.press('Control+End');
  }

  async typeText(index: number, text: string): Promise<void> {
    await this.placeCaret(index);
    await this.page.keyboard.type(text);
  }

  async getCaret(): Promise<CodeEditor.IPosition & { before: string; after: string }> {
    return this.panel.evaluate(panel => {
      const editor = panel.content.activeCell!.editor!;
      const { line, column } = editor.getCursorPosition();
      const text = editor.getLine(line)!;
      return { line, column, before: text.slice(0, column), after: text.slice(column) };
    });
  }

  /** Press Ctrl-S; return the result of the save, or 'nothing happened'. */
  async save(): Promise<string> {
    const went = this.panel.evaluate(
      (panel, timeout) =>
        new Promise<string>(resolve => {
          const { saveState } = panel.context;
          const settle = (_: unknown, state: string) => {
            if (state !== 'started') {
              saveState.disconnect(settle);
              resolve(state);
            }
          };
          saveState.connect(settle);
          setTimeout(() => resolve('nothing happened'), timeout);
        }),
      SAVE_TIMEOUT
    );
    await this.page.keyboard.press('Control+s');
    return went;
  }

  /** Return when a text is rendered in a cell, by the clock of the test's process. */
  async waitUntilPainted(index: number, text: string, timeout = 60_000): Promise<number> {
    return this.panel.evaluate(
      (panel, { index, text, timeout }) =>
        new Promise<number>((resolve, reject) => {
          const look = () => {
            const shown = panel.content.widgets[index]?.node.querySelector('.cm-content');
            if (shown?.textContent.includes(text)) {
              observer.disconnect();
              // The frame that renders it, not the current one.
              requestAnimationFrame(() => resolve(Date.now()));
            }
          };
          const observer = new MutationObserver(look);
          observer.observe(panel.node, { childList: true, characterData: true, subtree: true });
          setTimeout(() => reject(new Error(`"${text}" was not painted`)), timeout);
          look();
        }),
      { index, text, timeout }
    );
  }
}
