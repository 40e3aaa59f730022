import type { Locator } from '@playwright/test';
import { expect, test } from './fixtures';
import { makeManyCells, replace } from './notebooks';

/** What stands between cells or below them. */
const WIDGETS = [
  '.jp-nbedit-change',
  '.jp-nbedit-line',
  '.jp-nbedit-proposal',
  '.jp-nbedit-move-line'
];

/** Return how far from the left an element begins. */
async function getLeft(element: Locator): Promise<number> {
  await element.scrollIntoViewIfNeeded();
  return (await element.boundingBox())?.x ?? NaN;
}

/** How the notebook is shown. At 200 %, a window has half as many pixels. */
const LAYOUTS = ['in a wide window @nightly', 'in a split', 'at 200 % @nightly'] as const;

for (const layout of LAYOUTS) {
  test(`Blocks and lines begin where the code does ${layout}`, async ({ create, open, page }) => {
    const notebook = create(makeManyCells(8));
    const second = create(makeManyCells(2));
    const other = await open(second.name);
    const tab = await open(notebook.name);
    await notebook.edit([replace(1), { op: 'delete', cell: 'cell-id-3' }]);
    await notebook.propose([replace(5), { op: 'move', cell: 'cell-id-7', after: 'cell-id-5' }]);
    if (layout === 'in a split') {
      await page.evaluate(
        names => {
          const { shell } = window.jupyterapp;
          // The page may show others, such as the launcher.
          const widgets = [...shell.widgets('main')];
          const [left, right] = names.map(name =>
            widgets.find(({ title }) => title.label === name)!
          );
          shell.add(right, 'main', { mode: 'split-right', ref: left.id });
        },
        [notebook.name, second.name]
      );
      await expect(other.root).toBeVisible();
      await expect(tab.root).toBeVisible();
    } else if (layout === 'at 200 % @nightly') {
      await page.setViewportSize({ width: 640, height: 400 });
      await page.evaluate(() => {
        (window.jupyterapp.shell as unknown as { collapseLeft(): void }).collapseLeft();
      });
    }
    await tab.mark(1).click();
    await expect(async () => {
      const code = await getLeft(tab.cell(0).locator('.jp-InputArea-editor'));
      for (const selector of WIDGETS) {
        const left = await getLeft(tab.root.locator(selector).first());
        expect(Math.abs(left - code), `${selector}: ${left} and ${code}`).toBeLessThan(1);
      }
    }).toPass();
  });
}
