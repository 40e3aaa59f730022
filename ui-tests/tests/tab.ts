import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { ICellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { expect, type JSHandle, type Locator, type Page } from '@playwright/test';

/** What a user could notice about where he is in a notebook. */
export interface Place {
  activeCellIndex: number;
  activeCellId: string | null;
  mode: string;
  scrollTop: number;
  focused: string;
}

const SAVE_TIMEOUT = 60_000;

/** An open notebook, seen as its user sees it and, by `window.jupyterapp`, from inside. */
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
        // What "Notebook (no kernel)" does, and JupyterLab 4.2 does not offer yet.
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
    return Tab.of(page, panel);
  }

  private static async of(page: Page, panel: JSHandle<NotebookPanel>): Promise<Tab> {
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
    return Tab.of(this.page, panel);
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

  /** The editor's text as it is painted. */
  editor(index: number): Locator {
    return this.cell(index).locator('.jp-InputArea-editor .cm-content');
  }

  /** What says beside a cell that it was changed from outside. */
  mark(index: number): Locator {
    return this.cell(index).locator('.jp-nbedit-mark');
  }

  /** The positions of the cells that have such a mark, in sight or not. */
  async marked(): Promise<number[]> {
    return this.panel.evaluate(panel =>
      panel.content.widgets.flatMap(({ node }, index) =>
        node.querySelector('.jp-nbedit-mark') ? [index] : []
      )
    );
  }

  output(index: number): Locator {
    return this.cell(index).locator('.jp-OutputArea-output');
  }

  /** Give the notebook a language, as its kernel does when it has started. */
  async setLanguage(name: string): Promise<void> {
    await this.panel.evaluate((panel, name) => {
      panel.content.model!.setMetadata('language_info', { name });
    }, name);
  }

  async sources(): Promise<string[]> {
    return this.panel.evaluate(panel =>
      panel.content.widgets.map(cell => cell.model.sharedModel.getSource())
    );
  }

  async ids(): Promise<string[]> {
    return this.panel.evaluate(panel => panel.content.widgets.map(cell => cell.model.id));
  }

  async source(index: number): Promise<string> {
    return (await this.sources())[index];
  }

  /** Whether a room on the server keeps the notebook together with its file. */
  async isCollaborative(): Promise<boolean> {
    return this.panel.evaluate(panel => panel.context.model.collaborative === true);
  }

  /** Whether all cells have their elements, those that were never in sight too. */
  async isComplete(): Promise<boolean> {
    return this.panel.evaluate(panel => panel.content.widgets.every(cell => !cell.isPlaceholder()));
  }

  async dirty(): Promise<boolean> {
    return this.panel.evaluate(panel => panel.context.model.dirty);
  }

  /** The version of the file JupyterLab believes to be on disk. */
  async hash(): Promise<string | undefined> {
    return this.panel.evaluate(panel => panel.context.contentsModel?.hash);
  }

  async kernelId(): Promise<string | undefined> {
    return this.panel.evaluate(panel => panel.sessionContext.session?.kernel?.id);
  }

  /** The cells' models themselves: a reloaded or replaced cell has another one. */
  async models(): Promise<JSHandle<ICellModel[]>> {
    return this.panel.evaluateHandle(panel => panel.content.widgets.map(cell => cell.model));
  }

  /** Where the cells of `before` are now; -1 for one that is gone. */
  async positionsOf(before: JSHandle<ICellModel[]>): Promise<number[]> {
    return this.panel.evaluate((panel, before) => {
      const now = panel.content.widgets.map(cell => cell.model);
      return before.map(model => (model.isDisposed ? -1 : now.indexOf(model)));
    }, before);
  }

  /** Watch for cells that begin to flash; the answer gives their ids so far, in their order. */
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
      const order = await this.ids();
      const ids = await seen.evaluate(seen => [...seen]);
      return ids.sort((a, b) => order.indexOf(a) - order.indexOf(b));
    };
  }

  async place(): Promise<Place> {
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

  /** Scroll, and wait until the cells have their sizes: JupyterLab gives them over many frames. */
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
   * Bring a cell to the middle of the window, and wait until all is still.
   *
   * A windowed notebook takes no notice of what its user scrolls while it scrolls by itself, and on
   * a busy machine shows nothing then: JupyterLab is asked for the cell as its own commands do.
   */
  async reach(index: number): Promise<void> {
    await expect(async () => {
      await this.panel.evaluate(
        async (panel, index) => panel.content.scrollToItem(index, 'center'),
        index
      );
      const before = await this.place();
      await this.frames(30);
      expect((await this.place()).scrollTop).toBe(before.scrollTop);
      expect(await this.inView(index)).toBe(true);
    }).toPass({ timeout: 60_000 });
  }

  /** Turn the wheel as soon as the notebook changes, and go to a cell. */
  async leaveWithNextChange(index: number): Promise<() => Promise<void>> {
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

  async frames(count: number): Promise<void> {
    await this.page.evaluate(async count => {
      for (let i = 0; i < count; i++) {
        await new Promise(resolve => requestAnimationFrame(resolve));
      }
    }, count);
  }

  /** The id of the cell in the middle of the window. */
  async middle(): Promise<string> {
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

  /** How far down in the window a cell begins. */
  async heightOf(id: string): Promise<number> {
    return this.panel.evaluate(
      (panel, id) =>
        panel.content.widgets.find(({ model }) => model.id === id)!.node.getBoundingClientRect()
          .top,
      id
    );
  }

  /** Whether a cell can be seen in full or in part. */
  async inView(index: number): Promise<boolean> {
    return this.panel.evaluate((panel, index) => {
      const view = panel.content.node.querySelector('.jp-WindowedPanel-outer')!;
      const outer = view.getBoundingClientRect();
      const cell = panel.content.widgets[index].node;
      const inner = cell.getBoundingClientRect();
      return cell.isConnected && inner.bottom > outer.top && inner.top < outer.bottom;
    }, index);
  }

  /** Whether the whole of a cell can be seen, as far as it fits into the window. */
  async isWhole(index: number): Promise<boolean> {
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

  async inFront(): Promise<boolean> {
    return this.panel.evaluate(panel => window.jupyterapp.shell.currentWidget === panel);
  }

  /** Put the caret at the end of a cell, as a user does. */
  async enter(index: number): Promise<void> {
    await this.editor(index).click();
    await this.page.keyboard.press('Control+End');
  }

  async type(index: number, text: string): Promise<void> {
    await this.enter(index);
    await this.page.keyboard.type(text);
  }

  async caret(): Promise<CodeEditor.IPosition & { before: string; after: string }> {
    return this.panel.evaluate(panel => {
      const editor = panel.content.activeCell!.editor!;
      const { line, column } = editor.getCursorPosition();
      const text = editor.getLine(line)!;
      return { line, column, before: text.slice(0, column), after: text.slice(column) };
    });
  }

  /** Press Ctrl-S; answers how the save went, or 'nothing happened'. */
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

  /** When this text is painted in the cell, by the clock the test's process shares. */
  async paintedAt(index: number, text: string, timeout = 60_000): Promise<number> {
    return this.panel.evaluate(
      (panel, { index, text, timeout }) =>
        new Promise<number>((resolve, reject) => {
          const look = () => {
            const shown = panel.content.widgets[index]?.node.querySelector('.cm-content');
            if (shown?.textContent.includes(text)) {
              observer.disconnect();
              // The frame that paints it, and not the one that has not started yet.
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
