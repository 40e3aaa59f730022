import { expect, test } from '../fixtures';
import { getToasts, runCommand } from '../lab';
import { makeManyCells, replace } from '../notebooks';

test.describe('In a collaborative tab, a user', () => {
  test('keeps a change, undoes another one and restores a deleted cell', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    const expected = notebook.readSources();
    expect(await tab.isCollaborative()).toBe(true);
    await notebook.edit([replace(1), replace(2), { op: 'delete', cell: 'cell-id-4' }], 'Claude');
    await expect(tab.bar).toContainText('Claude changed 2 cells, deleted 1');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 2]);

    await runCommand(page, 'nbedit:next-change');
    await expect(tab.block(1)).toBeFocused();
    await page.keyboard.press('y');
    await expect(tab.block(2)).toBeFocused();
    await page.keyboard.press('n');
    await expect(tab.editor(2)).toContainText('first_2');
    await tab.root
      .locator('.jp-nbedit-line')
      .getByRole('button', { name: /^Restore/ })
      .click();
    expected[1] = 'theirs = 1';
    await expect.poll(async () => tab.getSources()).toEqual(expected);
    await expect(tab.bar).toBeHidden();
    await expect(() => expect(notebook.readSources()).toEqual(expected)).toPass();
  });

  test('sees an appended line alone, and has the marks again after an undone undo', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(4));
    const [original] = notebook.readSources();
    const source = `${original}\nappended = 1`;
    await notebook.edit([{ op: 'replace', cell: 'cell-id-0', source }], 'Claude');
    await tab.mark(0).click();
    await expect(tab.block(0).locator('.cm-changedLine')).toHaveText(['+added: appended = 1']);
    await expect(tab.block(0).locator('.cm-deletedLine')).toHaveCount(0);
    await tab.bar.getByRole('button', { name: 'Undo all changes' }).click();
    await expect.poll(async () => tab.getSource(0)).toBe(original);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    const toast = getToasts(page, 'Undone: 1 change');
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSource(0)).toBe(source);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0]);
  });

  test('undoes a change while agents are paused, which a program cannot', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    const expected = notebook.readSources();
    const operation = replace(1);
    const { edit_id: number } = await notebook.edit([operation], 'Claude');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    await notebook.setMode('plan');
    await expect(notebook.undo(number, 'JupyterLab')).rejects.toThrow('plan_mode');
    await runCommand(page, 'nbedit:next-change');
    await expect(tab.block(1)).toBeFocused();
    await page.keyboard.press('n');
    await expect.poll(async () => tab.getSources()).toEqual(expected);
  });

  test('sees what was changed while the notebook was closed @nightly', async ({
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(4));
    await notebook.edit([replace(1)], 'Claude');
    const tab = await open(notebook.name);
    await expect(tab.bar).toContainText('Claude changed 1 cell');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    await runCommand(page, 'nbedit:undo-all');
    await expect(tab.bar).toBeHidden();
    expect(await tab.getSource(1)).not.toBe('theirs = 1');
  });

  test('accepts a proposal that is merged with what was typed since, and rejects one', async ({
    agent,
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(5));
    const expected = notebook.readSources();
    const [, cell] = expected;
    const tab = await open(notebook.name);
    await notebook.setMode('review');
    const proposed = `theirs = 1\n${cell}`;
    const id = await notebook.propose([replace(1, proposed), replace(3)]);
    await expect(tab.blocks).toHaveCount(2);
    // The line after the last one: an unchanged one is between both changes.
    await tab.block(1).getByRole('button', { name: 'Show the cell' }).click();
    await tab.typeText(1, '\nmine = 1');
    await expect(() => expect(notebook.readSources()[1]).toContain('mine = 1')).toPass();
    await expect(tab.block(1)).toContainText('Both changes fit together');
    await page.keyboard.press('Escape');
    await runCommand(page, 'nbedit:next-change');
    await expect(tab.block(1)).toBeFocused();
    await page.keyboard.press('y');
    await expect(tab.block(3)).toBeFocused();
    await page.keyboard.press('n');
    expected[1] = `${proposed}\nmine = 1`;
    await expect.poll(async () => tab.getSources()).toEqual(expected);
    await expect
      .poll(async () => (await agent.getProposal(id)).parts.map(({ status }) => status))
      .toEqual(['accepted', 'rejected']);
    await expect(() => expect(notebook.readSources()).toEqual(expected)).toPass();
  });

  test('goes on to type about a proposal while its cell moves', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    const expected = await tab.getSources();
    await notebook.propose([replace(1)]);
    await notebook.setMode('edit');
    await tab.block(1).getByText('Reject with a reason…').click();
    await page.keyboard.type('not ');
    await notebook.edit([{ op: 'move', cell: 'cell-id-1', at: 'end' }], 'Claude');
    const reason = tab.block(5).getByRole('textbox', { name: 'Reason, for the agent:' });
    await expect(reason).toBeFocused();
    await page.keyboard.type('today');
    await expect(reason).toHaveValue('not today');
    expected.push(...expected.splice(1, 1));
    await expect.poll(async () => tab.getSources()).toEqual(expected);
  });

  test('is not asked about a conflict: the room merges what both type @nightly', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    await tab.typeText(1, '  # mine');
    await notebook.edit([replace(1)], 'Claude');
    await expect(tab.editor(1)).toContainText('theirs = 1');
    await expect(tab.bar).toContainText('Claude changed 1 cell');
    await expect(tab.root.locator('.jp-nbedit-conflict-mark')).toHaveCount(0);
    await expect(getToasts(tab.page, 'both changed')).toHaveCount(0);
  });
});
