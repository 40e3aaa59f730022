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
export async function runCommand(
  page: Page,
  command: string,
  options: Record<string, string> = {}
): Promise<void> {
  await page.evaluate(
    async ([id, args]) => {
      await window.jupyterapp.commands.execute(id, args);
    },
    [command, options] as const
  );
}

/** Hold the requests of a page for an address, and answer which there are, until `release`. */
export async function holdRequests(
  page: Page,
  address: RegExp
): Promise<{ held: string[]; release: () => void }> {
  const held: string[] = [];
  let release = (): void => undefined;
  const isReleased = new Promise<void>(resolve => (release = resolve));
  await page.route(address, async route => {
    held.push(route.request().url());
    await isReleased;
    await route.continue();
  });
  return { held, release };
}

/** Press keys, one after the other. */
export async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) {
    await page.keyboard.press(key);
  }
}
