import { expect, test, type Locator, type Page } from '@playwright/test';
import { Agent } from '../agent';
import { Folder } from '../folder';
import { formatNotebook, makeManyCells } from '../notebooks';

const url = process.env.TARGET_URL!;
const token = process.env.NBEDIT_TOKEN!;
const agent = new Agent(url, token);

/** A notebook in Notebook 7, which shows each in a browser tab of its own. */
class NotebookPage {
  constructor(readonly page: Page) {}

  async open(path: string): Promise<void> {
    const listening = this.page.waitForEvent('websocket', socket =>
      socket.url().includes('/api/events/subscribe')
    );
    await this.page.goto(`${url}/notebooks/${path}?token=${token}`);
    await listening;
    await expect(this.page.locator('.jp-Notebook-cell').first()).toBeVisible();
  }

  cell(index: number): Locator {
    return this.page.locator('.jp-Notebook-cell').nth(index);
  }

  editor(index: number): Locator {
    return this.cell(index).locator('.jp-InputArea-editor .cm-content');
  }

  get bar(): Locator {
    return this.page.getByRole('region', { name: 'Changes by agents' });
  }

  get blocks(): Locator {
    return this.page.locator('.jp-nbedit-block');
  }

  /** Choose a command by its labels in the menus. */
  async choose(...labels: string[]): Promise<void> {
    const [menu, ...items] = labels;
    await this.page.getByRole('menuitem', { name: menu, exact: true }).click();
    for (const item of items) {
      const label = this.page.locator('.lm-Menu-itemLabel').getByText(item, { exact: true });
      await label.click();
    }
  }
}

