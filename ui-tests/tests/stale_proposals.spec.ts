import type { Locator } from '@playwright/test';
import { expect, test, type TestArgs } from './fixtures';
import { holdRequests } from './lab';
import type { Notebook } from './notebook';
import { makeCodeCell, replace } from './notebooks';
import type { Tab } from './tab';

const BASE = 'a = 1\nb = 2\nc = 3';
const THEIRS = 'a = 1\nb = 2\nc = 33';
/** Merges with the proposed text: the line between the changes is as it was. */
const FITTING = 'a = 11\nb = 2\nc = 3';
const MERGED = 'a = 11\nb = 2\nc = 33';
const CONFLICTING = 'a = 1\nb = 2\nc = 3  # mine';

interface StaleProposal {
  readonly notebook: Notebook;
  readonly tab: Tab;
  readonly proposal: number;
  readonly block: Locator;
}

/** Propose a change of a cell of an open notebook. */
async function propose(openWith: TestArgs['openWith']): Promise<StaleProposal> {
  const cells = ['first', 'stale', 'last'].map(id => makeCodeCell(id, BASE));
  const { notebook, tab } = await openWith(cells);
  const proposal = await notebook.propose([replace('stale', THEIRS)]);
  const block = tab.proposal(1);
  await expect(block).toBeVisible();
  return { notebook, tab, proposal, block };
}

/** Replace the text of the cell, as its user types. */
async function type({ tab, block }: StaleProposal, source: string): Promise<void> {
  await block.getByRole('button', { name: 'Show the cell' }).click();
  await tab.editor(1).click();
  const { page } = tab;
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(source);
  await page.keyboard.press('Escape');
}

const button = (block: Locator, text: string): Locator => block.getByText(text, { exact: true });

/** Check the cell in the tab and in the file. */
async function expectCell(
  { notebook, tab }: StaleProposal,
  shown: string,
  stored = shown
): Promise<void> {
  await expect.poll(async () => tab.getSource(1)).toBe(shown);
  expect(notebook.readSources()).toEqual([BASE, stored, BASE]);
  await expect.poll(async () => tab.isDirty()).toBe(shown !== stored);
}

