import { expect, test } from './fixtures';
import { makeManyCells, formatNotebook } from './notebooks';

test('An edit that lands while a save is on its way is not overwritten', async ({
  agent,
  folder,
  open,
  page
}) => {
  folder.write('race.ipynb', formatNotebook(makeManyCells(4)));
  const path = folder.getPath('race.ipynb');
  const tab = await open('race.ipynb');
  await tab.typeText(1, '  # mine');
  let isFirst = true;
  await page.route(/\/api\/contents\/.*race\.ipynb/, async (route, request) => {
    if (request.method() === 'PUT' && isFirst) {
      isFirst = false;
      await agent.edit(path, [{ op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' }]);
    }
    await route.continue();
  });

  expect(await tab.save()).toContain('completed');
  await expect.poll(async () => tab.getSource(3)).toBe('theirs = 3');
  expect(isFirst).toBe(false);
  if (await tab.isDirty()) {
    expect(await tab.save()).toContain('completed');
  }
  const saved = folder.readSources('race.ipynb');
  expect(saved[1]).toContain('# mine');
  expect(saved[3]).toBe('theirs = 3');
});
