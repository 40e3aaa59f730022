import { expect, type Locator, type Page } from '@playwright/test';

/** The themes of the reference pictures. */
export const THEMES = ['light', 'dark'] as const;

export async function setTheme(page: Page, theme: (typeof THEMES)[number]): Promise<void> {
  const name = theme === 'dark' ? 'JupyterLab Dark' : 'JupyterLab Light';
  await page.evaluate(async theme => {
    await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
  }, name);
  await expect(page.locator(`body[data-jp-theme-light="${theme === 'light'}"]`)).toBeAttached();
}

/**
 * Compare an element with its picture in `references`, in JupyterLab 4.6 only: other versions look
 * different.
 *
 * A missing picture is written, and the test fails; to renew one, delete it.
 */
export async function expectPicture(
  element: Locator,
  name: string,
  mask: Locator[] = [],
  animations: 'allow' | 'disabled' = 'disabled'
): Promise<void> {
  const version = await element.page().evaluate(() => window.jupyterapp.version);
  if (version.startsWith('4.6.')) {
    await expect(element).toHaveScreenshot(`${name}.png`, {
      animations,
      caret: 'hide',
      mask,
      maskColor: '#888888',
      // Fonts differ between machines.
      maxDiffPixelRatio: 0.04
    });
  }
}
