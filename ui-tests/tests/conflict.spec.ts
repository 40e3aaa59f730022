import type { Agent } from './agent';
import { expect, test } from './fixtures';
import type { Folder } from './folder';
import { makeCodeCell, formatNotebook } from './notebooks';
import type { Tab } from './tab';

const MINE = 'x = 1 + 10';
const THEIRS = 'x = 2';

/** Both sides change the same line: the user in the tab, the agent on disk. */
async function createConflict(
  agent: Agent,
  folder: Folder,
  open: (name: string) => Promise<Tab>
): Promise<Tab> {
  folder.write(
    'both.ipynb',
    formatNotebook([makeCodeCell('one', 'x = 1'), makeCodeCell('two', 'y = 1')])
  );
  const tab = await open('both.ipynb');
  await tab.typeText(0, ' + 10');
  await agent.edit(folder.getPath('both.ipynb'), [
    { op: 'replace', cell: 'one', source: THEIRS },
    { op: 'replace', cell: 'two', source: 'y = 2' }
  ]);
  // The other cell, which they do not disagree about, arrives at once.
  await expect(tab.editor(1)).toHaveText('y = 2');
  for (const name of ['Keep mine', 'Take theirs', 'Show both']) {
    await expect(tab.page.getByRole('button', { name })).toBeVisible();
  }
  expect(await tab.getSource(0)).toBe(MINE);
  expect(folder.readSources('both.ipynb')).toEqual([THEIRS, 'y = 2']);
  return tab;
}

test.describe('A cell that was changed on both sides', () => {
  test('keeps the user’s text, and "Keep mine" saves it', async ({ agent, folder, open }) => {
    const tab = await createConflict(agent, folder, open);
    await tab.page.getByRole('button', { name: 'Keep mine' }).click();
    await expect(tab.page.getByRole('button', { name: 'Keep mine' })).toHaveCount(0);
    expect(await tab.getSources()).toEqual([MINE, 'y = 2']);

    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('both.ipynb')).toEqual([MINE, 'y = 2']);
  });

  test('has the agent’s text after "Take theirs" @nightly', async ({ agent, folder, open }) => {
    const tab = await createConflict(agent, folder, open);
    await tab.page.getByRole('button', { name: 'Take theirs' }).click();
    await expect(tab.page.getByRole('button', { name: 'Take theirs' })).toHaveCount(0);
    await expect(tab.editor(0)).toHaveText(THEIRS);

    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('both.ipynb')).toEqual([THEIRS, 'y = 2']);
    expect(await tab.isDirty()).toBe(false);
  });

  test('is shown in both texts by "Show both", and can be decided there or later @nightly', async ({
    agent,
    dialogs,
    folder,
    open,
    page
  }) => {
    const tab = await createConflict(agent, folder, open);
    const dialog = page.locator('.jp-Dialog');
    const showBoth = page.getByRole('button', { name: 'Show both' });
    const asked = await showBoth.elementHandle();
    await showBoth.click();
    await expect(dialog.locator('.jp-nbedit-mine pre')).toHaveText(MINE);
    await expect(dialog.locator('.jp-nbedit-theirs pre')).toHaveText(THEIRS);
    await dialog.getByRole('button', { name: 'Decide later' }).click();
    await expect(dialog).toHaveCount(0);
    expect(await tab.getSource(0)).toBe(MINE);

    // The toast that asked before slides away under the one that asks again.
    await asked!.waitForElementState('hidden');
    await expect(showBoth).toHaveCount(1);
    await showBoth.click();
    await dialog.getByRole('button', { name: 'Take theirs' }).click();
    await expect(tab.editor(0)).toHaveText(THEIRS);
    await expect(showBoth).toHaveCount(0);
    expect(dialogs.splice(0)).toHaveLength(2);

    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('both.ipynb')).toEqual([THEIRS, 'y = 2']);
  });

  test('is saved with the user’s text while the question is open @nightly', async ({
    agent,
    folder,
    open
  }) => {
    const tab = await createConflict(agent, folder, open);
    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('both.ipynb')).toEqual([MINE, 'y = 2']);
    expect(await tab.getSources()).toEqual([MINE, 'y = 2']);
    await tab.page.getByRole('button', { name: 'Take theirs' }).click();
    await expect(tab.editor(0)).toHaveText(THEIRS);
    expect(await tab.isDirty()).toBe(true);
  });

  test('is merged without a question if they changed different lines', async ({
    agent,
    folder,
    open
  }) => {
    const lines = ['a = 1', 'b = 1', 'c = 1', 'd = 1', 'e = 1'];
    folder.write('lines.ipynb', formatNotebook([makeCodeCell('one', lines.join('\n'))]));
    const tab = await open('lines.ipynb');
    await tab.typeText(0, '  # mine');
    await agent.edit(folder.getPath('lines.ipynb'), [
      { op: 'replace', cell: 'one', source: ['a = 2', ...lines.slice(1)].join('\n') }
    ]);
    const merged = ['a = 2', 'b = 1', 'c = 1', 'd = 1', 'e = 1  # mine'].join('\n');
    await expect.poll(async () => tab.getSource(0)).toBe(merged);
    await expect(tab.page.getByRole('button', { name: 'Keep mine' })).toHaveCount(0);
    expect(await tab.getCaret()).toMatchObject({ line: 4, before: 'e = 1  # mine' });

    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('lines.ipynb')).toEqual([merged]);
  });
});
