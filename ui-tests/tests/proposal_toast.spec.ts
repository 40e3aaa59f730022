import { findViolations } from './axe';
import type { Locator, Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { makeManyCells, replace } from './notebooks';
import { changeSettings } from './settings';
import type { Tab } from './tab';

const toastOf = (page: Page, text: string | RegExp): Locator => getToasts(page, text);

/** Return the block of the change that is proposed for a cell. */
async function expectFocusInBlock(tab: Tab, index: number): Promise<void> {
  await expect.poll(async () => tab.isInView(index)).toBe(true);
  await expect
    .poll(async () => tab.block(index).evaluate(node => node.contains(document.activeElement)))
    .toBe(true);
}

test.describe('A proposal is announced by a toast', () => {
  test('for the notebook in front if it is out of sight, and "Review" goes to it', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(40), { name: 'a.ipynb' });
    await notebook.setMode('review');
    await tab.placeCaret(1);
    const before = await tab.getViewState();
    await notebook.propose([replace(30), replace(32), replace(35)], {
      message: 'Drop the test account'
    });
    const toast = getToasts(page);
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

  test('not if the first change is in sight @nightly', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    await notebook.propose([replace(0), replace(3)]);
    await expect(tab.block(0)).toBeVisible();
    await tab.waitFrames(60);
    await expect(getToasts(page)).toHaveCount(0);
  });

  test('for a notebook behind, in place, until all of it is decided', async ({
    agent,
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(6), 'behind.ipynb');
    const front = create(makeManyCells(3));
    const behind = await open(notebook.name);
    await open(front.name);
    const id = await notebook.propose([replace(1), replace(2)], { message: 'Simpler' });
    const toast = getToasts(page);
    await expect(toast).toHaveText(/^Claude proposes 2 changes to behind\.ipynb: Simpler/);
    expect(await findViolations(toast)).toEqual([]);
    await notebook.propose([replace(4)], { message: 'Shorter' });
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
    create,
    openWith,
    page
  }) => {
    const notebook = create(makeManyCells(3), 'gone.ipynb');
    await openWith(makeManyCells(3));
    const id = await notebook.propose([replace(1)]);
    const toast = getToasts(page);
    await expect(toast).toHaveText(/^Claude proposes 1 change to gone\.ipynb/);
    await agent.reject(id);
    await expect(toast).toHaveCount(0);
  });

  test('for a closed notebook, which "Review" opens, and for a new one, which it lists', async ({
    agent,
    create,
    folder,
    openWith,
    page
  }) => {
    const notebook = create(makeManyCells(30));
    await openWith(makeManyCells(3));
    await notebook.setMode('review');
    // A mode is a notebook's or the server's, and the server is other tests' as well.
    const fresh = create([]);
    await fresh.setMode('review');
    folder.remove(fresh.name);
    await notebook.propose([replace(25)]);
    await agent.proposeNew(fresh.path, [{ cell_type: 'code', source: 'new' }]);
    const toasts = getToasts(page);
    await expect(toasts).toHaveCount(2);
    await toastOf(page, fresh.name).getByRole('button', { name: 'Review' }).click();
    await expect(page.locator('.jp-nbedit-proposals')).toContainText(fresh.name);
    await toastOf(page, notebook.name).getByRole('button', { name: 'Review' }).click();
    const block = page.locator('.jp-nbedit-block');
    await expect(block).toContainText('theirs = 25');
    await expect
      .poll(async () => block.evaluate(node => node.contains(document.activeElement)))
      .toBe(true);
  });

  test('once for all that there were when the page was loaded @nightly', async ({
    agent,
    create,
    openWith,
    page
  }) => {
    const notebooks = [1, 2].map(() => create(makeManyCells(4)));
    const ids: number[] = [];
    for (const notebook of notebooks) {
      ids.push(await notebook.propose([replace(1), replace(2)]));
    }
    await openWith(makeManyCells(4));
    const toast = getToasts(page);
    await expect(toast).toHaveText('Claude proposes 4 changes in 2 notebooksReview');
    await toast.getByRole('button', { name: 'Review' }).click();
    await expect(page.locator('.jp-nbedit-proposals')).toContainText(notebooks[0].name);
    for (const id of ids) {
      await agent.reject(id);
    }
  });

  test('as the setting for toasts says @nightly', async ({ create, open, openWith, page }) => {
    const notebook = create(makeManyCells(40));
    const { notebook: behind } = await openWith(makeManyCells(3), { name: 'behind.ipynb' });
    const tab = await open(notebook.name);
    await changeSettings(page, { toasts: 'none' });
    const read = page.waitForResponse(
      async reply =>
        reply.url().includes('/nbedit/proposals?') && (await reply.text()).includes('Silent')
    );
    await behind.propose([replace(0)], { client: 'Silent' });
    await read;
    await changeSettings(page, { toasts: 'background' });
    await notebook.propose([replace(30)], { client: 'Front' });
    await expect(tab.bar).toContainText('Front proposes 1 change');
    await behind.propose([replace(1)], { client: 'Behind' });
    await expect(getToasts(page)).toHaveText(/^Behind proposes 1 change to behind\.ipynb/);
  });
});
