import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { getModeStatus, getToasts } from './lab';
import { makeManyCells, replace } from './notebooks';
import { HistoryPanel } from './panel';
import { setReadOnly } from './rights';

test.use({ sharesPage: false });

/** The commands that ask the server for a change. */
const CHANGES = [
  'nbedit:accept-proposals',
  'nbedit:reject-proposals',
  'nbedit:keep-all',
  'nbedit:undo-all',
  'nbedit:keep-cell',
  'nbedit:undo-cell',
  'nbedit:keep-or-accept',
  'nbedit:undo-or-reject',
  'nbedit:undo-last',
  'nbedit:redo-last',
  'nbedit:forget-history'
];

const REASON = 'You have no right to change notebooks on this server.';

async function listEnabled(page: Page, commands: readonly string[]): Promise<string[]> {
  return page.evaluate(
    ids => ids.filter(id => window.jupyterapp.commands.isEnabled(id)),
    [...commands]
  );
}

async function isModeEnabled(page: Page): Promise<boolean> {
  return page.evaluate(() =>
    window.jupyterapp.commands.isEnabled('nbedit:set-mode', { scope: 'notebook', mode: 'plan' })
  );
}

test('Who may only read is told so, and is offered nothing that the server refuses', async ({
  agent,
  context,
  openWith,
  page
}) => {
  await setReadOnly(context, true);
  const { notebook, tab } = await openWith(makeManyCells(6));
  await notebook.edit([replace(1), { op: 'delete', cell: 'cell-id-3' }]);
  const toast = getToasts(page);
  await expect(toast.getByRole('button', { name: 'View' })).toBeVisible();
  await expect(toast.getByRole('button', { name: 'Undo' })).toHaveCount(0);
  await notebook.setMode('review');
  const proposed = replace(0, 'proposed = 0');
  const proposal = await notebook.propose([proposed]);
  const status = getModeStatus(page);
  const names = async (selector: string) =>
    tab.root.locator(selector).getByRole('button').allInnerTexts();

  await expect(status).toHaveText(/^Read only1 proposed/);
  await expect(status).toHaveAccessibleName(
    `${REASON} Agents: review first. This notebook: 1 change proposed.`
  );
  await expect(status).toHaveAttribute('title', new RegExp(`^${REASON}`));
  await expect.poll(async () => names('.jp-nbedit-proposal')).toEqual(['Show the cell']);
  await expect.poll(async () => names('.jp-nbedit-line')).toEqual(['Show']);
  await tab.mark(1).click();
  await expect.poll(async () => names('.jp-nbedit-change')).toEqual(['Close']);
  await expect(tab.changes).toContainText('theirs = 1');
  await expect.poll(async () => names('.jp-nbedit-bar-actions')).toEqual([]);
  await expect(tab.bar).toContainText('of 3');
  await expect(page.locator('.jp-mod-nbedit-unseen')).toHaveCount(0);

  const history = await HistoryPanel.show(page);
  await history.toggle(0).click();
  await expect(history.getCellDiffs(0)).toHaveCount(2);
  await expect(history.getRestoreButton(0)).toHaveCount(0);
  await expect(history.action(0, 'Undo')).toHaveCount(0);
  expect(await listEnabled(page, CHANGES)).toEqual([]);
  expect(await isModeEnabled(page)).toBe(false);
  expect(await listEnabled(page, ['nbedit:next-change', 'nbedit:show-history'])).toHaveLength(2);
  await history.runCommand('nbedit:review-proposals');
  const list = page.locator('#jp-nbedit-proposals');
  await expect(list.getByRole('listitem')).toHaveCount(1);
  await expect(list.getByRole('button')).toHaveCount(1);

  await test.step('The key for Accept does nothing in a block', async () => {
    const block = tab.proposals;
    await block.focus();
    await page.keyboard.press('y');
    await page.keyboard.press('n');
    expect((await agent.getProposal(proposal)).status).toBe('pending');
    await expect(block).toBeFocused();
  });

  await test.step('The page follows when the right is granted, and when it is lost', async () => {
    await setReadOnly(context, false);
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await expect(status).toHaveText(/^Agents: review first1 proposed · 2 unseen/);
    await expect
      .poll(async () => names('.jp-nbedit-proposal'))
      .toEqual(['Reject with a reason…', 'Edit first', 'Reject', 'Accept', 'Show the cell']);
    await expect.poll(async () => names('.jp-nbedit-line')).toEqual(['Show', 'Keep', 'Restore']);
    await expect.poll(async () => names('.jp-nbedit-change')).toEqual(['Close', 'Undo', 'Keep']);
    expect(await isModeEnabled(page)).toBe(true);
    await setReadOnly(context, true);
    await tab.root.getByRole('button', { name: 'Accept:' }).click();
    await expect(status).toHaveText(/^Read only/);
    await expect.poll(async () => names('.jp-nbedit-proposal')).toEqual(['Show the cell']);
    await expect.poll(async () => names('.jp-nbedit-line')).toEqual(['Show']);
  });
});

test('Who may only read decides on a conflict, which changes only the tab', async ({
  context,
  openWith,
  page
}) => {
  await setReadOnly(context, true);
  const refused: string[] = [];
  page.on('response', response => {
    if (response.status() === 403 && response.url().includes('/nbedit/')) {
      refused.push(response.url());
    }
  });
  const { notebook, tab } = await openWith(makeManyCells(3));
  await expect(getModeStatus(page)).toHaveText(/^Read only/);
  await tab.typeText(1, ' # mine');
  await notebook.edit([replace(1)]);
  const block = tab.blocks;
  await expect
    .poll(async () => block.getByRole('button').allInnerTexts())
    .toEqual(['Mine', 'Theirs', 'Both']);
  await block.focus();
  await page.keyboard.press('y');
  await expect.poll(async () => tab.getSource(1)).toBe('theirs = 1');
  await expect(tab.mark(1)).toBeVisible();
  expect(refused).toEqual([]);
});
