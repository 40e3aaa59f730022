import { expect, test } from './fixtures';
import { makeCodeCell, makeManyCells, makeMarkdownCell, replace } from './notebooks';
import type { CellJson } from './notebooks';

const TEXT = 'first line\nsecond line\nthird line';

function makeRawCell(id: string, source: string): CellJson {
  return { ...makeMarkdownCell(id, source), cell_type: 'raw' };
}

const MAKERS = { code: makeCodeCell, markdown: makeMarkdownCell, raw: makeRawCell };
const TYPES = ['code', 'markdown', 'raw'] as const;
const CASES = TYPES.flatMap(from => TYPES.filter(to => to !== from).map(to => ({ from, to })));

test.describe('The cell in which a user types', () => {
  for (const { from, to } of CASES) {
    test(`keeps caret, selection, scroll and focus if it changes from ${from} to ${to} @nightly`, async ({
      openWith,
      page
    }) => {
      const cells = makeManyCells(20);
      cells[10] = MAKERS[from]('typed', TEXT);
      const { notebook, tab } = await openWith(cells);
      await tab.scrollToCell(10);
      if (from === 'markdown') {
        await tab.cell(10).dblclick();
      }
      await tab.typeText(10, ' mine');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      for (let count = 0; count < 3; count++) {
        await page.keyboard.press('Shift+ArrowRight');
      }
      const caret = await tab.getCaret();
      expect(caret).toMatchObject({ line: 1, column: 4 });
      const top = (await tab.editor(10).boundingBox())!.y;

      const { hash } = await notebook.edit([
        { op: 'replace', cell: 'typed', cell_type: to, source: TEXT }
      ]);
      await expect.poll(async () => tab.getHash()).toBe(hash);
      expect((await tab.getContent()).cells[10].cell_type).toBe(to);
      expect(await tab.getCaret()).toEqual(caret);
      const after = await tab.getViewState();
      expect(after).toMatchObject({ activeCellId: 'typed', activeCellIndex: 10, mode: 'edit' });
      expect(after.focused).toContain('cm-content');
      // The selection is replaced by what is typed.
      await page.keyboard.type('X');
      expect(await tab.getSource(10)).toBe('first line\nsXnd line\nthird line mine');
      await tab.waitFrames(30);
      expect(Math.abs((await tab.editor(10).boundingBox())!.y - top)).toBeLessThan(40);
      expect(await tab.getViewState()).toMatchObject({ activeCellId: 'typed', mode: 'edit' });
    });
  }

  test('loses no letter if its type changes while letters come @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith([
      makeCodeCell('typed', 'x = 1'),
      makeCodeCell('other', 'y = 1')
    ]);
    await tab.placeCaret(0);
    const words = '  # the quick brown fox jumps over the lazy dog, and then does it again';
    const typing = page.keyboard.type(words, { delay: 20 });
    for (const type of ['raw', 'markdown', 'code', 'markdown']) {
      await notebook.edit([{ op: 'replace', cell: 'typed', cell_type: type, source: 'x = 1' }]);
      await expect.poll(async () => (await tab.getContent()).cells[0].cell_type).toBe(type);
    }
    await typing;
    expect(await tab.getSources()).toEqual([`x = 1${words}`, 'y = 1']);
    expect(await tab.getViewState()).toMatchObject({ activeCellId: 'typed', mode: 'edit' });
  });

  test('keeps the caret if it is replaced because of its line ends @nightly', async ({
    openWith,
    page
  }) => {
    const source = 'a = 1\r\nb = 1\r\nc = 1';
    const { notebook, tab } = await openWith([makeCodeCell('typed', source)]);
    await tab.placeCaret(0);
    await page.keyboard.press('ArrowUp');
    const caret = await tab.getCaret();
    expect(caret).toMatchObject({ line: 1, before: 'b = 1' });
    await notebook.edit([replace('typed', `new = 1\r\n${source}`)]);
    await expect.poll(async () => tab.getSource(0)).toContain('new = 1');
    expect(await tab.getCaret()).toEqual({ ...caret, line: 2 });
  });
});
