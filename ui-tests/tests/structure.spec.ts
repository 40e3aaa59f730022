import type { Operation } from './agent';
import { expect, test } from './fixtures';
import { makeManyCells, replace } from './notebooks';

test.describe('Cells that are inserted, deleted and moved', () => {
  test('arrive in place, and the user’s caret, typing and undo survive', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(8));
    const original = notebook.readSources();
    await tab.typeText(4, '  # mine');
    const caret = await tab.getCaret();

    await notebook.edit([
      { op: 'insert', after: 'cell-id-1', cell_type: 'code', id: 'new', source: 'new = 1' }
    ]);
    await expect(tab.editor(2)).toHaveText('new = 1');
    await expect(tab.cells).toHaveCount(9);
    expect(await tab.getViewState()).toMatchObject({ activeCellId: 'cell-id-4', mode: 'edit' });
    await notebook.edit([{ op: 'delete', cell: 'cell-id-2' }]);
    await expect(tab.cells).toHaveCount(8);
    expect(await tab.getViewState()).toMatchObject({ activeCellId: 'cell-id-4', mode: 'edit' });
    await notebook.edit([{ op: 'move', cell: 'cell-id-6', at: 'start' }]);
    const order = [6, 0, 1, 'new', 3, 4, 5, 7];
    const expected = order.map(which => (which === 'new' ? 'new = 1' : original[Number(which)]));
    expected[5] += '  # mine';
    await expect.poll(async () => tab.getSources()).toEqual(expected);
    expect(await tab.getViewState()).toMatchObject({
      activeCellId: 'cell-id-4',
      activeCellIndex: 5,
      mode: 'edit'
    });
    expect(await tab.getCaret()).toEqual(caret);

    expected[5] = original[4]!;
    await expect(async () => {
      // What was typed slowly, on a busy machine, is several steps.
      await page.keyboard.press('Control+z');
      expect(await tab.getSources()).toEqual(expected);
    }).toPass();
    await page.keyboard.type('!');
    expected[5] += '!';
    expect(await tab.getSources()).toEqual(expected);

    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual(expected);
    const ids = order.map(which => (which === 'new' ? 'new' : `cell-id-${which}`));
    expect(notebook.readContent().cells.map(cell => cell.id)).toEqual(ids);
  });

  test('above what the user looks at do not push it away', async ({ openWith }) => {
    const { notebook, tab } = await openWith(makeManyCells(30));
    await tab.scrollTo(1500);
    const looked = await tab.getMiddleCellId();
    const seen = await tab.getCellTop(looked);
    const edits: Operation[] = [
      { op: 'insert', at: 'start', cell_type: 'code', id: 'top', source: 'a\nb\nc\nd\ne' },
      { op: 'replace', cell: 'cell-id-1', source: Array(30).fill('long').join('\n') },
      { op: 'move', cell: 'cell-id-25', at: 'start' },
      { op: 'delete', cell: 'cell-id-2' }
    ];
    for (const edit of edits) {
      const { hash } = await notebook.edit([edit]);
      await expect.poll(async () => tab.getHash()).toBe(hash);
      // Cells take their sizes over some frames.
      await tab.waitFrames(20);
      const moved = Math.abs((await tab.getCellTop(looked)) - seen);
      expect(moved, `pixels after ${edit.op}`).toBeLessThan(3);
    }
  });

  test('move with their outputs @nightly', async ({ openWith }) => {
    const { notebook, tab } = await openWith(makeManyCells(4));
    await notebook.edit([{ op: 'move', cell: 'cell-id-3', at: 'start' }]);
    await expect(tab.editor(0)).toContainText('first_3');
    for (const [now, then] of [3, 0, 1, 2].entries()) {
      await expect(tab.output(now)).toHaveText(`output ${then}`);
    }
    expect(await tab.save()).toContain('completed');
    const outputs = notebook.readContent().cells.map(cell => cell.outputs);
    expect(JSON.stringify(outputs)).toBe(
      JSON.stringify([3, 0, 1, 2].map(then => makeManyCells(4)[then].outputs))
    );
  });
});

test.describe('A caret inside the edited cell', () => {
  test('stays with its text @nightly', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(4));
    await tab.placeCaret(2);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Home');
    for (let column = 0; column < 6; column++) {
      await page.keyboard.press('ArrowRight');
    }
    expect(await tab.getCaret()).toEqual({ line: 1, column: 6, before: 'second', after: '_2 = 2' });

    await notebook.edit([
      replace(2, 'import os\nfirst_2 = 22\nsecond_2 = 2\nprint(222)  # changed')
    ]);
    await expect(tab.editor(2)).toContainText('import os');
    expect(await tab.getCaret()).toEqual({ line: 2, column: 6, before: 'second', after: '_2 = 2' });
    await page.keyboard.type('!');
    expect(await tab.getSource(2)).toBe(
      'import os\nfirst_2 = 22\nsecond!_2 = 2\nprint(222)  # changed'
    );
  });
});
