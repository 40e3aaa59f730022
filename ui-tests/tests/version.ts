import type { Page } from '@playwright/test';

/** Return whether the page is the oldest JupyterLab that is supported. */
export async function isOldestLab(page: Page): Promise<boolean> {
  return page.evaluate(() => window.jupyterapp.version.startsWith('4.2.'));
}
