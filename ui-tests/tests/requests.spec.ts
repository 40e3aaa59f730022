import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { makeManyCells } from './notebooks';
import { Traffic, type PageRequest } from './traffic';

test.use({ sharesPage: false });

const SECOND = 1000;
const MINUTES = 4;
/** How many requests an idle page with one notebook may send in a minute. */
const IDLE_REQUESTS = 2;

/** Galata's page is a stand-in, which the protocol does not take. */
async function watchTraffic(page: Page, path: string): Promise<Traffic> {
  const session = await page.context().newCDPSession(page.context().pages()[0]);
  return Traffic.watch(session, path);
}

/** Tell the page that its window is hidden, or visible again. */
async function setVisibility(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(state => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
    Object.defineProperty(document, 'hidden', { value: state === 'hidden', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);
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

test('An idle page sends at most two requests a minute, and a hidden one none', async ({
  openWith,
  page
}) => {
  await page.clock.install();
  // Other tests edit on the same server: their events are not sent to an idle page.
  await page.routeWebSocket(/\/api\/events\/subscribe/, socket => {
    const server = socket.connectToServer();
    server.onMessage(() => undefined);
  });
  const { notebook } = await openWith(makeManyCells(6));
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000));
  const traffic = await watchTraffic(page, notebook.path);
  const passTime = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 10) {
      await page.clock.fastForward(10 * SECOND);
      // The page has sent what its timers wanted to send, and the replies of the server are here.
      await page.evaluate(async url => (await fetch(url)).text(), `${process.env.TARGET_URL!}/api`);
      await expect.poll(() => traffic.isFinished).toBe(true);
    }
    return traffic.take();
  };

  // What comes with the opening of the notebook is over.
  await passTime(60);
  // Begin in the middle between two checks: what one has begun is not counted with others.
  while ((await passTime(10)).length === 0);
  await passTime(30);
  const visible = await passTime(MINUTES * 60);
  await setVisibility(page, 'hidden');
  // What was begun may go on: by the clock of the page, a reply takes up to ten seconds.
  await passTime(30);
  const hidden = await passTime(MINUTES * 60);
  await setVisibility(page, 'visible');
  await page.clock.resume();

  expect(hidden).toEqual([]);
  expect(visible.length, JSON.stringify(visible)).toBeLessThanOrEqual(MINUTES * IDLE_REQUESTS);
  // The page is awake: it asks again when it is visible.
  await expect.poll(() => traffic.take()).not.toEqual([]);
});

test('Each edit costs a page one request, also with two views, and a save no full read', async ({
  anotherWindow,
  create,
  open,
  page
}) => {
  test.skip(Boolean(process.env.NBEDIT_FULL_READS), 'here tabs may not fetch changes only');
  const notebook = create(makeManyCells(6));
  const other = await anotherWindow();
  const tabs = [await open(notebook.name), await open(notebook.name, { page: other })];
  const view = await tabs[0].newView();
  const traffics = [
    await watchTraffic(page, notebook.path),
    await watchTraffic(other, notebook.path)
  ];
  const all: PageRequest[][] = [[], []];
  const takeAll = () => {
    const taken = traffics.map(traffic => traffic.take());
    taken.forEach((requests, index) => all[index].push(...requests));
    return taken;
  };

  for (const n of [1, 2, 3]) {
    const source = `theirs = ${n}`;
    const { hash } = await notebook.edit([{ op: 'replace', cell: 'cell-id-2', source }]);
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
