import type { Locator, Page } from '@playwright/test';
import { expect, test } from '../fixtures';
import { formatNotebook, makeManyCells } from '../notebooks';
import type { Tab } from '../tab';

function getBar(tab: Tab): Locator {
  return tab.root.getByRole('region', { name: 'Changes by agents' });
}

function getBlock(tab: Tab, index: number): Locator {
  return tab.cell(index).locator('.jp-nbedit-block');
}

async function runCommand(page: Page, command: string): Promise<void> {
  await page.evaluate(async command => {
    await window.jupyterapp.commands.execute(command);
  }, command);
}

test.describe('In a collaborative tab, a user', () => {
  test('keeps a change, undoes another one and restores a deleted cell', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('keep.ipynb', formatNotebook(makeManyCells(6)));
    const expected = folder.readSources('keep.ipynb');
    const path = folder.getPath('keep.ipynb');
    const tab = await open('keep.ipynb');
    expect(await tab.isCollaborative()).toBe(true);
    await agent.edit(
      path,
      [
        { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' },
        { op: 'replace', cell: 'cell-id-2', source: 'theirs = 2' },
        { op: 'delete', cell: 'cell-id-4' }
      ],
      'Claude'
    );
    await expect(getBar(tab)).toContainText('Claude changed 2 cells, deleted 1');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 2]);

    await runCommand(page, 'nbedit:next-change');
    await expect(getBlock(tab, 1)).toBeFocused();
    await page.keyboard.press('y');
    await expect(getBlock(tab, 2)).toBeFocused();
    await page.keyboard.press('n');
    await expect(tab.editor(2)).toContainText('first_2');
    await tab.root
      .locator('.jp-nbedit-line')
      .getByRole('button', { name: /^Restore/ })
      .click();
    expected[1] = 'theirs = 1';
    await expect.poll(async () => tab.getSources()).toEqual(expected);
    await expect(getBar(tab)).toBeHidden();
    await expect(() => expect(folder.readSources('keep.ipynb')).toEqual(expected)).toPass();
  });

  test('sees an appended line alone, and has the marks again after an undone undo', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('again.ipynb', formatNotebook(makeManyCells(4)));
    const [original] = folder.readSources('again.ipynb');
    const path = folder.getPath('again.ipynb');
    const tab = await open('again.ipynb');
    const source = `${original}\nappended = 1`;
    await agent.edit(path, [{ op: 'replace', cell: 'cell-id-0', source }], 'Claude');
    await tab.mark(0).click();
    await expect(getBlock(tab, 0).locator('.cm-changedLine')).toHaveText(['+added: appended = 1']);
    await expect(getBlock(tab, 0).locator('.cm-deletedLine')).toHaveCount(0);
    await getBar(tab).getByRole('button', { name: 'Undo all changes' }).click();
    await expect.poll(async () => tab.getSource(0)).toBe(original);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    const toast = page.locator('.Toastify__toast', { hasText: 'Undone: 1 change' });
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSource(0)).toBe(source);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0]);
  });

  test('undoes a change while agents are paused, which a program cannot', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('paused.ipynb', formatNotebook(makeManyCells(6)));
    const expected = folder.readSources('paused.ipynb');
    const path = folder.getPath('paused.ipynb');
    const tab = await open('paused.ipynb');
    const operation = { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' };
    const { edit_id: number } = await agent.edit(path, [operation], 'Claude');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    await agent.setMode(path, 'plan');
    await expect(agent.undo(path, number, 'JupyterLab')).rejects.toThrow('plan_mode');
    await runCommand(page, 'nbedit:next-change');
    await expect(getBlock(tab, 1)).toBeFocused();
    await page.keyboard.press('n');
    await expect.poll(async () => tab.getSources()).toEqual(expected);
  });

  test('sees what was changed while the notebook was closed @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('closed.ipynb', formatNotebook(makeManyCells(4)));
    await agent.edit(
      folder.getPath('closed.ipynb'),
      [{ op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' }],
      'Claude'
    );
    const tab = await open('closed.ipynb');
    await expect(getBar(tab)).toContainText('Claude changed 1 cell');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    await runCommand(page, 'nbedit:undo-all');
    await expect(getBar(tab)).toBeHidden();
    expect(await tab.getSource(1)).not.toBe('theirs = 1');
  });

  test('accepts a proposal that is merged with what was typed since, and rejects one', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('review.ipynb', formatNotebook(makeManyCells(5)));
    const path = folder.getPath('review.ipynb');
    const expected = folder.readSources('review.ipynb');
    const [, cell] = expected;
    const tab = await open('review.ipynb');
    await agent.setMode(path, 'review');
    const proposed = `theirs = 1\n${cell}`;
    const id = await agent.propose(path, [
      { op: 'replace', cell: 'cell-id-1', source: proposed },
      { op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' }
    ]);
    await expect(tab.root.locator('.jp-nbedit-block')).toHaveCount(2);
    // The line after the last one: an unchanged one is between both changes.
    await getBlock(tab, 1).getByRole('button', { name: 'Show the cell' }).click();
    await tab.typeText(1, '\nmine = 1');
    await expect(() =>
      expect(folder.readSources('review.ipynb')[1]).toContain('mine = 1')
    ).toPass();
    await expect(getBlock(tab, 1)).toContainText('Both changes fit together');
    await page.keyboard.press('Escape');
    await runCommand(page, 'nbedit:next-change');
    await expect(getBlock(tab, 1)).toBeFocused();
    await page.keyboard.press('y');
    await expect(getBlock(tab, 3)).toBeFocused();
    await page.keyboard.press('n');
    expected[1] = `${proposed}\nmine = 1`;
    await expect.poll(async () => tab.getSources()).toEqual(expected);
    await expect
      .poll(async () => (await agent.getProposal(id)).parts.map(({ status }) => status))
      .toEqual(['accepted', 'rejected']);
    await expect(() => expect(folder.readSources('review.ipynb')).toEqual(expected)).toPass();
  });

  test('goes on to type about a proposal while its cell moves', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('moves.ipynb', formatNotebook(makeManyCells(6)));
    const path = folder.getPath('moves.ipynb');
    const tab = await open('moves.ipynb');
    const expected = await tab.getSources();
    await agent.setMode(path, 'review');
    await agent.propose(path, [{ op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' }]);
    await agent.setMode(path, 'edit');
    await getBlock(tab, 1).getByText('Reject with a reason…').click();
    await page.keyboard.type('not ');
    await agent.edit(path, [{ op: 'move', cell: 'cell-id-1', at: 'end' }], 'Claude');
    const reason = getBlock(tab, 5).getByRole('textbox', { name: 'Reason, for the agent:' });
    await expect(reason).toBeFocused();
    await page.keyboard.type('today');
    await expect(reason).toHaveValue('not today');
    expected.push(...expected.splice(1, 1));
    await expect.poll(async () => tab.getSources()).toEqual(expected);
  });

  test('is not asked about a conflict: the room merges what both type @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('both.ipynb', formatNotebook(makeManyCells(3)));
    const tab = await open('both.ipynb');
    await tab.typeText(1, '  # mine');
    await agent.edit(
      folder.getPath('both.ipynb'),
      [{ op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' }],
      'Claude'
    );
    await expect(tab.editor(1)).toContainText('theirs = 1');
    await expect(getBar(tab)).toContainText('Claude changed 1 cell');
    await expect(tab.root.locator('.jp-nbedit-conflict-mark')).toHaveCount(0);
    await expect(tab.page.locator('.Toastify__toast', { hasText: 'both changed' })).toHaveCount(0);
  });
});
