import { expect, test } from './fixtures';
import { makeManyCells, replace } from './notebooks';

test('An edit that lands while a save is on its way is not overwritten', async ({
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(4), { name: 'race.ipynb' });
  await tab.typeText(1, '  # mine');
  let isFirst = true;
  await page.route(/\/api\/contents\/.*race\.ipynb/, async (route, request) => {
    if (request.method() === 'PUT' && isFirst) {
      isFirst = false;
      await notebook.edit([replace(3)]);
    }
    await route.continue();
  });

  expect(await tab.save()).toContain('completed');
  await expect.poll(async () => tab.getSource(3)).toBe('theirs = 3');
  expect(isFirst).toBe(false);
  if (await tab.isDirty()) {
    expect(await tab.save()).toContain('completed');
  }
  const saved = notebook.readSources();
  expect(saved[1]).toContain('# mine');
  expect(saved[3]).toBe('theirs = 3');
});
