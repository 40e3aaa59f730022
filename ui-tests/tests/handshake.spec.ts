import type { EditReply } from './agent';
import { expect, test } from './fixtures';
import { formatNotebook, makeManyCells } from './notebooks';
import type { Tab } from './tab';

const NOBODY = { open: 0, shown: 0, merged: 0, waiting: 0 };
/** Longer than any tab takes; the answer comes as soon as all of them have told. */
const WAIT = 10_000;

test.describe('The reply to an edit', () => {
  let replace: (cell: number, source: string) => Promise<EditReply>;

  test.beforeEach(({ agent, folder }) => {
    folder.write('handshake.ipynb', formatNotebook(makeManyCells(4)));
    replace = async (cell, source) => {
      const operation = { op: 'replace', cell: `cell-id-${cell}`, source };
      return agent.edit(folder.getPath('handshake.ipynb'), [operation], 'Asking bot', {
        waitTabs: WAIT
      });
    };
  });

  /** Wait until the server knows of so many tabs: a page tells it when it has opened one. */
  async function known(count: number): Promise<void> {
    await expect.poll(async () => (await replace(3, `${Math.random()}`)).tabs.open).toBe(count);
  }

  test('says that a tab without unsaved changes shows it, and when it has closed @nightly', async ({
    open,
    page
  }) => {
    expect((await replace(0, 'nobody = 0')).tabs).toEqual(NOBODY);
    const tab = await open('handshake.ipynb');
    await known(1);
    for (const source of ['one = 1', 'two = 2', 'three = 3']) {
      const { tabs } = await replace(0, source);
      expect(await tab.getSource(0)).toBe(source);
      expect(tabs).toEqual({ ...NOBODY, open: 1, shown: 1 });
    }
    await page.evaluate(() => window.jupyterapp.shell.currentWidget?.close());
    await known(0);
  });

  test('says that a tab shows it beside unsaved changes, and without them once saved', async ({
    open
  }) => {
    const tab = await open('handshake.ipynb');
    await known(1);
    await tab.typeText(1, '  # mine');
    const { tabs } = await replace(0, 'theirs = 0');
    expect(await tab.getSource(0)).toBe('theirs = 0');
    expect(tabs).toEqual({ ...NOBODY, open: 1, merged: 1 });
    expect(await tab.save()).toContain('completed');
    expect((await replace(0, 'theirs = 1')).tabs).toEqual({ ...NOBODY, open: 1, shown: 1 });
  });

  test('says that a tab asks its user, until they have chosen @nightly', async ({ open }) => {
    const tab = await open('handshake.ipynb');
    await known(1);
    await tab.typeText(0, '  # mine');
    const { tabs } = await replace(0, 'theirs = 1');
    expect(tabs).toEqual({ ...NOBODY, open: 1, waiting: 1 });
    // It shows edits of other cells meanwhile.
    const { tabs: others } = await replace(2, 'theirs = 2');
    expect(others).toEqual({ ...NOBODY, open: 1, merged: 1 });
    const { tabs: again } = await replace(0, 'theirs = 0');
    expect(again).toEqual({ ...NOBODY, open: 1, waiting: 1 });
    await tab
      .cell(0)
      .getByRole('button', { name: /^Theirs/ })
      .click();
    await expect(tab.editor(0)).toHaveText('theirs = 0');
    const after = await replace(1, 'theirs = 1');
    expect(after.tabs.waiting).toBe(0);
    expect(after.tabs.open).toBe(1);
  });

  test('says what two windows made of each of many edits at once @nightly', async ({
    anotherWindow,
    open
  }) => {
    const clean = await open('handshake.ipynb');
    const dirty = await open('handshake.ipynb', { page: await anotherWindow() });
    await known(2);
    await dirty.typeText(1, '  # mine');
    const edits = Array.from({ length: 8 }, async (_, index) => replace(0, `theirs = ${index}`));
    for (const { tabs } of await Promise.all(edits)) {
      expect(tabs).toEqual({ ...NOBODY, open: 2, shown: 1, merged: 1 });
    }
    const shows = async (tab: Tab) => tab.getSource(0);
    expect(await shows(clean)).toBe(await shows(dirty));
  });
});
