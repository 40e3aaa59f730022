import { galata } from '@jupyterlab/galata';
import { expect, test } from './fixtures';
import { getToasts } from './lab';
import {
  makeCodeCell,
  makeMarkdownCell,
  makeStreamOutput,
  replace,
  type CellJson
} from './notebooks';
import { changeSettings } from './settings';

/** How long JupyterLab may take to add the cells to the page, one by one while that is idle. */
const PATIENCE = 40_000;

/** Cells whose heights differ so much that no estimate from some fits the others. */
function makeUnevenCells(count: number): CellJson[] {
  return Array.from({ length: count }, (_, index) => {
    const lines = (number: number): string =>
      Array.from({ length: number }, (_, line) => `line_${line} = ${index}`).join('\n');
    const id = `cell-id-${index}`;
    switch (index % 5) {
      case 0:
        return makeMarkdownCell(id, `Text ${index}\n\n${'- item\n'.repeat(12)}`);
      case 1:
        return makeCodeCell(id, lines(1), [makeStreamOutput(`${lines(25)}\n`)], index);
      case 2:
        return makeCodeCell(id, lines(14), [], index);
      default:
        return makeCodeCell(id, lines(2), [], index);
    }
  });
}

for (const windowingMode of ['contentVisibility', 'full', 'defer', 'none']) {
  test.describe(`In the windowing mode "${windowingMode}"`, () => {
    test.use({
      mockSettings: {
        ...galata.DEFAULT_SETTINGS,
        '@jupyterlab/notebook-extension:tracker': { windowingMode }
      }
    });

    test('the notebook in front scrolls to each edited cell @nightly', async ({
      openWith,
      page
    }) => {
      test.setTimeout(5 * PATIENCE);
      const { notebook, tab } = await openWith(makeUnevenCells(160));
      await changeSettings(page, { follow: true, toasts: 'none' });
      for (const index of [41, 121, 12, 159]) {
        await notebook.edit([replace(index)]);
        await expect
          .poll(async () => tab.isFullyVisible(index), {
            message: `cell ${index}`,
            timeout: PATIENCE
          })
          .toBe(true);
        // It stays there while the cells around it take their sizes.
        await tab.waitFrames(60);
        expect(await tab.isFullyVisible(index), `cell ${index}`).toBe(true);
      }
    });

    test('"View" shows a cell below collapsed headings @nightly', async ({ openWith, page }) => {
      const cells = makeUnevenCells(60);
      cells[30] = makeMarkdownCell('outer', '# Outer');
      cells[32] = makeMarkdownCell('inner', '## Inner');
      for (const index of [30, 32]) {
        cells[index].metadata = { 'jp-MarkdownHeadingCollapsed': true };
      }
      const { notebook, tab } = await openWith(cells);
      await tab.scrollToCell(0);
      await notebook.edit([replace(43)]);
      const toast = getToasts(page);
      await expect(toast).toContainText('1 cell changed');
      expect(await tab.isFullyVisible(43)).toBe(false);
      await toast.getByRole('button', { name: 'View' }).click();
      await expect.poll(async () => tab.isFullyVisible(43)).toBe(true);
      await tab.waitFrames(60);
      expect(await tab.isFullyVisible(43)).toBe(true);
      expect((await tab.getViewState()).activeCellId).toBe('cell-id-43');
    });
  });
}