test.describe('A proposal for a cell that has changed since', () => {
  for (const isSaved of [true, false]) {
    const state = isSaved ? 'saved' : 'not saved';

    test(`at another line, and is ${state}, is merged, and says so @nightly`, async ({
      agent,
      openWith
    }) => {
      const shown = await propose(openWith);
      const { tab, block } = shown;
      await type(shown, FITTING);
      if (isSaved) {
        expect(await tab.save()).toBe('completed');
      }
      await expect(block.getByRole('alert')).toContainText('this is the cell with both');
      await expect(block.locator('.cm-line, .cm-deletedLine')).toHaveText([
        'a = 11',
        'b = 2',
        '-removed: c = 3',
        '+added: c = 33'
      ]);
      await button(block, 'Accept').click();
      await expect(block).toHaveCount(0);
      await expectCell(shown, MERGED, isSaved ? MERGED : THEIRS);
      expect((await agent.getProposal(shown.proposal)).status).toBe('accepted');
      if (!isSaved) {
        expect(await tab.save()).toBe('completed');
        await expectCell(shown, MERGED);
      }
    });

    test(`at the same line, and is ${state}, gets theirs, and Undo brings back mine @nightly`, async ({
      openWith,
      page
    }) => {
      const shown = await propose(openWith);
      const { tab, block } = shown;
      await type(shown, CONFLICTING);
      if (isSaved) {
        expect(await tab.save()).toBe('completed');
      }
      await expect(block.getByRole('alert')).toContainText('Theirs overwrites these lines');
      await expect(block.locator('.cm-deletedLine')).toHaveText(['-removed: c = 3  # mine']);
      await button(block, 'Theirs').click();
      await expect(block).toHaveCount(0);
      await expectCell(shown, THEIRS);
      await page.getByRole('button', { name: 'Undo', exact: true }).click();
      await expectCell(shown, CONFLICTING);
    });
  }

  test('at the same line can be edited first, while others change another line @nightly', async ({
    agent,
    openWith,
    page
  }) => {
    const shown = await propose(openWith);
    const { tab, notebook, block, proposal } = shown;
    await type(shown, CONFLICTING);
    await button(block, 'Edit first').click();
    const editor = block.locator('.cm-content[contenteditable="true"]');
    await expect(editor).toBeFocused();
    await page.keyboard.press('Control+End');
    // Y and N are letters here.
    await page.keyboard.type('  # why not, yes');
    // A change of another line is merged into what is edited.
    await notebook.setMode('edit');
    const operation = { op: 'replace_text', cell: 'stale', old: 'a = 1', new: 'a = 11' };
    await notebook.edit([operation]);
    await expect(editor).toHaveText(/a = 11b = 2.*c = 33 {2}# why not, yes/);
    await button(block, 'Accept').click();
    await expect(block).toHaveCount(0);
    await expectCell(shown, 'a = 11\nb = 2\nc = 33  # why not, yes');
    expect((await agent.getProposal(proposal)).status).toBe('accepted');
    await expect.poll(async () => tab.isDirty()).toBe(false);
  });

  test('and is gone can be inserted as a new cell @nightly', async ({ agent, openWith, page }) => {
    const shown = await propose(openWith);
    const { tab, proposal } = shown;
    await tab.cell(0).click();
    await page.keyboard.press('Escape');
    for (const key of ['ArrowDown', 'd', 'd']) {
      await page.keyboard.press(key);
    }
    await expect.poll(async () => tab.getIds()).toEqual(['first', 'last']);
    const block = tab.proposals;
    await expect(block.getByRole('alert')).toContainText('The cell is gone.');
    await button(block, 'Insert as a new cell').click();
    await expect(block).toHaveCount(0);
    // The proposal is decided before the cell is inserted.
    await expect.poll(async () => tab.getSources()).toEqual([BASE, THEIRS, BASE]);
    expect(await agent.getProposal(proposal)).toMatchObject({
      status: 'rejected',
      reason: 'The cell was gone. The user has inserted the text as a new cell.'
    });
  });

  test('because another agent’s was accepted is shown against the new text @nightly', async ({
    agent,
    openWith
  }) => {
    const shown = await propose(openWith);
    const { tab, notebook } = shown;
    const operations = (source: string) => [replace('stale', source)];
    const fitting = await notebook.propose(operations(FITTING), { client: 'Codex' });
    const conflicting = await notebook.propose(operations('a = 1\nb = 2\nc = 4'), {
      client: 'Gemini'
    });
    const blocks = tab.proposal(1);
    await expect(blocks).toHaveCount(3);
    const claude = blocks.filter({ hasText: 'Claude proposes' });
    const codex = blocks.filter({ hasText: 'Codex proposes' });
    const gemini = blocks.filter({ hasText: 'Gemini proposes' });
    await button(claude, 'Accept').click();
    await expect(claude).toHaveCount(0);
    await expectCell(shown, THEIRS);
    await expect(codex.getByRole('alert')).toContainText('this is the cell with both');
    await expect(codex.locator('.cm-line, .cm-deletedLine')).toHaveText([
      '-removed: a = 1',
      '+added: a = 11',
      'b = 2',
      'c = 33'
    ]);
    await expect(gemini.getByRole('alert')).toContainText('Theirs overwrites these lines');
    await expect(gemini.locator('.cm-deletedLine')).toHaveText(['-removed: c = 33']);
    await button(codex, 'Accept').click();
    await expect(codex).toHaveCount(0);
    await expectCell(shown, MERGED);
    await button(gemini, 'Mine').click();
    await expect(gemini).toHaveCount(0);
    await expectCell(shown, MERGED);
    const statuses = [shown.proposal, fitting, conflicting].map(async id =>
      agent.getProposal(id).then(({ status }) => status)
    );
    expect(await Promise.all(statuses)).toEqual(['accepted', 'accepted', 'rejected']);
  });

  test('right when its user accepts is shown again, and is not overwritten @nightly', async ({
    openWith,
    page
  }) => {
    const shown = await propose(openWith);
    const { tab, notebook, block } = shown;
    await type(shown, CONFLICTING);
    expect(await tab.save()).toBe('completed');
    await expect(button(block, 'Theirs')).toBeVisible();
    await notebook.setMode('edit');
    // The tab does not know of the other edit yet when its user decides.
    const reads = await holdRequests(page, /\/nbedit\/notebooks\/.*view=nbformat/);
    await notebook.edit([replace('stale', 'a = 1\nb = 2\nc = 5')]);
    await button(block, 'Theirs').click();
    await expect(block.getByRole('alert')).toContainText('Not accepted');
    reads.release();
    await expect(block.locator('.cm-deletedLine')).toHaveText(['-removed: c = 5']);
    await button(block, 'Theirs').click();
    await expect(block).toHaveCount(0);
    await expectCell(shown, THEIRS);
  });
});
