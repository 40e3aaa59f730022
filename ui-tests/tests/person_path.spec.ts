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
  const window = await anotherWindow();
  await window.goto('');
  await window.filebrowser.openDirectory(folder.getPath(''));
  const row = window.locator('.jp-DirListing-item', { hasText: NAME });
  await expect(row.getByRole('img', { name: /^\d+ unseen edits?$/ })).toBeVisible();
  const history = window.locator('.lm-TabBar-tab[data-id="nbedit-history"]');
  await expect(history).toHaveClass(/jp-mod-nbedit-unseen/);

  const after = await open(NAME, { page: window });
  await path.expectUnseen(after);
  const tab = window.locator('.lm-DockPanel-tabBar .lm-TabBar-tab', { hasText: NAME });
  await expect(tab).toHaveClass(/jp-mod-nbedit-unseen/);
  await expect(tab).toHaveAttribute('title', /\n5 unseen changes$/);
  await expect(row.getByRole('img', { name: '5 unseen changes' })).toBeVisible();
  await path.expectAgreement(after);
  await expect(row.getByRole('img', { name: '4 unseen changes' })).toBeVisible();
});