test.describe('In Notebook 7', () => {
  let folder: Folder;

  test.beforeEach(({}, testInfo) => {
    folder = Folder.ofTest(testInfo);
  });

  /** Write a notebook, and open it. */
  async function open(page: Page, name: string): Promise<NotebookPage> {
    folder.write(name, formatNotebook(makeManyCells(6)));
    const notebook = new NotebookPage(page);
    await notebook.open(folder.getPath(name));
    return notebook;
  }

  test('changes are kept, undone and restored at their cells, and from the menus', async ({
    page
  }) => {
    const path = folder.getPath('keep.ipynb');
    const notebook = await open(page, 'keep.ipynb');
    const original = folder.readSources('keep.ipynb');
    await agent.edit(path, [
      { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' },
      { op: 'replace', cell: 'cell-id-2', source: 'theirs = 2' },
      { op: 'delete', cell: 'cell-id-4' }
    ]);
    await expect(notebook.bar).toContainText('Test agent changed 2 cells, deleted 1');

    await notebook.choose('Edit', 'Agent Edits', 'Go to Next Change');
    await expect(notebook.cell(1).locator('.jp-nbedit-block')).toBeFocused();
    await page.keyboard.press('y');
    await expect(notebook.cell(2).locator('.jp-nbedit-block')).toBeFocused();
    await page.keyboard.press('n');
    await expect(notebook.editor(2)).toContainText('first_2');
    await page.locator('.jp-nbedit-line').getByRole('button', { name: 'Restore' }).click();
    await expect(page.locator('.jp-Notebook-cell')).toHaveCount(6);
    await expect(notebook.bar).toBeHidden();

    await agent.edit(path, [{ op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' }]);
    await expect(notebook.cell(3).locator('.jp-nbedit-mark')).toBeVisible();
    await notebook.cell(3).locator('.jp-InputPrompt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Undo This Change' }).click();
    await expect(notebook.editor(3)).toContainText('first_3');
    await expect(notebook.bar).toBeHidden();
    await expect
      .poll(() => folder.readSources('keep.ipynb'))
      .toEqual([original[0], 'theirs = 1', ...original.slice(2)]);
  });

  test('a diff has an appended line only, and an undo leaves what was typed', async ({ page }) => {
    const path = folder.getPath('typed.ipynb');
    const notebook = await open(page, 'typed.ipynb');
    const [original] = folder.readSources('typed.ipynb');
    const source = `${original}\nappended = 1`;
    await agent.edit(path, [{ op: 'replace', cell: 'cell-id-0', source }], 'Claude');
    await notebook.cell(0).locator('.jp-nbedit-mark').click();
    const block = notebook.cell(0).locator('.jp-nbedit-block');
    await expect(block.locator('.cm-changedLine')).toHaveText(['+added: appended = 1']);
    await expect(block.locator('.cm-deletedLine')).toHaveCount(0);
    await notebook.editor(0).click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('mine = 1\n');
    await block.getByRole('button', { name: 'Undo' }).click();
    await expect(notebook.editor(0)).not.toContainText('appended');
    await expect(notebook.editor(0)).toContainText('mine = 1');
    await expect(page.locator('.jp-nbedit-conflict')).toHaveCount(0);
    expect(folder.readSources('typed.ipynb')[0]).toBe(original);
  });

  test('a change is undone while agents are paused, which a program cannot', async ({ page }) => {
    const path = folder.getPath('paused.ipynb');
    const notebook = await open(page, 'paused.ipynb');
    const original = folder.readSources('paused.ipynb');
    const operation = { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' };
    const { edit_id: number } = await agent.edit(path, [operation], 'Claude');
    await expect(notebook.bar).toContainText('Claude changed 1 cell');
    await agent.setMode(path, 'plan');
    await expect(agent.undo(path, number, 'JupyterLab')).rejects.toThrow('plan_mode');
    await notebook.bar.getByRole('button', { name: 'Undo all' }).click();
    await expect.poll(() => folder.readSources('paused.ipynb')).toEqual(original);
  });

  test('proposals are reviewed after the mode is set in the menu Edit @nightly', async ({
    page
  }) => {
    const path = folder.getPath('review.ipynb');
    const notebook = await open(page, 'review.ipynb');
    await notebook.choose('Edit', 'Agent Edits', 'This Notebook: Review First');
    await expect
      .poll(async () => agent.get(`/nbedit/mode?path=${encodeURIComponent(path)}`))
      .toMatchObject({ mode: 'review' });
    const id = await agent.propose(path, [
      { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' },
      { op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' }
    ]);
    await expect(notebook.blocks).toHaveCount(2);
    await page.keyboard.press('Alt+F5');
    await expect(notebook.cell(1).locator('.jp-nbedit-block')).toBeFocused();
    await page.keyboard.press('y');
    await expect(notebook.cell(3).locator('.jp-nbedit-block')).toBeFocused();
    await page.keyboard.press('n');
    await expect(notebook.blocks).toHaveCount(0);
    await expect(notebook.editor(1)).toHaveText('theirs = 1');
    const { parts } = await agent.getProposal(id);
    expect(parts.map(({ status }) => status)).toEqual(['accepted', 'rejected']);
    // The number that JupyterLab has in its status bar is in the menu View: the list.
    await notebook.choose('View', 'Review Proposals');
    await expect(page.getByRole('region', { name: 'Proposed changes' })).toBeVisible();
  });

  test('a conflict is resolved at its cell @nightly', async ({ page }) => {
    const path = folder.getPath('conflict.ipynb');
    const notebook = await open(page, 'conflict.ipynb');
    await notebook.editor(1).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('  # mine');
    await agent.edit(path, [{ op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' }]);
    const block = notebook.cell(1).locator('.jp-nbedit-block', { hasText: 'you both changed' });
    await expect(block).toBeVisible();
    await block.getByRole('button', { name: /^Theirs/ }).click();
    await expect(notebook.editor(1)).toHaveText('theirs = 1');
    await expect(block).toHaveCount(0);
    // The decision is one on the change, too.
    await expect(notebook.bar).toBeHidden();
  });

  test('the history is opened from the menu View @nightly', async ({ page }) => {
    const path = folder.getPath('history.ipynb');
    const notebook = await open(page, 'history.ipynb');
    await agent.edit(path, [{ op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' }]);
    await notebook.choose('View', 'Show Edit History');
    const row = page.locator('.jp-nbedit-history').getByRole('button', { name: 'Undo' });
    await row.click();
    await expect(notebook.editor(1)).not.toHaveText('theirs = 1');
  });
});
