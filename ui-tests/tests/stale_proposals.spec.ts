import type { Locator } from '@playwright/test';
import type { Agent, Operation } from './agent';
import { expect, test } from './fixtures';
import type { Folder } from './folder';
import { formatNotebook, makeCodeCell } from './notebooks';
import type { Tab } from './tab';

const BASE = 'a = 1\nb = 2\nc = 3';
const THEIRS = 'a = 1\nb = 2\nc = 33';
/** Merges with the proposed text: the line between the changes is as it was. */
const FITTING = 'a = 11\nb = 2\nc = 3';
const MERGED = 'a = 11\nb = 2\nc = 33';
const CONFLICTING = 'a = 1\nb = 2\nc = 3  # mine';

interface Fixture {
  readonly tab: Tab;
  readonly path: string;
  readonly proposal: number;
  readonly block: Locator;
}

/** Propose a change of a cell of an open notebook. */
async function propose(
  agent: Agent,
  folder: Folder,
  open: (name: string) => Promise<Tab>,
  operation: Operation = { op: 'replace', source: THEIRS }
): Promise<Fixture> {
  const cells = ['first', 'stale', 'last'].map(id => makeCodeCell(id, BASE));
  folder.write('stale.ipynb', formatNotebook(cells));
  const path = folder.getPath('stale.ipynb');
  const tab = await open('stale.ipynb');
  await agent.setMode(path, 'review');
  const proposal = await agent.propose(path, [{ ...operation, cell: 'stale' }]);
  const block = tab.cell(1).locator('.jp-nbedit-proposal');
  await expect(block).toBeVisible();
  return { tab, path, proposal, block };
}

/** Replace the text of the cell, as its user types. */
async function type({ tab, block }: Fixture, source: string): Promise<void> {
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
  { tab }: Fixture,
  folder: Folder,
  shown: string,
  stored = shown
): Promise<void> {
  await expect.poll(async () => tab.getSource(1)).toBe(shown);
  expect(folder.readSources('stale.ipynb')).toEqual([BASE, stored, BASE]);
  await expect.poll(async () => tab.isDirty()).toBe(shown !== stored);
}

