import { expect, test } from './fixtures';
import { makeManyCells, formatNotebook } from './notebooks';

const replace = (index: number, round = 0) => ({
  op: 'replace',
  cell: `cell-id-${index}`,
  source: `theirs = ${index}\nround = ${round}`
});

test.describe('"Undo" of a toast', () => {
  test('undoes all that the toast tells of, and is not told as an edit', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('back.ipynb', formatNotebook(makeManyCells(6)));
    const path = folder.getPath('back.ipynb');
    const before = folder.readText('back.ipynb');
    const tab = await open('back.ipynb');
    await tab.placeCaret(0);
    const place = await tab.getViewState();
    await agent.edit(path, [replace(1), replace(2)], 'Bot');
    await agent.edit(path, [replace(2, 1), { op: 'delete', cell: 'cell-id-3' }], 'Bot');
    const { hash } = await agent.edit(
      path,
      [{ op: 'move', cell: 'cell-id-5', at: 'start' }],
      'Bot'
    );
    await expect.poll(async () => tab.getHash()).toBe(hash);
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText(/^Bot: 2 cells changed, 1 moved, 1 deleted/);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect(toast).toHaveText(/^Undid 3 edits by Bot in back.ipynb\.$/);
    expect(folder.readText('back.ipynb')).toBe(before);
    await expect.poll(async () => tab.getSources()).toEqual(folder.readSources('back.ipynb'));
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    expect(await tab.isDirty()).toBe(false);
    expect((await tab.getViewState()).activeCellId).toBe(place.activeCellId);
    await tab.waitFrames(30);
    await expect(toast).toHaveCount(1);
  });

  test('says which cells stand in its way, and leaves those as they are @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('way.ipynb', formatNotebook(makeManyCells(40)));
    const path = folder.getPath('way.ipynb');
    const [original] = folder.readSources('way.ipynb');
    const tab = await open('way.ipynb');
    await agent.edit(path, [replace(0)], 'Bot');
    await agent.edit(path, [replace(35)], 'Bot');
    const toast = page.locator('.Toastify__toast', { hasText: 'Bot' });
    await expect(toast).toHaveText(/^Bot: 2 cells changed/);
    await agent.edit(path, [{ ...replace(35), source: 'another = 35' }], 'Another');
    await expect(tab.mark(0)).toHaveCount(1);
    await toast.getByRole('button', { name: 'Undo' }).click();
    const told = page.locator('.Toastify__toast', { hasText: 'Undid' });
    await expect(told).toContainText('Undid 1 of 2 edits in way.ipynb: cell 36 has changed since.');
    await expect.poll(async () => tab.getSource(0)).toBe(original);
    expect(await tab.getSource(35)).toBe('another = 35');
    expect(folder.readSources('way.ipynb')).toEqual(await tab.getSources());
    expect(await tab.isInView(35)).toBe(false);
    await told.getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => tab.isInView(35)).toBe(true);
  });

  test('is there for each client, and not for what nobody has kept @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('who.ipynb', formatNotebook(makeManyCells(4)));
    const path = folder.getPath('who.ipynb');
    const tab = await open('who.ipynb');
    await agent.edit(path, [replace(1)], 'Bot');
    await agent.edit(path, [replace(2)], 'Data agent');
    await agent.edit(path, [replace(3)], 'Bot');
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText([/^Data agent: 1 cell changed/, /^Bot: 2 cells changed/]);
    await expect(toast.getByRole('button', { name: 'Undo' })).toHaveCount(2);
    const content = folder.readNotebook('who.ipynb');
    content.cells[0].source = 'saved = 0';
    await agent.writeContents(path, { type: 'notebook', format: 'json', content });
    const saved = toast.filter({ hasText: 'who.ipynb changed on disk: 1 cell changed' });
    await expect(saved.getByRole('button', { name: 'View' })).toBeVisible();
    await expect(saved.getByRole('button', { name: 'Undo' })).toHaveCount(0);
    // The history does not have this change, so there is nothing to keep or undo.
    await expect(tab.mark(0)).toHaveCount(0);
  });
});

test('What was undone elsewhere is no error of an older "Undo", and no redo is told as an undo @nightly', async ({
  agent,
  folder,
  open,
  page
}) => {
  folder.write('twice.ipynb', formatNotebook(makeManyCells(4)));
  const path = folder.getPath('twice.ipynb');
  const tab = await open('twice.ipynb');
  await agent.edit(path, [replace(1)], 'Bot');
  const edited = folder.readText('twice.ipynb');
  const bar = tab.root.getByRole('region', { name: 'Changes by agents' });
  await bar.getByRole('button', { name: 'Undo all' }).click();
  const toast = page.locator('.Toastify__toast');
  const undone = toast.filter({ hasText: 'Undone: 1 change' });
  // Its time begins anew when the pointer leaves it.
  await undone.hover();
  await page.evaluate(() => {
    const { currentWidget } = window.jupyterapp.shell;
    (currentWidget as unknown as { content: { activate(): void } }).content.activate();
  });
  await page.keyboard.press('Control+Alt+z');
  await expect(toast.filter({ hasText: 'Redone: cell 2' })).toBeVisible();
  await expect(toast.filter({ hasText: 'Undone: cell 2' })).toHaveCount(0);
  expect(folder.readText('twice.ipynb')).toBe(edited);
  await undone.getByRole('button', { name: 'Undo' }).click();
  await expect(undone).toHaveCount(0);
  await tab.waitFrames(30);
  await expect(toast.filter({ hasText: 'already' })).toHaveCount(0);
  expect(folder.readText('twice.ipynb')).toBe(edited);

  // A notification in the list has no "Undo" when its toast is gone.
  await agent.edit(path, [replace(2)], 'Bot');
  await bar.getByRole('button', { name: 'Undo all' }).click();
  await expect(undone).toBeVisible();
  await page.mouse.move(0, 0);
  await expect(undone).toHaveCount(0, { timeout: 60_000 });
  await page.evaluate(async () => {
    await window.jupyterapp.commands.execute('apputils:display-notifications');
  });
  const list = page.locator('.jp-Notification-List-Item');
  await expect(list.filter({ hasText: 'Redone: cell 2' })).toHaveCount(1);
  await expect(list.filter({ hasText: 'Undone: 1 change' })).toHaveCount(0);
});

test('The key for undo undoes the last edit, in command mode @nightly', async ({
  agent,
  folder,
  open,
  page
}) => {
  folder.write('key.ipynb', formatNotebook(makeManyCells(4)));
  const path = folder.getPath('key.ipynb');
  const before = folder.readText('key.ipynb');
  const tab = await open('key.ipynb');
  await tab.placeCaret(0);
  const { hash } = await agent.edit(path, [replace(2)], 'Bot');
  await expect.poll(async () => tab.getHash()).toBe(hash);
  // What AltGr and Z write in some languages is for the text.
  await page.keyboard.press('Control+Alt+z');
  await tab.waitFrames(30);
  expect(folder.readText('key.ipynb')).not.toBe(before);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Alt+z');
  await expect.poll(() => folder.readText('key.ipynb')).toBe(before);
  await expect.poll(async () => tab.getSources()).toEqual(folder.readSources('key.ipynb'));
  await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
});
