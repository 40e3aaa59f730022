import type { Operation } from './agent';
import { expect, test } from './fixtures';
import { many, notebook } from './notebooks';

test.describe('Cells that are inserted, deleted and moved', () => {
  test('arrive in place, and the user’s caret, typing and undo survive', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('structure.ipynb', notebook(many(8)));
    const path = folder.path('structure.ipynb');
    const original = folder.sources('structure.ipynb');
    const tab = await open('structure.ipynb');
    await tab.type(4, '  # mine');
    const caret = await tab.caret();

    await agent.edit(path, [
      { op: 'insert', after: 'cell-id-1', cell_type: 'code', id: 'new', source: 'new = 1' }
    ]);
    await expect(tab.editor(2)).toHaveText('new = 1');
    await expect(tab.cells).toHaveCount(9);
    expect(await tab.place()).toMatchObject({ activeCellId: 'cell-id-4', mode: 'edit' });
    await agent.edit(path, [{ op: 'delete', cell: 'cell-id-2' }]);
    await expect(tab.cells).toHaveCount(8);
    expect(await tab.place()).toMatchObject({ activeCellId: 'cell-id-4', mode: 'edit' });
    await agent.edit(path, [{ op: 'move', cell: 'cell-id-6', at: 'start' }]);
    const order = [6, 0, 1, 'new', 3, 4, 5, 7];
    const expected = order.map(which => (which === 'new' ? 'new = 1' : original[Number(which)]));
    expected[5] += '  # mine';
    await expect.poll(async () => tab.sources()).toEqual(expected);
    expect(await tab.place()).toMatchObject({
      activeCellId: 'cell-id-4',
      activeCellIndex: 5,
      mode: 'edit'
    });
    expect(await tab.caret()).toEqual(caret);

    await page.keyboard.press('Control+z');
    expected[5] = original[4]!;
    await expect.poll(async () => tab.sources()).toEqual(expected);
    await page.keyboard.type('!');
    expected[5] += '!';
    expect(await tab.sources()).toEqual(expected);

    expect(await tab.save()).toContain('completed');
    expect(folder.sources('structure.ipynb')).toEqual(expected);
    const ids = order.map(which => (which === 'new' ? 'new' : `cell-id-${which}`));
    expect(folder.notebook('structure.ipynb').cells.map(cell => cell.id)).toEqual(ids);
  });

  test('above what the user looks at do not push it away', async ({ agent, folder, open }) => {
    folder.write('above.ipynb', notebook(many(30)));
    const path = folder.path('above.ipynb');
    const tab = await open('above.ipynb');
    await tab.scrollTo(1500);
    const looked = await tab.middle();
    const seen = await tab.heightOf(looked);
    const edits: Operation[] = [
      { op: 'insert', at: 'start', cell_type: 'code', id: 'top', source: 'a\nb\nc\nd\ne' },
      { op: 'replace', cell: 'cell-id-1', source: Array(30).fill('long').join('\n') },
      { op: 'move', cell: 'cell-id-25', at: 'start' },
      { op: 'delete', cell: 'cell-id-2' }
    ];
    for (const edit of edits) {
      const { hash } = await agent.edit(path, [edit]);
      await expect.poll(async () => tab.hash()).toBe(hash);
      // Cells take their sizes over some frames.
      await tab.frames(20);
      const moved = Math.abs((await tab.heightOf(looked)) - seen);
      expect(moved, `pixels after ${edit.op}`).toBeLessThan(3);
    }
  });

  test('move with their outputs @nightly', async ({ agent, folder, open }) => {
    folder.write('move.ipynb', notebook(many(4)));
    const tab = await open('move.ipynb');
    await agent.edit(folder.path('move.ipynb'), [{ op: 'move', cell: 'cell-id-3', at: 'start' }]);
    await expect(tab.editor(0)).toContainText('first_3');
    for (const [now, then] of [3, 0, 1, 2].entries()) {
      await expect(tab.output(now)).toHaveText(`output ${then}`);
    }
    expect(await tab.save()).toContain('completed');
    const outputs = folder.notebook('move.ipynb').cells.map(cell => cell.outputs);
    expect(JSON.stringify(outputs)).toBe(
      JSON.stringify([3, 0, 1, 2].map(then => many(4)[then].outputs))
    );
  });
});

test.describe('A caret inside the edited cell', () => {
  test('stays with its text @nightly', async ({ agent, folder, open, page }) => {
    folder.write('caret.ipynb', notebook(many(4)));
    const tab = await open('caret.ipynb');
    await tab.enter(2);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Home');
    for (let column = 0; column < 6; column++) {
      await page.keyboard.press('ArrowRight');
    }
    expect(await tab.caret()).toEqual({ line: 1, column: 6, before: 'second', after: '_2 = 2' });

    await agent.edit(folder.path('caret.ipynb'), [
      {
        op: 'replace',
        cell: 'cell-id-2',
        source: 'import os\nfirst_2 = 22\nsecond_2 = 2\nprint(222)  # changed'
      }
    ]);
    await expect(tab.editor(2)).toContainText('import os');
    expect(await tab.caret()).toEqual({ line: 2, column: 6, before: 'second', after: '_2 = 2' });
    await page.keyboard.type('!');
    expect(await tab.source(2)).toBe(
      'import os\nfirst_2 = 22\nsecond!_2 = 2\nprint(222)  # changed'
    );
  });
});
