import { expect, test, type Page } from '@playwright/test';
import { Agent } from '../agent';
import { Folder } from '../folder';
import { NAME, PersonPath } from '../person_path';
import { Tab } from '../tab';

const url = process.env.TARGET_URL!;
const token = process.env.NBEDIT_TOKEN!;

/** Open a notebook by its address; events that are sent before the page listens are lost. */
async function open(page: Page, path: string): Promise<Tab> {
  const listening = page.waitForEvent('websocket', socket =>
    socket.url().includes('/api/events/subscribe')
  );
  await page.goto(`${url}/notebooks/${path}?token=${token}`);
  await listening;
  return Tab.ofCurrent(page);
}

test('In Notebook 7, a person decides on what agents do, leaves, and comes back to what is new', async ({
  context,
  page
}, testInfo) => {
  const folder = Folder.ofTest(testInfo);
  const path = new PersonPath(new Agent(url, token), folder);
  path.begin();
  const before = await open(page, folder.getPath(NAME));
  await path.workTogether(before);
  await path.expectChanges(before);
  await path.decide(before);
  await page.close();

  await path.goOn();
  const tree = await context.newPage();
  await tree.goto(`${url}/tree/${folder.getPath('')}`);
  const row = tree.locator('.jp-DirListing-item', { hasText: NAME });
  await expect(row.getByRole('img', { name: /^\d+ unseen edits?$/ })).toBeVisible();

  const after = await open(await context.newPage(), folder.getPath(NAME));
  await path.expectUnseen(after);
  await path.expectAgreement(after);
});
