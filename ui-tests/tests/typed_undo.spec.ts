import type { Locator, Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { makeCodeCell, replace } from './notebooks';
import { HistoryPanel } from './panel';
import type { Tab } from './tab';

const CELLS = [
  makeCodeCell('first', 'a = 1'),
  makeCodeCell('second', 'b = 1'),
  makeCodeCell('third', 'c = 1')
];

/** An agent changes two cells. */
const WORK = ['first', 'second'].map(cell => ({
  op: 'replace',
  cell,
  source: cell === 'first' ? 'a = 2' : 'b = 2'
}));

function getDialog(page: Page): Locator {
  return page.getByRole('dialog').filter({ hasText: 'Undo also removes what you typed' });
}

async function undoAtCell(tab: Tab, index: number): Promise<void> {
  await tab.mark(index).click();
  const block = tab.change(index);
  await block.getByRole('button', { name: 'Undo' }).click();
}

test.describe('The undo of an agent’s change in a cell in which its user types', () => {
  test('takes back only the agent’s lines, and nobody is in conflict', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(CELLS);
    await notebook.edit(WORK, 'Claude');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 1]);
    await tab.typeText(0, '\nmine = 1');
    await undoAtCell(tab, 0);
    await expect.poll(async () => tab.getSource(0)).toBe('a = 1\nmine = 1');
    await expect(getDialog(page)).toHaveCount(0);
    await expect(tab.root.locator('.jp-nbedit-conflict')).toHaveCount(0);
    expect(notebook.readSources()).toEqual(['a = 1', 'b = 2', 'c = 1']);
    expect(await tab.isDirty()).toBe(true);

    // So does Ctrl-Alt-Z, which undoes the undo first: the agent's line and the mark are back.
    await tab.placeCaret(2);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Alt+z');
    await expect.poll(async () => tab.getSource(0)).toBe('a = 2\nmine = 1');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 1]);
    await tab.typeText(1, '\nmine = 2');
    await tab.bar.getByRole('button', { name: 'Undo all changes' }).click();
    await expect
      .poll(async () => tab.getSources())
      .toEqual(['a = 1\nmine = 1', 'b = 1\nmine = 2', 'c = 1']);
    await expect(tab.root.locator('.jp-nbedit-conflict')).toHaveCount(0);
    await tab.save();
    expect(notebook.readSources()).toEqual(await tab.getSources());
  });

  test('asks if it also removes what was typed', async ({ dialogs, openWith, page }) => {
    const { notebook, tab } = await openWith(CELLS);
    await notebook.edit(WORK, 'Claude');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 1]);
    await tab.typeText(0, '0');
    await undoAtCell(tab, 0);
    await expect(getDialog(page)).toContainText(
      'In cell 1 you have typed in the lines that it changes.'
    );
    await getDialog(page).getByRole('button', { name: 'Cancel' }).click();
    expect(await tab.getSource(0)).toBe('a = 20');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 1]);
    expect(notebook.readSources()[0]).toBe('a = 2');

    // Of all changes, that one is kept.
    await tab.bar.getByRole('button', { name: 'Undo all changes' }).click();
    await getDialog(page).getByRole('button', { name: 'Keep Both' }).click();
    await expect.poll(async () => tab.getSources()).toEqual(['a = 20', 'b = 1', 'c = 1']);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    expect(notebook.readSources()).toEqual(['a = 2', 'b = 1', 'c = 1']);

    await notebook.edit([replace('third', 'c = 2')], 'Claude');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([2]);
    await tab.typeText(2, '0');
    await undoAtCell(tab, 2);
    await getDialog(page).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSource(2)).toBe('c = 1');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    expect(await tab.getSource(0)).toBe('a = 20');
    await expect(tab.root.locator('.jp-nbedit-conflict')).toHaveCount(0);
    expect(dialogs.splice(0)).toHaveLength(3);
  });

  test('asks before a new cell goes in which its user has typed @nightly', async ({
    dialogs,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(CELLS);
    await notebook.edit(
      [{ op: 'insert', at: 'end', cell_type: 'code', source: 'new = 1' }],
      'Claude'
    );
    await expect.poll(async () => tab.listMarkedCells()).toEqual([3]);
    await tab.typeText(3, '\nmine = 1');
    await tab.placeCaret(0);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Alt+z');
    await expect(getDialog(page)).toContainText('In cell 4');
    await expect(getDialog(page).getByRole('button', { name: 'Keep Both' })).toHaveCount(0);
    await getDialog(page).getByRole('button', { name: 'Cancel' }).click();
    expect(await tab.getSource(3)).toBe('new = 1\nmine = 1');
    await page.keyboard.press('Control+Alt+z');
    await getDialog(page).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSources()).toEqual(['a = 1', 'b = 1', 'c = 1']);
    await expect(tab.root.locator('.jp-nbedit-conflict')).toHaveCount(0);
    expect(dialogs.splice(0)).toHaveLength(2);
  });

  test('brings back the marks when it is undone by its toast', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(CELLS);
    await notebook.edit(WORK, 'Claude');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 1]);
    await tab.bar.getByRole('button', { name: 'Undo all changes' }).click();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    const toast = getToasts(page, 'Undone: 2 changes');
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSources()).toEqual(['a = 2', 'b = 2', 'c = 1']);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 1]);
    await expect(tab.bar).toContainText('Claude changed 2 cells');
  });

  test('tells nothing after Cancel, and offers the undo again', async ({
    dialogs,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(CELLS);
    const toasts = getToasts(page);
    const cancel = async (): Promise<void> => {
      await getDialog(page).getByRole('button', { name: 'Cancel' }).click();
      await expect(getDialog(page)).toHaveCount(0);
    };
    await notebook.propose([replace('third', 'c = 2')]);
    await tab.root.getByRole('button', { name: /^Accept all/ }).click();
    await expect.poll(async () => tab.getSource(2)).toBe('c = 2');
    await tab.typeText(2, '0');
    const accepted = toasts.filter({ hasText: 'Accepted 1 change' });
    for (let round = 0; round < 2; round++) {
      await accepted.getByRole('button', { name: 'Undo' }).click();
      await cancel();
    }
    await expect(accepted.getByRole('button', { name: 'Undo' })).toBeVisible();
    await expect(toasts.filter({ hasText: 'Nothing was undone' })).toHaveCount(0);
    expect(await tab.getSource(2)).toBe('c = 20');

    await notebook.setMode('edit');
    await notebook.edit([WORK[0]], 'Claude');
    await expect.poll(async () => tab.getSource(0)).toBe('a = 2');
    await tab.typeText(0, '0');
    const incoming = toasts.filter({ hasText: 'Claude: 1 cell changed' });
    for (let round = 0; round < 2; round++) {
      await incoming.getByRole('button', { name: 'Undo' }).click();
      await cancel();
    }
    await expect(incoming.getByRole('button', { name: 'Undo' })).toBeVisible();
    await expect(toasts.filter({ hasText: 'Nothing was undone' })).toHaveCount(0);

    const panel = await HistoryPanel.show(page);
    await panel.action(0, 'Undo').click();
    await cancel();
    await expect(panel.rows.nth(0)).not.toHaveAttribute('aria-busy');
    await expect(panel.root.getByRole('alert')).toHaveCount(0);
    await expect(panel.action(0, 'Undo')).toBeVisible();
    expect(await tab.getSource(0)).toBe('a = 20');
    expect(dialogs.splice(0)).toHaveLength(5);
  });
});
