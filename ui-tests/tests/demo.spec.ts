import { Demo } from './demo';
import { expect, test } from './fixtures';

test('A person who only watched the demo can decide on its proposals as the page says @nightly', async ({
  browser
}) => {
  const demo = await Demo.start();
  const page = await browser.newPage();
  try {
    await page.goto(demo.address);
    const notebook = page.locator('.jp-NotebookPanel');
    const bar = notebook.getByRole('region', { name: 'Changes by agents' });
    // Once to begin, and once after each of the five requests of the first three steps.
    for (let request = 0; request < 6; request++) {
      await demo.goOn();
    }
    await demo.waitForStep(4);
    await expect(bar).toContainText('3 proposed');

    const hint = notebook.locator('li', { hasText: 'It proposes changes, and you decide.' });
    const keys = ['Keep all', 'Alt-F5', 'Y', 'Y', 'N'];
    await expect(hint).toContainText(new RegExp(keys.join('.*')));
    await bar.getByRole('button', { name: 'Keep all' }).click();
    const blocks = notebook.locator('.jp-nbedit-proposal');
    await expect(bar).toContainText('proposes 3 changes');
    await page.keyboard.press('Alt+F5');
    await expect(bar).toContainText('1 of 3');
    for (const [key, left] of [
      ['y', 2],
      ['y', 1],
      ['n', 0]
    ] as const) {
      await page.keyboard.press(key);
      await expect(blocks).toHaveCount(left);
    }
    await expect(bar).toBeHidden();
    const code = notebook.locator('.jp-CodeCell');
    await expect(code.filter({ hasText: '# Millimetres in a year' })).toHaveCount(1);
    await expect(code.filter({ hasText: 'max(rain, key=rain.get)' })).toHaveCount(1);
    await expect(notebook.getByText('It never stops raining in Mumbai.')).toHaveCount(0);
  } finally {
    await page.close();
    await demo.stop();
  }
});
