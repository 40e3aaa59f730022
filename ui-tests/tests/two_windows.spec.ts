import { expect, test } from './fixtures';
import { makeManyCells, formatNotebook } from './notebooks';

test('Two windows on one notebook, one dirty and one clean, both follow', async ({
  agent,
  anotherWindow,
  folder,
  open
}) => {
  folder.write('shared.ipynb', formatNotebook(makeManyCells(6)));
  const original = folder.readSources('shared.ipynb');
  const clean = await open('shared.ipynb');
  const dirty = await open('shared.ipynb', { page: await anotherWindow() });
  await dirty.typeText(1, '  # mine');

  await agent.edit(folder.getPath('shared.ipynb'), [
    { op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' },
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
  expect(folder.readSources('shared.ipynb')).toEqual(expected);
  await expect.poll(async () => clean.getSources()).toEqual(expected);
  await clean.typeText(0, '  # also mine');
  expect(await clean.save()).toContain('completed');
  expected[0] += '  # also mine';
  expect(folder.readSources('shared.ipynb')).toEqual(expected);
  await expect.poll(async () => dirty.getSources()).toEqual(expected);
  expect(await dirty.isDirty()).toBe(false);
});

test('Two views of one notebook in one window both follow, and there is one toast @nightly', async ({
  agent,
  folder,
  open,
  page
}) => {
  folder.write('views.ipynb', formatNotebook(makeManyCells(4)));
  await open('views.ipynb');
  await page.evaluate(async () => {
    await window.jupyterapp.commands.execute('docmanager:clone');
  });
  const shown = page.locator('.jp-NotebookPanel .cm-content', { hasText: 'first_2' });
  await expect(shown).toHaveCount(2);
  await agent.edit(folder.getPath('views.ipynb'), [
    { op: 'replace', cell: 'cell-id-2', source: 'theirs = 2' }
  ]);
  const theirs = page.locator('.jp-NotebookPanel .cm-content', { hasText: 'theirs = 2' });
  await expect(theirs).toHaveCount(2);
  await expect(page.locator('.Toastify__toast')).toHaveCount(1);
  await expect(page.locator('.jp-nbedit-flash')).toHaveCount(2);
});
