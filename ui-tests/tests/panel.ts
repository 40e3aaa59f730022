import type { Locator, Page } from '@playwright/test';

/** The history panel in the right sidebar, as its user sees it. */
export class HistoryPanel {
  constructor(private readonly page: Page) {}

  /** Show the panel of a page. */
  static async show(page: Page): Promise<HistoryPanel> {
    const panel = new HistoryPanel(page);
    await panel.open();
    return panel;
  }

  get root(): Locator {
    return this.page.locator('#nbedit-history');
  }

  get rows(): Locator {
    return this.root.getByRole('listitem');
  }

  get titles(): Locator {
    return this.root.locator('.jp-nbedit-edit-title');
  }

  /** Opens and closes a row. */
  toggle(row: number): Locator {
    return this.rows.nth(row).locator('.jp-nbedit-edit-toggle');
  }

  /** The buttons of the row. */
  action(row: number, name: 'Undo' | 'Redo'): Locator {
    return this.rows.nth(row).locator('.jp-nbedit-edit-head').getByRole('button', { name });
  }

  /** The cell diffs of an open row. */
  getCellDiffs(row: number): Locator {
    return this.rows.nth(row).locator('.jp-nbedit-cell-diff');
  }

  /** The headings of the sessions. */
  get sessions(): Locator {
    return this.root.getByRole('heading', { level: 3 });
  }

  /** The button of an open row that restores the notebook. */
  getRestoreButton(row: number): Locator {
    return this.rows.nth(row).getByRole('button', { name: 'Restore to here…' });
  }

  get times(): Locator {
    return this.root.locator('time');
  }

  /** Show the panel, as the palette and the menu do. */
  async open(): Promise<void> {
    await this.runCommand('nbedit:show-history');
    await this.root.waitFor();
  }

  /** Run a command, and wait for its result. */
  async runCommand(command: string): Promise<void> {
    await this.page.evaluate(async command => {
      await window.jupyterapp.commands.execute(command);
    }, command);
  }
}