test.describe('A proposal for a cell that has changed since', () => {
  for (const isSaved of [true, false]) {
    const state = isSaved ? 'saved' : 'not saved';

    test(`at another line, and is ${state}, is merged, and says so @nightly`, async ({
      agent,
      folder,
      open
    }) => {
      const shown = await propose(agent, folder, open);
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
      await expectCell(shown, folder, MERGED, isSaved ? MERGED : THEIRS);
      expect((await agent.getProposal(shown.proposal)).status).toBe('accepted');
      if (!isSaved) {
        expect(await tab.save()).toBe('completed');
        await expectCell(shown, folder, MERGED);
      }
    });

    test(`at the same line, and is ${state}, gets theirs, and Undo brings back mine @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      const shown = await propose(agent, folder, open);
      const { tab, block } = shown;
      await type(shown, CONFLICTING);
      if (isSaved) {
        expect(await tab.save()).toBe('completed');
      }
      await expect(block.getByRole('alert')).toContainText('Theirs overwrites these lines');
      await expect(block.locator('.cm-deletedLine')).toHaveText(['-removed: c = 3  # mine']);
      await button(block, 'Theirs').click();
      await expect(block).toHaveCount(0);
      await expectCell(shown, folder, THEIRS);
      await page.getByRole('button', { name: 'Undo', exact: true }).click();
      await expectCell(shown, folder, CONFLICTING);
    });
  }

  test('at the same line keeps mine, and the agent reads why @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const shown = await propose(agent, folder, open);
    const { block, proposal } = shown;
    await type(shown, CONFLICTING);
    await expect(button(block, 'Mine')).toBeVisible();
    await block.getByRole('button', { name: /^Reject with a reason/ }).click();
    await page.keyboard.type('3 is right: see the manual');
    await page.keyboard.press('Enter');
    await expect(block).toHaveCount(0);
    await expectCell(shown, folder, CONFLICTING, BASE);
    expect(await agent.getProposal(proposal)).toMatchObject({
      status: 'rejected',
      reason: '3 is right: see the manual',
      parts: [{ status: 'rejected', reason: '3 is right: see the manual' }]
    });
  });

  test('at the same line can be edited first, while others change another line @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const shown = await propose(agent, folder, open);
    const { tab, path, block, proposal } = shown;
    await type(shown, CONFLICTING);
    await button(block, 'Edit first').click();
    const editor = block.locator('.cm-content[contenteditable="true"]');
    await expect(editor).toBeFocused();
    await page.keyboard.press('Control+End');
    // Y and N are letters here.
    await page.keyboard.type('  # why not, yes');
    // A change of another line is merged into what is edited.
    await agent.setMode(path, 'edit');
    const operation = { op: 'replace_text', cell: 'stale', old: 'a = 1', new: 'a = 11' };
    await agent.edit(path, [operation]);
    await expect(editor).toHaveText(/a = 11b = 2.*c = 33 {2}# why not, yes/);
    await button(block, 'Accept').click();
    await expect(block).toHaveCount(0);
    await expectCell(shown, folder, 'a = 11\nb = 2\nc = 33  # why not, yes');
    expect((await agent.getProposal(proposal)).status).toBe('accepted');
    await expect.poll(async () => tab.isDirty()).toBe(false);
  });

  test('is not deleted without asking @nightly', async ({ agent, folder, open }) => {
    const shown = await propose(agent, folder, open, { op: 'delete' });
    const { tab, block } = shown;
    // The cell is shown once, by the block.
    await expect(tab.editor(1)).toBeHidden();
    await type(shown, CONFLICTING);
    await expect(block.getByRole('alert')).toContainText('Theirs deletes it');
    await expect(button(block, 'Edit first')).toHaveCount(0);
    await button(block, 'Theirs').click();
    await expect.poll(async () => tab.getIds()).toEqual(['first', 'last']);
    expect(folder.readSources('stale.ipynb')).toEqual([BASE, BASE]);
    await expect.poll(async () => tab.isDirty()).toBe(false);
  });

  test('and is gone can be inserted as a new cell @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const shown = await propose(agent, folder, open);
    const { tab, proposal } = shown;
    await tab.cell(0).click();
    await page.keyboard.press('Escape');
    for (const key of ['ArrowDown', 'd', 'd']) {
      await page.keyboard.press(key);
    }
    await expect.poll(async () => tab.getIds()).toEqual(['first', 'last']);
    const block = tab.root.locator('.jp-nbedit-proposal');
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
    folder,
    open
  }) => {
    const shown = await propose(agent, folder, open);
    const { tab, path } = shown;
    const operations = (source: string) => [{ op: 'replace', cell: 'stale', source }];
    const fitting = await agent.propose(path, operations(FITTING), { client: 'Codex' });
    const conflicting = await agent.propose(path, operations('a = 1\nb = 2\nc = 4'), {
      client: 'Gemini'
    });
    const blocks = tab.cell(1).locator('.jp-nbedit-proposal');
    await expect(blocks).toHaveCount(3);
    const claude = blocks.filter({ hasText: 'Claude proposes' });
    const codex = blocks.filter({ hasText: 'Codex proposes' });
    const gemini = blocks.filter({ hasText: 'Gemini proposes' });
    await button(claude, 'Accept').click();
    await expect(claude).toHaveCount(0);
    await expectCell(shown, folder, THEIRS);
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
    await expectCell(shown, folder, MERGED);
    await button(gemini, 'Mine').click();
    await expect(gemini).toHaveCount(0);
    await expectCell(shown, folder, MERGED);
    const statuses = [shown.proposal, fitting, conflicting].map(async id =>
      agent.getProposal(id).then(({ status }) => status)
    );
    expect(await Promise.all(statuses)).toEqual(['accepted', 'accepted', 'rejected']);
  });

  test('right when its user accepts is shown again, and is not overwritten @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const shown = await propose(agent, folder, open);
    const { tab, path, block } = shown;
    await type(shown, CONFLICTING);
    expect(await tab.save()).toBe('completed');
    await expect(button(block, 'Theirs')).toBeVisible();
    await agent.setMode(path, 'edit');
    // The tab does not know of the other edit yet when its user decides.
    let release = (): void => undefined;
    const held = new Promise<void>(resolve => (release = resolve));
    await page.route('**/nbedit/notebooks/**view=nbformat*', async route => {
      await held;
      await route.continue();
    });
    await agent.edit(path, [{ op: 'replace', cell: 'stale', source: 'a = 1\nb = 2\nc = 5' }]);
    await button(block, 'Theirs').click();
    await expect(block.getByRole('alert')).toContainText('Not accepted');
    release();
    await expect(block.locator('.cm-deletedLine')).toHaveText(['-removed: c = 5']);
    await button(block, 'Theirs').click();
    await expect(block).toHaveCount(0);
    await expectCell(shown, folder, THEIRS);
  });
});
