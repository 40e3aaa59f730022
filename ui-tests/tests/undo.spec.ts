import { expect, test } from './fixtures';
import { many, notebook } from './notebooks';

const replace = (index: number, round = 0) => ({
  op: 'replace',
  cell: `cell-id-${index}`,
  source: `theirs = ${index}\nround = ${round}`
});

test.describe('"Undo" of a toast', () => {
  test('takes back all that the toast tells of, and is not told as an edit', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('back.ipynb', notebook(many(6)));
    const path = folder.path('back.ipynb');
    const before = folder.text('back.ipynb');
    const tab = await open('back.ipynb');
    await tab.enter(0);
    const place = await tab.place();
    await agent.edit(path, [replace(1), replace(2)], 'Bot');
    await agent.edit(path, [replace(2, 1), { op: 'delete', cell: 'cell-id-3' }], 'Bot');
    const { hash } = await agent.edit(
      path,
      [{ op: 'move', cell: 'cell-id-5', at: 'start' }],
      'Bot'
    );
    await expect.poll(async () => tab.hash()).toBe(hash);
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText(/Bot edited back.ipynb: cells 1, 3 and 4.*1 cell removed/);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect(toast).toHaveText(/^Took back 3 edits by Bot in back.ipynb\.$/);
    expect(folder.text('back.ipynb')).toBe(before);
    await expect.poll(async () => tab.sources()).toEqual(folder.sources('back.ipynb'));
    await expect.poll(async () => tab.marked()).toEqual([]);
    expect(await tab.dirty()).toBe(false);
    expect((await tab.place()).activeCellId).toBe(place.activeCellId);
    await tab.frames(30);
    await expect(toast).toHaveCount(1);
  });

  test('says which cells stand in its way, and leaves those as they are @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('way.ipynb', notebook(many(40)));
    const path = folder.path('way.ipynb');
    const [original] = folder.sources('way.ipynb');
    const tab = await open('way.ipynb');
    await agent.edit(path, [replace(0)], 'Bot');
    await agent.edit(path, [replace(35)], 'Bot');
    const toast = page.locator('.Toastify__toast', { hasText: 'Bot' });
    await expect(toast).toHaveText(/cells 1 and 36/);
    await agent.edit(path, [{ ...replace(35), source: 'another = 35' }], 'Another');
    await expect(tab.mark(0)).toHaveCount(1);
    await toast.getByRole('button', { name: 'Undo' }).click();
    const told = page.locator('.Toastify__toast', { hasText: 'Took back' });
    await expect(told).toContainText(
      'Took back 1 of 2 edits in way.ipynb: cell 36 has changed since.'
    );
    await expect.poll(async () => tab.source(0)).toBe(original);
    expect(await tab.source(35)).toBe('another = 35');
    expect(folder.sources('way.ipynb')).toEqual(await tab.sources());
    expect(await tab.inView(35)).toBe(false);
    await told.getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => tab.inView(35)).toBe(true);
  });

  test('is there for each client, and not for what nobody has kept @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('who.ipynb', notebook(many(4)));
    const path = folder.path('who.ipynb');
    const tab = await open('who.ipynb');
    await agent.edit(path, [replace(1)], 'Bot');
    await agent.edit(path, [replace(2)], 'Data agent');
    await agent.edit(path, [replace(3)], 'Bot');
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText([/Data agent edited .*cell 3/, /Bot edited .*cells 2 and 4/]);
    await expect(toast.getByRole('button', { name: 'Undo' })).toHaveCount(2);
    const content = folder.notebook('who.ipynb');
    content.cells[0].source = 'saved = 0';
    await agent.put(path, { type: 'notebook', format: 'json', content });
    const saved = toast.filter({ hasText: 'who.ipynb changed on disk: cell 1' });
    await expect(saved.getByRole('button', { name: 'View' })).toBeVisible();
    await expect(saved.getByRole('button', { name: 'Undo' })).toHaveCount(0);
    await expect(tab.mark(0)).toHaveAttribute('title', 'Changed on disk');
  });
});

test('The key for undo takes back the last edit, in command mode @nightly', async ({
  agent,
  folder,
  open,
  page
}) => {
  folder.write('key.ipynb', notebook(many(4)));
  const path = folder.path('key.ipynb');
  const before = folder.text('key.ipynb');
  const tab = await open('key.ipynb');
  await tab.enter(0);
  const { hash } = await agent.edit(path, [replace(2)], 'Bot');
  await expect.poll(async () => tab.hash()).toBe(hash);
  // What AltGr and Z write in some languages is for the text.
  await page.keyboard.press('Control+Alt+z');
  await tab.frames(30);
  expect(folder.text('key.ipynb')).not.toBe(before);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Alt+z');
  await expect.poll(() => folder.text('key.ipynb')).toBe(before);
  await expect.poll(async () => tab.sources()).toEqual(folder.sources('key.ipynb'));
  await expect.poll(async () => tab.marked()).toEqual([]);
});
