import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { makeCodeCell, makeManyCells, replace } from './notebooks';
import { changeSettings } from './settings';

test.describe('A setting', () => {
  test('says of which edits a toast tells @nightly', async ({
    agent,
    create,
    folder,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(3), 'behind.ipynb');
    const frontNotebook = create(makeManyCells(3));
    const behind = await open(notebook.name);
    const front = await open(frontNotebook.name);
    const toast = getToasts(page);
    const edit = async (client: string) => {
      for (const [name, tab] of [
        [notebook.name, behind] as const,
        [frontNotebook.name, front] as const
      ]) {
        const { hash } = await agent.edit(folder.getPath(name), [replace(1, client)], client);
        await expect.poll(async () => tab.getHash()).toBe(hash);
      }
    };
    await changeSettings(page, { toasts: 'none' });
    await edit('silent');
    await expect(front.mark(1)).toHaveCount(1);
    await changeSettings(page, { toasts: 'background' });
    await edit('quiet');
    await expect(toast).toHaveText(/^quiet in behind.ipynb: 1 cell changed/);
    await changeSettings(page, { toasts: 'all' });
    await edit('loud');
    await expect(toast).toHaveText([
      /^loud: 1 cell changed/,
      /^loud in behind.ipynb: 1 cell changed/,
      /^quiet in behind.ipynb: /
    ]);
  });

  test('switches flash and marks off and on, in open notebooks @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(4));
    const flashed = await tab.watchFlashes();
    await notebook.edit([replace(1)]);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    expect(await flashed()).toEqual(['cell-id-1']);

    await changeSettings(page, { flash: false, marks: false });
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    await notebook.edit([replace(2)]);
    await expect(tab.editor(2)).toHaveText('theirs = 2');
    await expect(getToasts(page)).toContainText('2 cells changed');
    expect(await tab.listMarkedCells()).toEqual([]);

    await changeSettings(page, { flash: true, marks: true });
    await notebook.edit([replace(3)]);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 2, 3]);
    expect(await flashed()).toEqual(['cell-id-1', 'cell-id-3']);
  });

  test('lets the notebook in front follow edits, but not while its user types @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(60));
    await tab.placeCaret(1);
    const before = await tab.getViewState();
    const caret = await tab.getCaret();
    // The user has typed long ago: what is tested is the setting.
    await page.evaluate(() => {
      const now = performance.now.bind(performance);
      performance.now = () => now() + 60_000;
    });
    await notebook.edit([replace(50)]);
    await expect.poll(async () => tab.getSource(50)).toBe('theirs = 50');
    expect(await tab.getViewState()).toEqual(before);

    await changeSettings(page, { follow: true });
    await notebook.edit([replace(40)]);
    await expect.poll(async () => tab.isInView(40)).toBe(true);
    await tab.waitFrames(60);
    expect(await tab.isInView(40)).toBe(true);
    const { activeCellId, focused, mode } = before;
    expect(await tab.getViewState()).toMatchObject({ activeCellId, focused, mode });
    expect(await tab.getCaret()).toEqual(caret);

    await page.keyboard.type('  # mine');
    await expect.poll(async () => tab.isInView(1)).toBe(true);
    await notebook.edit([replace(30)]);
    await expect.poll(async () => tab.getSource(30)).toBe('theirs = 30');
    await tab.waitFrames(60);
    expect(await tab.isInView(1)).toBe(true);
    expect(await tab.isInView(30)).toBe(false);
    expect((await tab.getSource(1)).endsWith('  # mine')).toBe(true);
  });

  for (const [rule, mine, text] of [
    ['keepMine', true, 'Yours was kept'],
    ['takeTheirs', false, 'Theirs was taken']
  ] as const) {
    test(`decides on conflicts: ${rule} @nightly`, async ({ openWith, page }) => {
      const { notebook, tab } = await openWith([
        makeCodeCell('one', 'x = 1'),
        makeCodeCell('two', 'y = 1')
      ]);
      await changeSettings(page, { conflict: rule });
      await tab.typeText(0, ' + 10');
      const { hash } = await notebook.edit([replace('one', 'x = 2')]);
      await expect.poll(async () => tab.getHash()).toBe(hash);
      await expect(getToasts(page, text)).toBeVisible();
      await expect(page.getByRole('button', { name: /^Mine/ })).toHaveCount(0);
      await expect.poll(async () => tab.getSource(0)).toBe(mine ? 'x = 1 + 10' : 'x = 2');
      expect(await tab.isDirty()).toBe(mine);
      await tab.placeCaret(0);
      await page.keyboard.press('Control+z');
      // What was taken can be undone, in the editor as any typing.
      expect(await tab.getSource(0)).toBe(mine ? 'x = 1' : 'x = 1 + 10');
    });
  }
});
