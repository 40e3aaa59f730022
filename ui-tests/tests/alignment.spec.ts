import type { Locator } from '@playwright/test';
import { expect, test } from './fixtures';
import { formatNotebook, makeManyCells } from './notebooks';

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
  test(`Blocks and lines begin where the code does ${layout}`, async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('left.ipynb', formatNotebook(makeManyCells(8)));
    folder.write('right.ipynb', formatNotebook(makeManyCells(2)));
    const path = folder.getPath('left.ipynb');
    const other = await open('right.ipynb');
    const tab = await open('left.ipynb');
    await agent.edit(path, [
      { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' },
      { op: 'delete', cell: 'cell-id-3' }
    ]);
    await agent.setMode(path, 'review');
    await agent.propose(path, [
      { op: 'replace', cell: 'cell-id-5', source: 'theirs = 5' },
      { op: 'move', cell: 'cell-id-7', after: 'cell-id-5' }
    ]);
    if (layout === 'in a split') {
      await page.evaluate(() => {
        const { shell } = window.jupyterapp;
        // The page may show others, such as the launcher.
        const widgets = [...shell.widgets('main')];
        const [left, right] = ['left.ipynb', 'right.ipynb'].map(name =>
          widgets.find(({ title }) => title.label === name)!
        );
        shell.add(right, 'main', { mode: 'split-right', ref: left.id });
      });
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
