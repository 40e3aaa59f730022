import type { Locator } from '@playwright/test';
import { findViolations } from './axe';
import { expect, test } from './fixtures';
import { makeCodeCell, makeMarkdownCell, replace } from './notebooks';
import { HistoryPanel } from './panel';
import { setTheme } from './pictures';
import { runCommand } from './lab';

const UNSAFE = [
  '<script>window.__ran = true</script>',
  '<img src="data:,x" onerror="window.__ran = true">',
  '<button data-commandlinker-command="nbedit:undo-last" id="copied">Press me</button>',
  '[run](javascript:window.__ran=true)'
].join('\n\n');

test.describe('A diff', () => {
  test('of a Markdown cell is rendered on demand, as a cell that is not trusted', async ({
    create,
    open,
    page
  }) => {
    const notebook = create([
      makeMarkdownCell('prose', '# Old title\n\nSome *words*.'),
      makeCodeCell('c', 'x')
    ]);
    await notebook.edit([
      replace('prose', `# New title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n$x^2$\n\n${UNSAFE}`),
      replace('c', 'y')
    ]);
    await open(notebook.name);
    const panel = await HistoryPanel.show(page);
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

  test('shows equal lines once, counts as the history does, and shows what does not print', async ({
    openWith,
    page
  }) => {
    const sources = {
      appended: ['import numpy as np\na = 1', 'import numpy as np\na = 1\nb = 2'],
      rewritten: [
        'for x in rows:\n    f(x)\n\nprint(1)',
        'while rows:\n    f(x)\n\n    g()\n\nprint(2)'
      ],
      unprinted: ['a = 1\f\nb\u00a0= 2\nc = 3', 'a = 1\nb = 2\nc = 3\n']
    };
    const entries = Object.entries(sources);
    const { notebook, tab } = await openWith(
      entries.map(([id, [before]]) => makeCodeCell(id, before))
    );
    const edits = entries.map(([cell, [, source]]) => ({ op: 'replace' as const, cell, source }));
    await notebook.edit(edits);
    const show = async (index: number): Promise<Locator> => {
      await tab.mark(index).click();
      const diff = tab.cell(index).locator('.jp-nbedit-change .jp-nbedit-diff');
      await expect(diff.locator('.cm-content')).toBeVisible();
      return diff;
    };
    const listLines = (diff: Locator) => diff.locator('.cm-line, .cm-deletedLine');
    const appended = await show(0);
    await expect(listLines(appended)).toHaveText(['import numpy as np', 'a = 1', '+added: b = 2']);
    await expect(appended.locator('.cm-content')).toHaveAttribute(
      'aria-label',
      'Cell 1, 1 line added, 0 lines removed'
    );
    const rewritten = await show(1);
    await expect(listLines(rewritten)).toHaveText([
      '-removed: for x in rows:',
      '+added: while rows:',
      '    f(x)',
      '',
      '-removed: print(1)',
      '+added:     g()',
      '+added:',
      '+added: print(2)'
    ]);
    // Words, not letters.
    await expect(rewritten.locator('.cm-changedText, .cm-deletedText')).toHaveText([
      'for',
      ' x ',
      'in',
      'while',
      '1',
      '2'
    ]);
    const unprinted = await show(2);
    await expect(listLines(unprinted)).toHaveText([
      '-removed: a = 1\\f',
      '-removed: b\\u00a0= 2',
      '+added: a = 1',
      '+added: b = 2',
      'c = 3',
      '+added:'
    ]);
    expect(await findViolations(unprinted)).toEqual([]);

    // The history has the same lines: 1, 4 and 3 are added, 2 and 2 are removed.
    const panel = await HistoryPanel.show(page);
    await expect(panel.rows.first()).toContainText('+8');
    await expect(panel.rows.first()).toContainText('4');
  });

  test('has equal lines beside each other, also if lines wrap @nightly', async ({
    create,
    open,
    page
  }) => {
    const long = `x = "${'word '.repeat(60)}"`;
    const kept = (first: number, count: number) =>
      Array.from({ length: count }, (_, index) => `kept_${first + index} = 1`);
    const notebook = create([
      makeCodeCell('a', [...kept(0, 3), 'old = 1', ...kept(3, 30), 'gone', 'y'].join('\n'))
    ]);
    const source = [...kept(0, 3), long, 'new = 1', ...kept(3, 30), 'y', 'z'].join('\n');
    await notebook.edit([{ op: 'replace', cell: 'a', source }]);
    await open(notebook.name);
    const panel = await HistoryPanel.show(page);
    await page.sidebar.setWidth(700, 'right');
    await panel.toggle(0).click();
    await panel.root.getByRole('button', { name: 'Compare side by side' }).click();
    const diff = panel.getCellDiffs(0);
    const findTops = async (name: string) =>
      diff
        .locator('.cm-line', { hasText: new RegExp(`^${name} =`) })
        .evaluateAll(lines => lines.map(line => Math.round(line.getBoundingClientRect().top)));
    const expectAligned = async (...names: string[]) =>
      expect(async () => {
        for (const name of names) {
          const tops = await findTops(name);
          expect(tops).toHaveLength(2);
          expect(Math.abs(tops[0] - tops[1])).toBeLessThanOrEqual(1);
        }
      }).toPass();
    await expectAligned('kept_2', 'kept_3', 'kept_32');
    await page.sidebar.setWidth(420, 'right');
    await expectAligned('kept_2', 'kept_3', 'kept_32');
    const hidden = diff.getByRole('button', { name: '24 unchanged lines' });
    await expect(hidden).toHaveCount(2);
    await hidden.last().focus();
    await page.keyboard.press('Enter');
    await expect(hidden).toHaveCount(0);
    await expectAligned('kept_2', 'kept_10', 'kept_32');
  });

  test('says to a screen reader how many lines have changed @nightly', async ({
    create,
    open,
    page
  }) => {
    const notebook = create([
      makeCodeCell('a', 'one\ntwo\nthree'),
      makeCodeCell('b', 'gone\nas well')
    ]);
    await notebook.edit([
      replace('a', 'one\n2\n2.5\nthree'),
      { op: 'delete', cell: 'b' },
      { op: 'insert', at: 'end', cell_type: 'markdown', source: 'new' }
    ]);
    await open(notebook.name);
    const panel = await HistoryPanel.show(page);
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

  test('can be read in themes of high contrast @nightly', async ({ create, open, page }) => {
    const notebook = create([makeCodeCell('a', 'kept = 1\nold = 1')]);
    await notebook.edit([replace('a', 'kept = 1\nnew = 1')]);
    await open(notebook.name);
    const panel = await HistoryPanel.show(page);
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
    await runCommand(page, 'apputils:change-theme', { theme: 'JupyterLab Dark High Contrast' });
    await expect(
      page.locator('body[data-jp-theme-name="JupyterLab Dark High Contrast"]')
    ).toBeAttached();
    for (const line of [added, removed]) {
      await expect.poll(async () => measureTint(line)).toBeGreaterThan(45);
    }
    expect(await findViolations(panel.root)).toEqual([]);
  });
});
