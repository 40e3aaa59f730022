import type { Locator, Page } from '@playwright/test';

/** The history of edits in the right sidebar, as its user sees it. */
export class Panel {
  constructor(private readonly page: Page) {}

  get root(): Locator {
    return this.page.locator('#nbedit-history');
  }

  get rows(): Locator {
    return this.root.getByRole('listitem');
  }

  get titles(): Locator {
    return this.root.locator('.jp-nbedit-edit-title');
  }

  /** What opens and closes a row. */
  toggle(row: number): Locator {
    return this.rows.nth(row).locator('.jp-nbedit-edit-toggle');
  }

  /** The buttons of the row itself. */
  action(row: number, name: 'Undo' | 'Redo'): Locator {
    return this.rows.nth(row).locator('.jp-nbedit-edit-head').getByRole('button', { name });
  }

  /** The parts of an open row: one for each cell. */
  parts(row: number): Locator {
    return this.rows.nth(row).locator('.jp-nbedit-part');
  }

  get times(): Locator {
    return this.root.locator('time');
  }

  /** Show it, as the palette and the menu do. */
  async open(): Promise<void> {
    await this.run('nbedit:show-history');
    await this.root.waitFor();
  }

  /** Run a command, and wait until it has done its work. */
  async run(command: string): Promise<void> {
    await this.page.evaluate(async command => {
      await window.jupyterapp.commands.execute(command);
    }, command);
  }
}
