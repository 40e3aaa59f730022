import { expect, test } from './fixtures';
import { getToasts, runCommand } from './lab';
import { makeManyCells, replace } from './notebooks';

test('Two windows on one notebook, one dirty and one clean, both follow', async ({
  anotherWindow,
  create,
  open
}) => {
  const notebook = create(makeManyCells(6));
  const original = notebook.readSources();
  const clean = await open(notebook.name);
  const dirty = await open(notebook.name, { page: await anotherWindow() });
  await dirty.typeText(1, '  # mine');

  await notebook.edit([
    replace(3),
    { op: 'insert', at: 'end', cell_type: 'code', source: 'theirs = 6' }
  ]);
  const expected = [...original, 'theirs = 6'];
  expected[3] = 'theirs = 3';
  await expect.poll(async () => clean.getSources()).toEqual(expected);
  expect(await clean.isDirty()).toBe(false);
  expected[1] += '  # mine';
  await expect.poll(async () => dirty.getSources()).toEqual(expected);
  expect(await dirty.isDirty()).toBe(true);

  // What one window saves is an edit for the other.
  expect(await dirty.save()).toContain('completed');
  expect(notebook.readSources()).toEqual(expected);
  await expect.poll(async () => clean.getSources()).toEqual(expected);
  await clean.typeText(0, '  # also mine');
  expect(await clean.save()).toContain('completed');
  expected[0] += '  # also mine';
  expect(notebook.readSources()).toEqual(expected);
  await expect.poll(async () => dirty.getSources()).toEqual(expected);
  expect(await dirty.isDirty()).toBe(false);
});

test('Two views of one notebook in one window both follow, and there is one toast @nightly', async ({
  openWith,
  page
}) => {
  const { notebook } = await openWith(makeManyCells(4));
  await runCommand(page, 'docmanager:clone');
  const shown = page.locator('.jp-NotebookPanel .cm-content', { hasText: 'first_2' });
  await expect(shown).toHaveCount(2);
  await notebook.edit([replace(2)]);
  const theirs = page.locator('.jp-NotebookPanel .cm-content', { hasText: 'theirs = 2' });
  await expect(theirs).toHaveCount(2);
  await expect(getToasts(page)).toHaveCount(1);
  await expect(page.locator('.jp-nbedit-flash')).toHaveCount(2);
});
