import { expect, type Locator, type Page } from '@playwright/test';

/** The themes in which pictures are taken. */
export const THEMES = ['light', 'dark'] as const;

export async function setTheme(page: Page, theme: (typeof THEMES)[number]): Promise<void> {
  const name = theme === 'dark' ? 'JupyterLab Dark' : 'JupyterLab Light';
  await page.evaluate(async theme => {
    await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
  }, name);
  await expect(page.locator(`body[data-jp-theme-light="${theme === 'light'}"]`)).toBeAttached();
}

/**
 * Compare an element with its picture in `references`, as JupyterLab 4.6 shows it. In another
 * JupyterLab nothing is compared: it looks otherwise by itself.
 *
 * A picture that is not there is written, and the test fails; so to renew one, delete it.
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
      // Fonts differ from one machine to the next.
      maxDiffPixelRatio: 0.04
    });
  }
}
