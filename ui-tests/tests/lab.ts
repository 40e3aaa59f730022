import type { Locator, Page } from '@playwright/test';

/** The notifications of JupyterLab, or those with a text. */
export function getToasts(page: Page, text: string | RegExp = ''): Locator {
  return page.locator('.Toastify__toast', { hasText: text });
}

/** What the status bar says about agents. */
export function getModeStatus(page: Page): Locator {
  return page.locator('.jp-nbedit-mode-status-button');
}

/** Run a command, and wait for its result. */
export async function runCommand(page: Page, command: string): Promise<void> {
  await page.evaluate(async id => {
    await window.jupyterapp.commands.execute(id);
  }, command);
}

/** Press keys, one after the other. */
export async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) {
    await page.keyboard.press(key);
  }
}
