import { posix } from 'node:path';
import { findViolations } from './axe';
import { expect, test as labTest } from './fixtures';
import type { Notebook } from './notebook';
import {
  formatNotebook,
  makeCodeCell,
  makeManyCells,
  makeMarkdownCell,
  replace
} from './notebooks';
import { HistoryPanel } from './panel';
import { expectPicture, setTheme, THEMES } from './pictures';
import type { Tab } from './tab';

const test = labTest.extend<{
  /** Open a notebook, and its history beside it. */
  openHistory: (notebook: Notebook) => Promise<{ tab: Tab; panel: HistoryPanel }>;
}>({
  openHistory: async ({ open, page }, use) => {
    await use(async ({ name }) => ({
      tab: await open(name),
      panel: await HistoryPanel.show(page)
    }));
  }
});

test.describe('The history panel', () => {
  test('lists edits newest first: what, who, why, when', async ({ create, openHistory }) => {
    const notebook = create(makeManyCells(6));
    await notebook.edit([replace(0, 'a = 1')], 'First agent', {
      message: 'Give a name'
    });
    await notebook.edit(
      [
        replace(4, 'b = 1'),
        replace(2, 'b = 2'),
        { op: 'insert', at: 'end', cell_type: 'markdown', source: 'The end.' },
        { op: 'delete', cell: 'cell-id-5' }
      ],
      'Second agent'
    );
    const { panel } = await openHistory(notebook);
    await expect(panel.titles).toHaveText([
      'cells 3 and 5 changed, cell 6 added, cell 6 deleted',
      'cell 1 changed'
    ]);
    await expect(panel.rows.nth(0)).toContainText('Second agent');
    await expect(panel.rows.nth(1)).toContainText('First agent');
    await expect(panel.rows.nth(1)).toContainText('Give a name');
    await expect(panel.times.first()).toHaveText('now');
    const time = await panel.times.first().getAttribute('datetime');
    expect(Math.abs(Date.now() - new Date(time!).getTime())).toBeLessThan(60_000);
  });

  test('follows the notebook in front, or lists all notebooks @nightly', async ({
    create,
    folder,
    open,
    page
  }) => {
    for (const name of ['one', 'two']) {
      await create(makeManyCells(3), `${name}.ipynb`).edit([replace(1, name)], `Agent ${name}`);
    }
    await open('one.ipynb');
    const panel = await HistoryPanel.show(page);
    await expect(panel.rows).toHaveCount(1);
    await expect(panel.rows).toContainText('Agent one');
    await open('two.ipynb');
    await expect(panel.rows).toContainText('Agent two');
    await expect(panel.rows).toHaveCount(1);
    await panel.root.getByLabel('Edits of').selectOption('All notebooks');
    // Beside those of other tests.
    const ours = panel.rows.filter({ hasText: posix.dirname(folder.getPath('one.ipynb')) });
    await expect(ours).toHaveCount(2);
    await expect(ours.nth(0)).toContainText('Agent two');
    await expect(ours.nth(1)).toContainText('Agent one');
  });

  test('shows a new edit by itself and says it to a screen reader @nightly', async ({
    create,
    openHistory
  }) => {
    const notebook = create(makeManyCells(6));
    await notebook.edit([replace(0, 'a = 1')]);
    const { tab, panel } = await openHistory(notebook);
    await expect(panel.rows).toHaveCount(1);
    await panel.toggle(0).click();
    await expect(panel.getCellDiffs(0)).toHaveCount(1);
    await tab.placeCaret(3);
    const before = await tab.getViewState();

    await notebook.edit([replace(5, 'b = 1')], 'Live agent');
    await expect(panel.titles.first()).toHaveText('cell 6 changed');
    await expect(panel.root.getByRole('status')).toContainText(
      'New edit, Live agent: cell 6 changed'
    );
    // What was open stays open, and the user stays where he is.
    await expect(panel.getCellDiffs(1)).toHaveCount(1);
    expect(await tab.getViewState()).toEqual(before);
  });

  test('opens an edit to its differences, inline or side by side, and goes to a cell @nightly', async ({
    create,
    openHistory
  }) => {
    const notebook = create(makeManyCells(40));
    await notebook.edit([
      replace(35, 'first_35 = 36\nsecond_35 = 35\nprint(35)'),
      replace(20, 'a\nb'),
      { op: 'set_metadata', cell: 'cell-id-2', patch: { tags: ['kept'] } },
      { op: 'insert', at: 'end', cell_type: 'markdown', source: '# New' },
      { op: 'set_metadata', patch: { authors: [{ name: 'A' }] } }
    ]);
    const { tab, panel } = await openHistory(notebook);
    await panel.toggle(0).click();
    const part = (name: string) => panel.rows.nth(0).getByRole('group', { name, exact: true });
    const changed = part('Cell 36');
    await expect(changed.locator('.cm-deletedChunk')).toHaveText('-removed: first_35 = 35');
    await expect(changed.locator('.cm-changedLine')).toHaveText('+added: first_35 = 36');
    // In the colours of the cell's language.
    await expect(changed.locator('.cm-line', { hasText: 'print' }).locator('span')).not.toHaveCount(
      0
    );
    await expect(part('Cell 3').locator('.cm-content')).toContainText('"kept"');
    await expect(part('Cell 41')).toContainText('added');
    await expect(part('Cell 41').locator('.cm-content')).toHaveText('+added: # New');
    await expect(part('Notebook metadata')).toContainText('"authors"');

    await panel.root.getByRole('button', { name: 'Compare side by side' }).click();
    await expect(changed.locator('.jp-mod-before .cm-changedLine')).toHaveText(
      '-removed: first_35 = 35'
    );
    await expect(changed.locator('.jp-mod-after .cm-changedLine')).toHaveText(
      '+added: first_35 = 36'
    );

    // One sign for each line, all in the same column.
    for (const [side, expected] of [
      ['.jp-mod-before', ['-', '-', '-']],
      ['.jp-mod-after', ['+', '+']]
    ] as const) {
      const signs = part('Cell 21').locator(`${side} .jp-nbedit-line-sign-symbol`);
      await expect(signs).toHaveText([...expected]);
      const columns = await signs.evaluateAll(marks =>
        marks.map(mark => mark.getBoundingClientRect().left)
      );
      expect(new Set(columns).size).toBe(1);
    }

    expect(await tab.isInView(35)).toBe(false);
    await changed.getByRole('button', { name: 'Go to Cell 36' }).click();
    await expect.poll(async () => tab.isInView(35)).toBe(true);
    expect((await tab.getViewState()).activeCellId).toBe('cell-id-35');
  });

  test('says of all rows how long ago they were as of the same moment @nightly', async ({
    create,
    openHistory,
    page
  }) => {
    const notebook = create(makeManyCells(6));
    for (const cell of [0, 1, 2]) {
      await notebook.edit([replace(cell, `a = ${cell}`)]);
    }
    const { panel } = await openHistory(notebook);
    await expect(panel.times).toHaveText(['now', 'now', 'now']);
    await page.clock.setFixedTime(Date.now() + 90_000);
    // The open row is drawn anew.
    await panel.toggle(1).click();
    await expect(panel.getCellDiffs(1)).toHaveCount(1);
    expect(new Set(await panel.times.allTextContents()).size).toBe(1);
    // So are all rows when another edit comes.
    await notebook.edit([replace(3, 'a = 3')]);
    await expect(panel.times).toHaveText(Array.from({ length: 4 }, () => '1 minute ago'));
  });

  test('does not cover the title of a row with its buttons @nightly', async ({
    create,
    openHistory,
    page
  }) => {
    const notebook = create(makeManyCells(14));
    await notebook.edit([
      replace(0, 'a = 0'),
      replace(13, 'a = 13'),
      { op: 'insert', after: 'cell-id-5', cell_type: 'code', source: 'new = 1' },
      { op: 'delete', cell: 'cell-id-9' }
    ]);
    const { panel } = await openHistory(notebook);
    await page.sidebar.setWidth(250, 'right');
    const areCovered = async () =>
      panel.rows.first().evaluate(row => {
        const text = document.createRange();
        text.selectNodeContents(row.querySelector('.jp-nbedit-edit-title')!);
        const end = row.querySelector('.jp-nbedit-edit-title')!.getBoundingClientRect().right;
        const buttons = [...row.querySelectorAll('.jp-nbedit-edit-head > button')].slice(1);
        return buttons.some(button => {
          const { left, right, top, bottom } = button.getBoundingClientRect();
          return [...text.getClientRects()].some(
            line =>
              line.left < right &&
              Math.min(line.right, end) > left &&
              line.top < bottom &&
              line.bottom > top
          );
        });
      });
    await panel.rows.first().hover();
    expect(await areCovered()).toBe(false);
    await panel.toggle(0).click();
    await expect(panel.getCellDiffs(0)).toHaveCount(4);
    expect(await areCovered()).toBe(false);
  });

  test('takes an edit back and makes it again, in the file and in the tab', async ({
    create,
    openHistory
  }) => {
    const notebook = create(makeManyCells(6));
    const original = notebook.readSources();
    await notebook.edit([replace(1, 'old = 1')]);
    await notebook.edit([replace(3, 'new = 1')]);
    const edited = notebook.readText();
    const { tab, panel } = await openHistory(notebook);
    await panel.rows.nth(1).hover();
    await panel.action(1, 'Undo').click();
    await expect(panel.titles).toHaveText(['Undo: cell 2', 'cell 4 changed', 'cell 2 changed']);
    await expect(panel.rows.nth(2)).toContainText('undone');
    await expect.poll(async () => tab.getSource(1)).toBe('first_1 = 1\nsecond_1 = 1\nprint(1)');
    expect(notebook.readSources()[3]).toBe('new = 1');
    expect(notebook.readSources()[1]).toBe('first_1 = 1\nsecond_1 = 1\nprint(1)');

    await panel.rows.nth(2).hover();
    await panel.action(2, 'Redo').click();
    await expect(panel.titles.first()).toHaveText('Redo: cell 2');
    await expect(panel.rows.nth(3)).not.toContainText('undone');
    await expect.poll(async () => tab.getSource(1)).toBe('old = 1');
    expect(notebook.readText()).toBe(edited);

    // The commands undo what is newest, byte by byte.
    await panel.runCommand('nbedit:undo-last');
    await panel.runCommand('nbedit:undo-last');
    expect(notebook.readSources()).toEqual(original);
    await panel.runCommand('nbedit:redo-last');
    await expect
      .poll(async () => (await tab.getSources())[3])
      .toBe('first_3 = 3\nsecond_3 = 3\nprint(3)');
  });

  test('groups edits by author below headings that fold, and shows undos in one go as one row', async ({
    create,
    openHistory,
    page
  }) => {
    const notebook = create(makeManyCells(6));
    const ids: number[] = [];
    for (const cell of [0, 1, 2]) {
      const { edit_id: id } = await notebook.edit(
        [replace(cell, `# ${cell}\nmean_${cell} = weeks.mean()`)],
        'Claude'
      );
      ids.push(id!);
    }
    await notebook.edit([replace(5, 'codex = 1')], 'Codex');
    for (const id of ids.reverse()) {
      await notebook.undo(id, 'Codex');
    }
    const { panel } = await openHistory(notebook);
    await expect(panel.sessions).toHaveText([/^Codex4 edits · \S+/, /^Claude3 edits · \S+/]);
    await expect(panel.titles).toHaveText([
      'Undid 3 edits of Claude',
      'cell 6 changed',
      'cell 3 changed',
      'cell 2 changed',
      'cell 1 changed'
    ]);
    const row = panel.rows.nth(2);
    await expect(row.locator('.jp-nbedit-edit-snippet')).toHaveText('# 2');
    await expect(row.locator('.jp-nbedit-edit-counts')).toHaveText('+2−3');
    await expect(panel.toggle(2)).toHaveAccessibleName(/2 lines added, 3 lines removed.*Claude/);

    // Arrow keys reach the headings, too.
    await expect(panel.toggle(0)).toBeFocused();
    await page.keyboard.press('ArrowRight');
    await expect(panel.titles.nth(1)).toHaveText('Undo: cell 1');
    await expect(panel.rows).toHaveCount(8);
    await page.keyboard.press('ArrowDown');
    await expect(
      panel.rows.nth(0).getByRole('listitem').nth(0).locator('button').first()
    ).toBeFocused();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowLeft');
    await expect(panel.rows).toHaveCount(5);
    await page.keyboard.press('ArrowUp');
    await expect(panel.sessions.nth(0).getByRole('button')).toBeFocused();
    await page.keyboard.press('ArrowLeft');
    await expect(panel.rows).toHaveCount(3);
    await expect(panel.sessions.nth(0).getByRole('button')).toHaveAttribute(
      'aria-expanded',
      'false'
    );
    await page.keyboard.press('ArrowDown');
    await expect(panel.sessions.nth(1).getByRole('button')).toBeFocused();
    expect(await findViolations(panel.root)).toEqual([]);
    // A folded session stays so when an edit is added to it.
    await notebook.edit([replace(5, 'codex = 2')], 'Codex');
    await expect(panel.sessions.nth(0)).toContainText('5 edits');
    await expect(panel.rows).toHaveCount(3);
    await panel.sessions.nth(0).getByRole('button').click();
    await expect(panel.titles.nth(1)).toHaveText('Undid 3 edits of Claude');
    await panel.rows.nth(1).hover();
    await panel.rows.nth(1).getByRole('button', { name: 'Redo all' }).click();
    await expect
      .poll(() => notebook.readSources().slice(0, 3))
      .toEqual([0, 1, 2].map(cell => `# ${cell}\nmean_${cell} = weeks.mean()`));
  });

  test('shows only the edits of an agent, or with some words, also older ones @nightly', async ({
    create,
    openHistory
  }) => {
    const notebook = create(makeManyCells(3));
    await notebook.edit([replace(0, 'weeks.plot()')], 'Claude', {
      message: 'Draw the rain'
    });
    for (let i = 0; i < 60; i++) {
      await notebook.edit([replace(1, `x = ${i}`)], 'Codex');
    }
    const { panel } = await openHistory(notebook);
    await expect(panel.rows).toHaveCount(50);
    const words = panel.root.getByRole('searchbox');
    await words.fill('rain');
    await expect(panel.rows).toHaveCount(1);
    await expect(panel.rows).toContainText('Draw the rain');
    await words.fill('x = 59');
    await expect(panel.rows).toHaveCount(1);
    await words.fill('');
    await panel.root.getByLabel('Edits by').selectOption('Claude');
    await expect(panel.rows).toHaveCount(1);
    await words.fill('nothing has this');
    await expect(panel.root).toContainText('No edit matches.');
    expect(await findViolations(panel.root)).toEqual([]);
    await panel.root.getByRole('button', { name: 'Show all edits' }).click();
    await expect(panel.rows.first()).toContainText('x = 59');
  });

  test('restores the notebook to what it was after an edit, after a preview', async ({
    create,
    dialogs,
    openHistory,
    page
  }) => {
    const notebook = create(makeManyCells(4), 'restored.ipynb');
    await notebook.edit([replace(0, 'good = 1')]);
    const good = notebook.readText();
    await notebook.edit([replace(0, 'bad = 1')]);
    await notebook.edit([{ op: 'delete', cell: 'cell-id-2' }]);
    const bad = notebook.readText();
    const { tab, panel } = await openHistory(notebook);
    await panel.toggle(0).click();
    await panel.getRestoreButton(0).click();
    await expect(
      panel.rows.nth(0).locator('.jp-nbedit-restore-action').getByRole('alert')
    ).toHaveText('The notebook is as it was after this edit.');
    await panel.toggle(2).click();
    const dialog = page.locator('.jp-Dialog');
    for (const answer of ['Cancel', 'Restore']) {
      await panel.getRestoreButton(2).click();
      const cells = dialog.locator('.jp-nbedit-cell-diff');
      await expect(cells).toHaveCount(2);
      await expect(dialog).toContainText(
        /restored\.ipynb becomes what it was on .*, after this edit by/
      );
      await expect(cells.first()).toContainText(/Cell 1.*removed: bad = 1.*added: good = 1/);
      await expect(cells.last()).toContainText(/Cell 3added.*first_2 = 2/);
      expect(await findViolations(dialog)).toEqual([]);
      expect(notebook.readText()).toBe(bad);
      await dialog.getByRole('button', { name: answer }).click();
      await expect(dialog).toHaveCount(0);
    }
    await expect(panel.rows).toHaveCount(4);
    await expect(panel.titles.first()).toHaveText('cells 1 and 3 restored');
    expect(notebook.readText()).toBe(good);
    await expect.poll(async () => (await tab.getSources()).length).toBe(4);
    await panel.rows.first().hover();
    await panel.action(0, 'Undo').click();
    await expect.poll(() => notebook.readText()).toBe(bad);
    expect(dialogs.splice(0)).toHaveLength(2);
  });

  test('shows the edits of one cell, with and without ids in the file', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const sources = ['a = 0', 'b = 0', 'c = 0'];
    for (const [name, minor] of [
      ['with', 5],
      ['without', 4]
    ] as const) {
      const cells = sources.map((source, index) =>
        makeCodeCell(minor === 5 ? `cell-${index}` : null, source)
      );
      folder.write(`${name}.ipynb`, formatNotebook(cells, minor));
      const path = folder.getPath(`${name}.ipynb`);
      for (const source of ['b = 1', 'b = 2']) {
        const address = minor === 5 ? 'cell-1' : 1;
        await agent.edit(path, [{ op: 'replace', cell: address, source }]);
        await agent.edit(path, [{ op: 'insert', at: 'start', cell_type: 'code', source: '# new' }]);
        await agent.edit(path, [{ op: 'delete', cell: 0 }]);
      }
      const tab = await open(`${name}.ipynb`);
      const panel = new HistoryPanel(page);
      await tab.root
        .locator('.jp-Cell')
        .nth(1)
        .locator('.jp-InputPrompt')
        .click({ button: 'right' });
      await page.getByRole('menuitem', { name: 'Show Edit History of This Cell' }).click();
      await expect(panel.root).toBeVisible();
      await expect(panel.titles).toHaveText(['cell 2 changed', 'cell 2 changed']);
      await expect(panel.root.locator('.jp-nbedit-edit-snippet')).toHaveText(['b = 2', 'b = 1']);
      await expect(panel.root.getByRole('search')).toContainText('Cell 2');
      await panel.root.getByRole('button', { name: 'Show all cells' }).click();
      await expect(panel.rows).toHaveCount(6);
    }
  });

  test('goes to a cell below a collapsed heading, in command mode @nightly', async ({
    create,
    openHistory,
    page
  }) => {
    const cells = makeManyCells(60);
    const heading = makeMarkdownCell('heading', '# Heading');
    heading.metadata = { 'jp-MarkdownHeadingCollapsed': true };
    cells[30] = heading;
    const notebook = create(cells);
    await notebook.edit([replace(43, 'a = 1')]);
    const { tab, panel } = await openHistory(notebook);
    await panel.toggle(0).click();
    await panel.rows.nth(0).getByRole('button', { name: 'Go to Cell 44' }).click();
    await expect.poll(async () => tab.isInView(43)).toBe(true);
    const { activeCellId, mode } = await tab.getViewState();
    expect([activeCellId, mode]).toEqual(['cell-id-43', 'command']);
    // A key of the command mode is none of the text.
    await page.keyboard.press('Control+Alt+z');
    await expect.poll(async () => tab.getSource(43)).toMatch(/^first_43/);
  });

  test('scrolls a row that is opened at the lower edge into view @nightly', async ({
    create,
    openHistory
  }) => {
    const notebook = create(makeManyCells(30));
    for (let cell = 0; cell < 30; cell++) {
      await notebook.edit([replace(cell, 'a = 1\nb = 1\nc = 1')]);
    }
    const { panel } = await openHistory(notebook);
    await expect(panel.rows).toHaveCount(30);
    const last = await panel.rows.evaluateAll(rows => {
      const { bottom } = document.querySelector('.jp-nbedit-history-body')!.getBoundingClientRect();
      const shown = rows.filter(row => row.getBoundingClientRect().bottom < bottom);
      return shown.length - 1;
    });
    await panel.toggle(last).click();
    await expect(panel.getCellDiffs(last)).toBeInViewport({ ratio: 1 });
    await expect(panel.toggle(last)).toBeInViewport({ ratio: 1 });
  });

  test('says which cells stand in the way of an undo @nightly', async ({ create, open, page }) => {
    const notebook = create(makeManyCells(4), 'conflict.ipynb');
    await notebook.edit([replace(1), replace(2)]);
    await open(notebook.name);
    const panel = new HistoryPanel(page);
    const answer = page.waitForResponse(/conflict\.ipynb\/history/);
    await panel.open();
    const body = await (await answer).body();
    await expect(panel.rows).toHaveCount(1);
    // The page has not heard of the later edit when its user clicks.
    await page.route(/conflict\.ipynb\/history/, async route =>
      route.fulfill({ contentType: 'application/json', body })
    );
    await notebook.edit([replace(1, 'later = 1'), { op: 'delete', cell: 'cell-id-2' }]);
    const after = notebook.readText();
    await panel.rows.nth(0).hover();
    await panel.action(0, 'Undo').click();
    const problem = panel.rows.nth(0).getByRole('alert');
    await expect(problem).toContainText('Nothing was undone.');
    await expect(problem).toContainText('Cell 2 was changed since.');
    await expect(problem).toContainText('A cell (cell-id-2) is gone.');
    expect(notebook.readText()).toBe(after);
  });

  test('offers no undo of an edit that later changes prevent @nightly', async ({
    create,
    openHistory
  }) => {
    const notebook = create(makeManyCells(4));
    await notebook.edit([replace(1, 'first = 1')]);
    await notebook.edit([replace(2, 'other = 1')]);
    await notebook.edit([replace(1, 'later = 1')]);
    const { panel } = await openHistory(notebook);
    await expect(panel.rows).toHaveCount(3);
    await expect(panel.action(0, 'Undo')).toHaveCount(1);
    await expect(panel.action(1, 'Undo')).toHaveCount(1);
    await expect(panel.action(2, 'Undo')).toHaveCount(0);
  });

  test('says what is wrong when the server does not answer, and goes on when it does @nightly', async ({
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(3));
    await notebook.edit([replace(0, 'a = 1')]);
    await open(notebook.name);
    await page.route(/\/nbedit\/.*history/, async route => route.abort());
    const panel = await HistoryPanel.show(page);
    await expect(panel.root.getByRole('alert')).toContainText('The server does not answer.');
    await page.unroute(/\/nbedit\/.*history/);
    await panel.root.getByRole('button', { name: 'Try again' }).click();
    await expect(panel.rows).toHaveCount(1);
    await expect(panel.root.getByText('does not answer')).toHaveCount(0);
  });

  test('forgets a history when its user is sure @nightly', async ({
    create,
    dialogs,
    openHistory,
    page
  }) => {
    const notebook = create(makeManyCells(3));
    await notebook.edit([replace(0, 'a = 1')]);
    const { panel } = await openHistory(notebook);
    await expect(panel.rows).toHaveCount(1);
    await panel.root.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: /Forget the Edit History/ }).click();
    await page.locator('.jp-Dialog').getByRole('button', { name: 'Forget' }).click();
    await expect(panel.rows).toHaveCount(0);
    await expect(panel.root).toContainText('No edits yet.');
    expect(dialogs.splice(0)).toHaveLength(1);
  });

  test('can be used with the keyboard alone @nightly', async ({ create, openHistory, page }) => {
    const notebook = create(makeManyCells(6));
    for (const cell of [0, 1, 2]) {
      await notebook.edit([replace(cell, `a = ${cell}`)]);
    }
    const { tab, panel } = await openHistory(notebook);
    const press = async (key: string) => page.keyboard.press(key);
    await expect(panel.toggle(0)).toBeFocused();
    await press('ArrowDown');
    await press('ArrowDown');
    await expect(panel.toggle(2)).toBeFocused();
    await press('ArrowDown');
    await expect(panel.toggle(2)).toBeFocused();
    await press('Home');
    await expect(panel.toggle(0)).toBeFocused();
    await press('End');
    await press('ArrowUp');
    await expect(panel.toggle(1)).toBeFocused();
    await press('Enter');
    await expect(panel.toggle(1)).toHaveAttribute('aria-expanded', 'true');
    await expect(panel.getCellDiffs(1).locator('.cm-content')).toContainText('a = 1');
    await press('ArrowLeft');
    await expect(panel.toggle(1)).toHaveAttribute('aria-expanded', 'false');
    await press('ArrowRight');
    await panel.getCellDiffs(1).locator('.cm-content').waitFor();
    // Through the row: undo, go to the cell, the difference, and out again.
    await press('Tab');
    await expect(panel.action(1, 'Undo')).toBeFocused();
    await press('Tab');
    await expect(panel.getRestoreButton(1)).toBeFocused();
    await press('Tab');
    await expect(panel.getCellDiffs(1).getByRole('button', { name: 'Go to Cell 2' })).toBeFocused();
    await press('Tab');
    await expect(panel.getCellDiffs(1).locator('.cm-content')).toBeFocused();
    await press('Tab');
    await expect(panel.root.locator(':focus')).toHaveCount(0);
    for (let i = 0; i < 4; i++) {
      await press('Shift+Tab');
    }
    await press('Enter');
    await expect(panel.titles.first()).toHaveText('Undo: cell 2');
    await expect.poll(async () => tab.getSource(1)).toMatch(/^first_1/);
    await expect(panel.action(2, 'Redo')).toBeFocused();
    await press('Enter');
    await expect(panel.titles.first()).toHaveText('Redo: cell 2');
    await expect.poll(async () => tab.getSource(1)).toBe('a = 1');
  });

  test('looks as it should, and axe-core has no complaint, in light and dark @nightly', async ({
    create,
    openHistory,
    page
  }) => {
    const notebook = create(
      [
        makeMarkdownCell('title', '# Temperatures'),
        makeCodeCell(
          'load',
          'import pandas as pd\nweeks = pd.read_csv("stations.csv")\nweeks.temp.mean()'
        ),
        makeCodeCell('plot', 'weeks.plot()'),
        makeMarkdownCell('next', '## What is missing\nThe winter.')
      ],
      'look.ipynb'
    );
    await notebook.edit([replace('plot', 'weeks.plot(figsize=(7, 2))')], 'Plotting agent');
    await notebook.edit([{ op: 'move', cell: 'next', at: 'start' }], 'Data agent');
    await notebook.edit(
      [
        replace(
          'load',
          'import pandas as pd\nweeks = pd.read_csv("stations.csv")  # a mean per week\nweeks.temperature.mean()'
        ),
        { op: 'insert', after: 'plot', cell_type: 'markdown', source: 'The *winter* is missing.' },
        { op: 'delete', cell: 'title' }
      ],
      'Data agent',
      { message: 'Rename the column, as its file now has it' }
    );
    const { panel } = await openHistory(notebook);
    await panel.rows.nth(1).hover();
    await panel.action(1, 'Undo').click();
    await expect(panel.rows).toHaveCount(4);
    await page.sidebar.setWidth(360, 'right');
    const mask = [panel.times];
    for (const theme of THEMES) {
      await setTheme(page, theme);
      await page.mouse.move(0, 0);
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      expect(await findViolations(panel.root)).toEqual([]);
      await expectPicture(panel.root, `history-${theme}`, mask);
      await panel.toggle(1).click();
      await expect(panel.getCellDiffs(1).locator('.cm-content')).toHaveCount(3);
      await page.mouse.move(0, 0);
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      expect(await findViolations(panel.root)).toEqual([]);
      await expectPicture(panel.root, `diff-inline-${theme}`, mask);
      await panel.root.getByRole('button', { name: 'Compare side by side' }).click();
      await expect(panel.getCellDiffs(1).locator('.jp-nbedit-diff-columns')).toHaveCount(1);
      expect(await findViolations(panel.root)).toEqual([]);
      await panel.root.getByRole('button', { name: 'Compare side by side' }).click();
      await panel.toggle(1).click();
    }
  });

  // How long it takes is printed: it depends on what else the machine does.
  for (const count of [200, 1000]) {
    test(`opens and scrolls to the first of ${count} edits @nightly`, async ({
      create,
      open,
      page
    }) => {
      const notebook = create([makeCodeCell('only', 'x = 0')]);
      const started = Date.now();
      for (let i = 1; i <= count; i++) {
        await notebook.edit([replace('only', `x = ${i}`)]);
      }
      const made = Date.now() - started;
      const tab = await open(notebook.name);
      // JupyterLab brings up the notebook still, and that is not what is measured.
      await tab.waitFrames(60);
      const panel = new HistoryPanel(page);
      const opened = await page.evaluate(async () => {
        const start = performance.now();
        await window.jupyterapp.commands.execute('nbedit:show-history');
        const list = document.querySelector('#nbedit-history')!;
        while (list.querySelectorAll('li').length === 0) {
          await new Promise(resolve => requestAnimationFrame(resolve));
        }
        // The frame that paints them.
        await new Promise(resolve => requestAnimationFrame(resolve));
        return performance.now() - start;
      });
      await expect(panel.rows).toHaveCount(50);
      const { frames, longest } = await page.evaluate(async count => {
        const body = document.querySelector('.jp-nbedit-history-body')!;
        let frames = 0;
        let longest = 0;
        let last = performance.now();
        const end = last + 60_000;
        while (
          last < end &&
          (body.querySelectorAll('li').length < count ||
            body.scrollTop + body.clientHeight < body.scrollHeight - 1)
        ) {
          body.scrollTop += 400;
          await new Promise(resolve => requestAnimationFrame(resolve));
          const now = performance.now();
          longest = Math.max(longest, now - last);
          last = now;
          frames++;
        }
        return { frames, longest };
      }, count);
      await expect(panel.rows).toHaveCount(count);
      await expect(panel.rows.last()).toBeInViewport();
      console.log(
        `${count} edits made in ${made} ms; the panel opened in ${opened.toFixed(0)} ms; ` +
          `scrolled to the end in ${frames} frames, the longest ${longest.toFixed(0)} ms`
      );
    });
  }
});
