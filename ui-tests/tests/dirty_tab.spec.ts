import { expect, test } from './fixtures';
import { makeManyCells, replace } from './notebooks';

test.describe('A dirty tab', () => {
  test('keeps what its user types in another cell, and saves both without a dialog', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(20));
    const original = notebook.readSources();
    const models = await tab.getModels();
    await tab.typeText(2, '  # mine');
    expect(await tab.isDirty()).toBe(true);
    const before = await tab.getViewState();
    const caret = await tab.getCaret();

    await notebook.edit([replace(3)]);
    await expect(tab.editor(3)).toHaveText('theirs = 3');
    expect(await tab.getViewState()).toEqual(before);
    expect(await tab.getCaret()).toEqual(caret);
    expect(await tab.isDirty()).toBe(true);
    expect(await tab.getPositions(models)).toEqual([...Array(20).keys()]);
    expect(notebook.readSources()[2]).toBe(original[2]);

    await tab.page.keyboard.type(' still');
    expect(await tab.save()).toContain('completed');
    expect(await tab.isDirty()).toBe(false);
    const expected = [...original];
    expected[2] += '  # mine still';
    expected[3] = 'theirs = 3';
    expect(notebook.readSources()).toEqual(expected);
    expect(await tab.getSources()).toEqual(expected);
  });

  test('gets an edit that arrives while its user is typing, and loses no letter', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    const original = notebook.readSources();
    const words = '  # the quick brown fox jumps over the lazy dog, and then does it again';
    await tab.placeCaret(1);
    const typing = tab.page.keyboard.type(words, { delay: 20 });
    for (const round of [1, 2, 3, 4]) {
      await notebook.edit([replace(0, `round = ${round}`), replace(2, `round = ${round}`)]);
      await expect(tab.editor(2)).toHaveText(`round = ${round}`);
    }
    await typing;

    expect(await tab.save()).toContain('completed');
    const expected = [...original];
    expected[0] = expected[2] = 'round = 4';
    expected[1] += words;
    expect(notebook.readSources()).toEqual(expected);
    expect(await tab.getSources()).toEqual(expected);
  });
});
