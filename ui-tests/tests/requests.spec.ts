import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { formatNotebook, makeManyCells } from './notebooks';
import { Traffic, type PageRequest } from './traffic';

/** Galata's page is a stand-in, which the protocol does not take. */
async function watchTraffic(page: Page, path: string): Promise<Traffic> {
  const session = await page.context().newCDPSession(page.context().pages()[0]);
  return Traffic.watch(session, path);
}

/** Return the requests for the whole notebook. */
function findFullReads(requests: PageRequest[]): PageRequest[] {
  return requests.filter(
    ({ method, address }) =>
      method === 'GET' && address.startsWith('/api/contents/') && /[?&]content=1/.test(address)
  );
}

function findDeltas(requests: PageRequest[]): PageRequest[] {
  return requests.filter(
    ({ method, address }) => method === 'GET' && address.includes('view=nbformat')
  );
}

test('Each edit costs a page one request, also with two views, and a save no full read', async ({
  agent,
  anotherWindow,
  folder,
  open,
  page
}) => {
  folder.write('shared.ipynb', formatNotebook(makeManyCells(6)));
  const path = folder.getPath('shared.ipynb');
  const other = await anotherWindow();
  const tabs = [await open('shared.ipynb'), await open('shared.ipynb', { page: other })];
  const view = await tabs[0].newView();
  const traffics = [await watchTraffic(page, path), await watchTraffic(other, path)];
  const all: PageRequest[][] = [[], []];
  const takeAll = () => {
    const taken = traffics.map(traffic => traffic.take());
    taken.forEach((requests, index) => all[index].push(...requests));
    return taken;
  };

  for (const n of [1, 2, 3]) {
    const source = `theirs = ${n}`;
    const { hash } = await agent.edit(path, [{ op: 'replace', cell: 'cell-id-2', source }]);
    for (const tab of [...tabs, view]) {
      await expect.poll(async () => tab.getHash()).toBe(hash);
      expect(await tab.getSource(2)).toBe(source);
    }
    for (const requests of takeAll()) {
      expect(findDeltas(requests), JSON.stringify(requests)).toHaveLength(1);
    }
  }

  await tabs[1].typeText(4, '  # mine');
  expect(await tabs[1].save()).toContain('completed');
  await expect.poll(async () => tabs[0].getSource(4)).toContain('# mine');
  // What follows the save in the page that has saved.
  await tabs[1].waitFrames(30);
  takeAll();
  for (const requests of all) {
    expect(findFullReads(requests), JSON.stringify(requests)).toEqual([]);
  }
});
