import { showFolder } from './file_browser';
import { expect, test } from './fixtures';
import { NAME, PersonPath } from './person_path';

test('A person decides on what agents do meanwhile, leaves, and comes back to what is new', async ({
  agent,
  anotherWindow,
  folder,
  open,
  page
}) => {
  const path = new PersonPath(agent, folder);
  path.begin();
  const before = await open(NAME);
  await path.workTogether(before);
  await path.expectChanges(before);
  await path.decide(before);
  await page.close();

  await path.goOn();
  const again = await anotherWindow();
  await again.goto('');
  await showFolder(again, folder.getPath(''));
  const row = again.locator('.jp-DirListing-item', { hasText: NAME });
  await expect(row.getByRole('img', { name: /^\d+ unseen edits?$/ })).toBeVisible();
  const history = again.locator('.lm-TabBar-tab[data-id="nbedit-history"]');
  await expect(history).toHaveClass(/jp-mod-nbedit-unseen/);

  const after = await open(NAME, { page: again });
  await path.expectUnseen(after);
  const tab = again.locator('.lm-DockPanel-tabBar .lm-TabBar-tab', { hasText: NAME });
  await expect(tab).toHaveClass(/jp-mod-nbedit-unseen/);
  await expect(tab).toHaveAttribute('title', /\n6 unseen changes$/);
  await expect(row.getByRole('img', { name: '6 unseen changes' })).toBeVisible();
  await path.expectAgreement(after);
  await expect(row.getByRole('img', { name: '5 unseen changes' })).toBeVisible();
});
