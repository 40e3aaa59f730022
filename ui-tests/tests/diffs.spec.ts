import { findViolations } from './axe';
import { expect, test } from './fixtures';
import { formatNotebook, makeCodeCell, makeMarkdownCell } from './notebooks';
import { HistoryPanel } from './panel';
import { setTheme } from './pictures';

const UNSAFE = [
  '<script>window.__ran = true</script>',
  '<img src="data:,x" onerror="window.__ran = true">',
  '<button data-commandlinker-command="nbedit:undo-last" id="copied">Press me</button>',
  '[run](javascript:window.__ran=true)'
].join('\n\n');

test.describe('A diff', () => {
  test('of a Markdown cell is rendered on demand, as a cell that is not trusted', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write(
      'prose.ipynb',
      formatNotebook([
        makeMarkdownCell('prose', '# Old title\n\nSome *words*.'),
        makeCodeCell('c', 'x')
      ])
    );
    const path = folder.getPath('prose.ipynb');
    await agent.edit(path, [
      {
        op: 'replace',
        cell: 'prose',
        source: `# New title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n$x^2$\n\n${UNSAFE}`
      },
      { op: 'replace', cell: 'c', source: 'y' }
    ]);
    await open('prose.ipynb');
    const panel = new HistoryPanel(page);
    await panel.open();
    await panel.toggle(0).click();
    const diff = panel.getCellDiffs(0).nth(0);
    await expect(diff.locator('.cm-content')).toBeVisible();
    // Code has no other form.
    await expect(panel.getCellDiffs(0).nth(1).locator('.cm-content')).toBeVisible();
    const toggle = panel.root.getByRole('button', { name: 'Rendered: Cell 1' });
    await expect(panel.root.getByRole('button', { name: /^Rendered/ })).toHaveCount(1);
    await toggle.focus();
    await page.keyboard.press('Enter');
    await expect(toggle).toHaveAttribute('aria-pressed', 'true');
    await expect(diff.locator('.cm-content')).toBeHidden();
    const before = diff.getByRole('group', { name: 'Cell 1, rendered before' });
    const after = diff.getByRole('group', { name: 'Cell 1, rendered after' });
    await expect(before.getByRole('heading', { name: 'Old title' })).toBeVisible();
    await expect(before.locator('em')).toHaveText('words');
    await expect(after.getByRole('heading', { name: 'New title' })).toBeVisible();
    await expect(after.locator('td')).toHaveText(['1', '2']);
    await expect(after.locator('mjx-container')).toHaveCount(1);
    await expect(after.getByText('Press me')).toBeVisible();
    expect(await after.locator('[data-commandlinker-command], [id], script').count()).toBe(0);
    await after.getByText('run', { exact: true }).click();
    expect(await page.evaluate(() => '__ran' in window)).toBe(false);

    // Beside each other where there is room, and below each other where there is not.
    const measure = async () => [await before.boundingBox(), await after.boundingBox()];
    await page.sidebar.setWidth(300, 'right');
    const [upper, lower] = await measure();
    expect(lower!.y).toBeGreaterThanOrEqual(upper!.y + upper!.height);
    await page.sidebar.setWidth(700, 'right');
    const [left, right] = await measure();
    expect(right!.x).toBeGreaterThanOrEqual(left!.x + left!.width);
    expect(right!.y).toBe(left!.y);
    expect(await findViolations(panel.root)).toEqual([]);

    await toggle.click();
    await expect(before).toBeHidden();
    await expect(diff.locator('.cm-content')).toBeVisible();
  });

  test('says to a screen reader how many lines have changed @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write(
      'count.ipynb',
      formatNotebook([makeCodeCell('a', 'one\ntwo\nthree'), makeCodeCell('b', 'gone\nas well')])
    );
    await agent.edit(folder.getPath('count.ipynb'), [
      { op: 'replace', cell: 'a', source: 'one\n2\n2.5\nthree' },
      { op: 'delete', cell: 'b' },
      { op: 'insert', at: 'end', cell_type: 'markdown', source: 'new' }
    ]);
    await open('count.ipynb');
    const panel = new HistoryPanel(page);
    await panel.open();
    await panel.toggle(0).click();
    const names = panel.getCellDiffs(0).locator('.cm-content');
    const readNames = async () =>
      names.evaluateAll(all => all.map(each => each.getAttribute('aria-label')));
    await expect(names).toHaveCount(3);
    expect((await readNames()).sort()).toEqual([
      'Cell 1, 2 lines added, 1 line removed',
      'Cell 2, 1 line added',
      'Former cell 2, 2 lines removed'
    ]);
    await panel.root.getByRole('button', { name: 'Compare side by side' }).click();
    await expect(names).toHaveCount(4);
    expect((await readNames()).filter(name => name?.startsWith('Cell 1'))).toEqual([
      'Cell 1, before, 1 line removed',
      'Cell 1, after, 2 lines added'
    ]);
  });

  test('can be read in themes of high contrast @nightly', async ({ agent, folder, open, page }) => {
    folder.write('contrast.ipynb', formatNotebook([makeCodeCell('a', 'kept = 1\nold = 1')]));
    await agent.edit(folder.getPath('contrast.ipynb'), [
      { op: 'replace', cell: 'a', source: 'kept = 1\nnew = 1' }
    ]);
    await open('contrast.ipynb');
    const panel = new HistoryPanel(page);
    await panel.open();
    await panel.toggle(0).click();
    const added = panel.getCellDiffs(0).locator('.cm-changedLine');
    const removed = panel.getCellDiffs(0).locator('.cm-deletedChunk');
    /** How much a tint differs from the background: 0 is not at all, 255 as black from white. */
    const measureTint = async (line: typeof added) =>
      line.evaluate(node => {
        const canvas = document.createElement('canvas').getContext('2d')!;
        canvas.fillStyle = getComputedStyle(node.closest('.jp-nbedit-diff')!).backgroundColor;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
        canvas.fillStyle = getComputedStyle(node).backgroundColor;
        canvas.fillRect(0, 0, 1, 1);
        const [r2, g2, b2] = canvas.getImageData(0, 0, 1, 1).data;
        return Math.max(Math.abs(r - r2), Math.abs(g - g2), Math.abs(b - b2));
      });
    for (const theme of ['light', 'dark'] as const) {
      await setTheme(page, theme);
      expect(await measureTint(added)).toBeGreaterThan(10);
    }
    await page.evaluate(async () => {
      const theme = 'JupyterLab Dark High Contrast';
      await window.jupyterapp.commands.execute('apputils:change-theme', { theme });
    });
    await expect(
      page.locator('body[data-jp-theme-name="JupyterLab Dark High Contrast"]')
    ).toBeAttached();
    for (const line of [added, removed]) {
      await expect.poll(async () => measureTint(line)).toBeGreaterThan(45);
    }
    expect(await findViolations(panel.root)).toEqual([]);
  });
});
