import { expect, test } from './fixtures';
import { getToasts, runCommand } from './lab';
import { makeManyCells } from './notebooks';

const replace = (index: number, round = 0) => ({
  op: 'replace',
  cell: `cell-id-${index}`,
  source: `theirs = ${index}\nround = ${round}`
});

test.describe('"Undo" of a toast', () => {
  test('undoes all that the toast tells of, and is not told as an edit', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(6), { name: 'back.ipynb' });
    const before = notebook.readText();
    await tab.placeCaret(0);
    const place = await tab.getViewState();
    await notebook.edit([replace(1), replace(2)], 'Bot');
    await notebook.edit([replace(2, 1), { op: 'delete', cell: 'cell-id-3' }], 'Bot');
    const { hash } = await notebook.edit([{ op: 'move', cell: 'cell-id-5', at: 'start' }], 'Bot');
    await expect.poll(async () => tab.getHash()).toBe(hash);
    const toast = getToasts(page);
    await expect(toast).toHaveText(/^Bot: 2 cells changed, 1 moved, 1 deleted/);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect(toast).toHaveText(/^Undid 3 edits by Bot in back.ipynb\.$/);
    expect(notebook.readText()).toBe(before);
    await expect.poll(async () => tab.getSources()).toEqual(notebook.readSources());
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    expect(await tab.isDirty()).toBe(false);
    expect((await tab.getViewState()).activeCellId).toBe(place.activeCellId);
    await tab.waitFrames(30);
    await expect(toast).toHaveCount(1);
  });

  test('says which cells stand in its way, and leaves those as they are @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(40), { name: 'way.ipynb' });
    const [original] = notebook.readSources();
    await notebook.edit([replace(0)], 'Bot');
    await notebook.edit([replace(35)], 'Bot');
    const toast = getToasts(page, 'Bot');
    await expect(toast).toHaveText(/^Bot: 2 cells changed/);
    await notebook.edit([{ ...replace(35), source: 'another = 35' }], 'Another');
    await expect(tab.mark(0)).toHaveCount(1);
    await toast.getByRole('button', { name: 'Undo' }).click();
    const told = getToasts(page, 'Undid');
    await expect(told).toContainText('Undid 1 of 2 edits in way.ipynb: cell 36 has changed since.');
    await expect.poll(async () => tab.getSource(0)).toBe(original);
    expect(await tab.getSource(35)).toBe('another = 35');
    expect(notebook.readSources()).toEqual(await tab.getSources());
    expect(await tab.isInView(35)).toBe(false);
    await told.getByRole('button', { name: 'View' }).click();
    await expect.poll(async () => tab.isInView(35)).toBe(true);
  });

  test('is there for each client, and not for what nobody has kept @nightly', async ({
    agent,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(4), { name: 'who.ipynb' });
    await notebook.edit([replace(1)], 'Bot');
    await notebook.edit([replace(2)], 'Data agent');
    await notebook.edit([replace(3)], 'Bot');
    const toast = getToasts(page);
    await expect(toast).toHaveText([/^Data agent: 1 cell changed/, /^Bot: 2 cells changed/]);
    await expect(toast.getByRole('button', { name: 'Undo' })).toHaveCount(2);
    const content = notebook.readContent();
    content.cells[0].source = 'saved = 0';
    await agent.writeContents(notebook.path, { type: 'notebook', format: 'json', content });
    const saved = toast.filter({ hasText: 'who.ipynb changed on disk: 1 cell changed' });
    await expect(saved.getByRole('button', { name: 'View' })).toBeVisible();
    await expect(saved.getByRole('button', { name: 'Undo' })).toHaveCount(0);
    // The history does not have this change, so there is nothing to keep or undo.
    await expect(tab.mark(0)).toHaveCount(0);
  });
});

test('What was undone elsewhere is no error of an older "Undo", and no redo is told as an undo @nightly', async ({
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(4));
  await notebook.edit([replace(1)], 'Bot');
  const edited = notebook.readText();
  const bar = tab.bar;
  await bar.getByRole('button', { name: 'Undo all' }).click();
  const toast = getToasts(page);
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
  expect(notebook.readText()).toBe(edited);
  await undone.getByRole('button', { name: 'Undo' }).click();
  await expect(undone).toHaveCount(0);
  await tab.waitFrames(30);
  await expect(toast.filter({ hasText: 'already' })).toHaveCount(0);
  expect(notebook.readText()).toBe(edited);

  // A notification in the list has no "Undo" when its toast is gone.
  await notebook.edit([replace(2)], 'Bot');
  await bar.getByRole('button', { name: 'Undo all' }).click();
  await expect(undone).toBeVisible();
  await page.mouse.move(0, 0);
  await expect(undone).toHaveCount(0, { timeout: 60_000 });
  await runCommand(page, 'apputils:display-notifications');
  const list = page.locator('.jp-Notification-List-Item');
  await expect(list.filter({ hasText: 'Redone: cell 2' })).toHaveCount(1);
  await expect(list.filter({ hasText: 'Undone: 1 change' })).toHaveCount(0);
});

test('The key for undo undoes the last edit, in command mode @nightly', async ({
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(4));
  const before = notebook.readText();
  await tab.placeCaret(0);
  const { hash } = await notebook.edit([replace(2)], 'Bot');
  await expect.poll(async () => tab.getHash()).toBe(hash);
  // What AltGr and Z write in some languages is for the text.
  await page.keyboard.press('Control+Alt+z');
  await tab.waitFrames(30);
  expect(notebook.readText()).not.toBe(before);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Alt+z');
  await expect.poll(() => notebook.readText()).toBe(before);
  await expect.poll(async () => tab.getSources()).toEqual(notebook.readSources());
  await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
});
