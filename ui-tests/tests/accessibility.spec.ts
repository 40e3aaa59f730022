import type { Locator } from '@playwright/test';
import { findViolations } from './axe';
import { expect, test } from './fixtures';
import { setTheme } from './pictures';
import { showEverything } from './shown_elements';

// In JupyterLab 4.2, only the cells in sight would be on the page.
test.use({
  mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode: 'defer' } }
});

for (const look of ['light', 'dark', 'high contrast', 'forced colours'] as const) {
  test(`axe-core finds no problem in anything that is shown to the user: ${look}${look === 'light' ? '' : ' @nightly'}`, async ({
    agent,
    dialogs,
    folder,
    open,
    page
  }) => {
    const problems: Record<string, string[]> = {};
    const check = async (name: string, elements: Locator): Promise<void> => {
      await expect(elements.first(), name).toBeVisible();
      for (const element of await elements.all()) {
        const found = await findViolations(element);
        if (found.length > 0) {
          problems[name] = [...(problems[name] ?? []), ...found];
        }
      }
    };
    await page.goto('');
    if (look === 'forced colours') {
      await page.emulateMedia({ forcedColors: 'active' });
    } else {
      await setTheme(page, look);
    }
    await showEverything({ agent, dialogs, folder, open, page }, check);

    expect(problems).toEqual({});
    const emptyAlerts = await page
      .locator('[role="alert"]')
      .evaluateAll(all => all.filter(({ textContent }) => textContent === '').length);
    expect(emptyAlerts).toBe(0);
  });
}
