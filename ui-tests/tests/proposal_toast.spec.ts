import type { Locator, Page } from '@playwright/test';
import { findViolations } from './axe';
import { expect, test } from './fixtures';
import { formatNotebook, makeManyCells } from './notebooks';
import { setTheme, THEMES } from './pictures';
import { changeSettings } from './settings';
import type { Tab } from './tab';

const replace = (...indexes: number[]) =>
  indexes.map(index => ({
    op: 'replace',
    cell: `cell-id-${index}`,
    source: `theirs = ${index}`
  }));

const toastOf = (page: Page, text: string | RegExp): Locator =>
  page.locator('.Toastify__toast', { hasText: text });

/** Return the block of the change that is proposed for a cell. */
function getBlock(tab: Tab, index: number): Locator {
  return tab.cell(index).locator('.jp-nbedit-block');
}

async function expectFocusInBlock(tab: Tab, index: number): Promise<void> {
  await expect.poll(async () => tab.isInView(index)).toBe(true);
  await expect
    .poll(async () => getBlock(tab, index).evaluate(node => node.contains(document.activeElement)))
    .toBe(true);
}

test.describe('A proposal is announced by a toast', () => {
  test('for the notebook in front if it is out of sight, and "Review" goes to it', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('a.ipynb', formatNotebook(makeManyCells(40)));
    const path = folder.getPath('a.ipynb');
    const tab = await open('a.ipynb');
    await agent.setMode(path, 'review');
    await tab.placeCaret(1);
    const before = await tab.getViewState();
    await agent.propose(path, replace(30, 32, 35), { message: 'Drop the test account' });
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText(
      /^Claude proposes 3 changes to a\.ipynb: Drop the test accountReview$/
    );
    expect(await tab.getViewState()).toMatchObject({
      activeCellId: before.activeCellId,
      mode: 'edit',
      focused: before.focused
    });
    await toast.getByRole('button', { name: 'Review' }).click();
    await expectFocusInBlock(tab, 30);
    await expect(toast).toHaveCount(0);
  });

  test('not if the first change is in sight @nightly', async ({ agent, folder, open, page }) => {
    folder.write('seen.ipynb', formatNotebook(makeManyCells(6)));
    const path = folder.getPath('seen.ipynb');
    const tab = await open('seen.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, replace(0, 3));
    await expect(getBlock(tab, 0)).toBeVisible();
    await tab.waitFrames(60);
    await expect(page.locator('.Toastify__toast')).toHaveCount(0);
  });

  test('for a notebook behind, in place, until all of it is decided', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('behind.ipynb', formatNotebook(makeManyCells(6)));
    folder.write('front.ipynb', formatNotebook(makeManyCells(3)));
    const path = folder.getPath('behind.ipynb');
    const behind = await open('behind.ipynb');
    await open('front.ipynb');
    await agent.setMode(path, 'review');
    const id = await agent.propose(path, replace(1, 2), { message: 'Simpler' });
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText(/^Claude proposes 2 changes to behind\.ipynb: Simpler/);
    await agent.propose(path, replace(4), { message: 'Shorter' });
    await expect(toast).toHaveText(
      /^Claude proposes 3 changes to behind\.ipynb: Shorter, and 1 more/
    );
    await agent.reject(id, [0]);
    await expect(toast).toHaveText(/^Claude proposes 2 changes to behind\.ipynb/);
    await agent.reject(id);
    await expect(toast).toHaveText(/^Claude proposes 1 change to behind\.ipynb: Shorter/);
    await toast.getByRole('button', { name: 'Review' }).click();
    await expect.poll(async () => behind.isInFront()).toBe(true);
    await expectFocusInBlock(behind, 4);
  });

  test('and it goes when somebody else has decided @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('gone.ipynb', formatNotebook(makeManyCells(3)));
    folder.write('front.ipynb', formatNotebook(makeManyCells(3)));
    const path = folder.getPath('gone.ipynb');
    await open('front.ipynb');
    await agent.setMode(path, 'review');
    const id = await agent.propose(path, replace(1));
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText(/^Claude proposes 1 change to gone\.ipynb/);
    await agent.reject(id);
    await expect(toast).toHaveCount(0);
  });

  test('for a closed notebook, which "Review" opens, and for a new one, which it lists', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('closed.ipynb', formatNotebook(makeManyCells(30)));
    folder.write('front.ipynb', formatNotebook(makeManyCells(3)));
    const path = folder.getPath('closed.ipynb');
    await open('front.ipynb');
    await agent.setMode(path, 'review');
    // A mode is a notebook's or the server's, and the server is other tests' as well.
    folder.write('new.ipynb', formatNotebook([]));
    await agent.setMode(folder.getPath('new.ipynb'), 'review');
    folder.remove('new.ipynb');
    await agent.propose(path, replace(25));
    await agent.proposeNew(folder.getPath('new.ipynb'), [{ cell_type: 'code', source: 'new' }]);
    const toasts = page.locator('.Toastify__toast');
    await expect(toasts).toHaveCount(2);
    await toastOf(page, 'new.ipynb').getByRole('button', { name: 'Review' }).click();
    await expect(page.locator('.jp-nbedit-proposals')).toContainText('new.ipynb');
    await toastOf(page, 'closed.ipynb').getByRole('button', { name: 'Review' }).click();
    const block = page.locator('.jp-nbedit-block');
    await expect(block).toContainText('theirs = 25');
    await expect
      .poll(async () => block.evaluate(node => node.contains(document.activeElement)))
      .toBe(true);
  });

  test('once for all that there were when the page was loaded @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    for (const name of ['a.ipynb', 'b.ipynb', 'front.ipynb']) {
      folder.write(name, formatNotebook(makeManyCells(4)));
    }
    const ids: number[] = [];
    for (const name of ['a.ipynb', 'b.ipynb']) {
      await agent.setMode(folder.getPath(name), 'review');
      ids.push(await agent.propose(folder.getPath(name), replace(1, 2)));
    }
    await open('front.ipynb');
    const toast = page.locator('.Toastify__toast');
    await expect(toast).toHaveText('Claude proposes 4 changes in 2 notebooksReview');
    await toast.getByRole('button', { name: 'Review' }).click();
    await expect(page.locator('.jp-nbedit-proposals')).toContainText('a.ipynb');
    for (const id of ids) {
      await agent.reject(id);
    }
  });

  test('as the setting for toasts says @nightly', async ({ agent, folder, open, page }) => {
    folder.write('a.ipynb', formatNotebook(makeManyCells(40)));
    folder.write('b.ipynb', formatNotebook(makeManyCells(3)));
    await open('b.ipynb');
    const tab = await open('a.ipynb');
    for (const name of ['a.ipynb', 'b.ipynb']) {
      await agent.setMode(folder.getPath(name), 'review');
    }
    await changeSettings(page, { toasts: 'none' });
    const read = page.waitForResponse(
      async reply =>
        reply.url().includes('/nbedit/proposals?') && (await reply.text()).includes('Silent')
    );
    await agent.propose(folder.getPath('b.ipynb'), replace(0), { client: 'Silent' });
    await read;
    await changeSettings(page, { toasts: 'background' });
    await agent.propose(folder.getPath('a.ipynb'), replace(30), { client: 'Front' });
    await expect(tab.root.getByRole('region', { name: 'Changes by agents' })).toContainText(
      'Front proposes 1 change'
    );
    await agent.propose(folder.getPath('b.ipynb'), replace(1), { client: 'Behind' });
    await expect(page.locator('.Toastify__toast')).toHaveText(
      /^Behind proposes 1 change to b\.ipynb/
    );
  });

  for (const theme of THEMES) {
    test(`in which axe-core finds no problem: ${theme} @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      folder.write('a.ipynb', formatNotebook(makeManyCells(3)));
      folder.write('front.ipynb', formatNotebook(makeManyCells(3)));
      await open('front.ipynb');
      await setTheme(page, theme);
      await agent.setMode(folder.getPath('a.ipynb'), 'review');
      await agent.propose(folder.getPath('a.ipynb'), replace(1), { message: 'Why' });
      const toast = page.locator('.Toastify__toast');
      await expect(toast).toHaveText(/Why/);
      expect(await findViolations(toast)).toEqual([]);
    });
  }
});
