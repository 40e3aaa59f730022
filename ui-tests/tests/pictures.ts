import { expect, type Locator, type Page } from '@playwright/test';

/** The themes of the reference pictures. */
export const THEMES = ['light', 'dark'] as const;

const THEME_NAMES = {
  light: 'JupyterLab Light',
  dark: 'JupyterLab Dark',
  'high contrast': 'JupyterLab Dark High Contrast'
} as const;

export async function setTheme(page: Page, theme: keyof typeof THEME_NAMES): Promise<void> {
  const name = THEME_NAMES[theme];
  await page.evaluate(async theme => {
    await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
  }, name);
  await expect(page.locator(`body[data-jp-theme-name="${name}"]`)).toBeAttached();
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
