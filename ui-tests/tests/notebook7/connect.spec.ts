import { expect, test } from '@playwright/test';
import { Agent } from '../agent';
import { findViolations } from '../axe';
import { Folder } from '../folder';
import { formatNotebook, makeManyCells } from '../notebooks';

const url = process.env.TARGET_URL!;
const token = process.env.NBEDIT_TOKEN!;

test.describe('In Notebook 7, an agent is connected', () => {
  let folder: Folder;

  test.beforeEach(({}, testInfo) => {
    folder = Folder.ofTest(testInfo);
  });

  for (const where of ['tree', 'notebooks'] as const) {
    test(`from the menu of the page of ${where}`, async ({ page }) => {
      folder.write('seen.ipynb', formatNotebook(makeManyCells(3)));
      const path = folder.getPath('seen.ipynb');
      const agent = new Agent(url, token);
      await agent.edit(path, [{ op: 'delete', cell: 'cell-id-1' }], 'An agent');
      await page.goto(`${url}/${where}${where === 'tree' ? '' : `/${path}`}?token=${token}`);
      await page.getByRole('menuitem', { name: 'View', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Connect an Agent…' }).click();
      const panel = page.getByRole('region', { name: 'Connect an agent' });
      await expect(panel.getByRole('tab', { name: 'Claude Code' })).toBeFocused();
      await page.keyboard.press('ArrowDown');
      await expect(panel.getByRole('tabpanel', { name: 'Codex CLI' })).toContainText('config.toml');
      const item = panel.getByRole('listitem').filter({ hasText: 'An agent' });
      await expect(item.getByRole('button', { name: 'Open seen.ipynb' })).toBeVisible();
      expect(await findViolations(panel)).toEqual([]);
    });
  }
});
