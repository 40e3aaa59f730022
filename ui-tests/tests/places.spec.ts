import type { Locator, Page } from '@playwright/test';
import { findViolations } from './axe';
import { showFolder } from './file_browser';
import { expect, loadLab, test } from './fixtures';
import { getModeStatus, getToasts, runCommand } from './lab';
import { makeCodeCell, makeManyCells, makeMarkdownCell, replace } from './notebooks';
import { changeSettings } from './settings';
import type { Tab } from './tab';

const THREE = [replace(1), replace(2), replace(3)];

/** Two sections, of which the first has a section of its own. */
const SECTIONS = [
  makeMarkdownCell('title', '# Title'),
  makeCodeCell('intro', 'x = 0'),
  makeMarkdownCell('one', '## One'),
  makeCodeCell('first', 'x = 1'),
  makeMarkdownCell('deep', '### Deep'),
  makeCodeCell('second', 'x = 2'),
  makeMarkdownCell('two', '## Two'),
  makeCodeCell('third', 'x = 3')
];

function getMenuItem(page: Page, label: string | RegExp): Locator {
  return page.locator('.lm-Menu-item').filter({
    has: page.locator('.lm-Menu-itemLabel').getByText(label, { exact: true })
  });
}

/** Open the menu of a cell, as a right click does. */
async function openCellMenu(tab: Tab, index: number): Promise<void> {
  // The input is hidden while a block stands for it.
  const places = tab.cell(index).locator('.jp-InputArea-editor:visible, .jp-nbedit-block');
  await places.first().click({ button: 'right', position: { x: 40, y: 8 } });
}

test('JupyterLab’s counter of cells counts those that an agent inserts and deletes @nightly', async ({
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(2));
  await tab.placeCaret(1);
  const counter = page.locator('.jp-StatusBar-Widget').getByText(/^Cell \d+\/\d+$/);
  test.skip((await counter.count()) === 0, 'This JupyterLab has no such counter.');
  await expect(counter).toHaveText('Cell 2/2');
  const insert = { op: 'insert', at: 'end', cell_type: 'code', source: 'x = 1' };
  await notebook.edit([insert, insert, insert, insert]);
  await expect.poll(async () => (await tab.getSources()).length).toBe(6);
  await expect(counter).toHaveText('Cell 2/6');
  expect(await tab.getViewState()).toMatchObject({ activeCellIndex: 1, mode: 'edit' });
  await notebook.edit([{ op: 'delete', cell: 'cell-id-0' }]);
  await expect(counter).toHaveText('Cell 1/5');
  await tab.typeText(0, '  # mine');
});

test('The command palette says what a command does, not which state there is @nightly', async ({
  openWith,
  page
}) => {
  const { notebook } = await openWith(makeManyCells(2));
  await expect(getModeStatus(page)).toContainText('Agents: edits allowed');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+Shift+c');
  await page.keyboard.type('Pause Agents in This');
  await page
    .locator('.lm-CommandPalette-item', { hasText: 'Pause Agents in This Notebook' })
    .click();
  await expect(getModeStatus(page)).toContainText('paused');
  await notebook.setMode(null);
});

test.describe('The status bar', () => {
  test('says what agents may do, and lets the user change it', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    await expect(getModeStatus(page)).toHaveText(/^Agents: edits allowed/);
    await notebook.setMode('review');
    await expect(getModeStatus(page)).toHaveText(/^Agents: review first/);

    await getModeStatus(page).focus();
    await page.keyboard.press('Enter');
    // Not by its role, which is `menuitem` in JupyterLab 4.2.
    await expect(getMenuItem(page, 'This Notebook: Review First')).toHaveClass(/lm-mod-toggled/);
    await expect(getMenuItem(page, 'Show Edit History')).toBeVisible();
    await getMenuItem(page, 'This Notebook: Paused').click();
    await expect(getModeStatus(page)).toHaveText(/^Agents: paused/);
    await expect(getModeStatus(page)).toBeFocused();
    await expect(notebook.edit([replace(1)])).rejects.toThrow(/plan_mode/);
    expect(await tab.getSource(1)).not.toContain('theirs');

    await getModeStatus(page).click();
    await getMenuItem(page, 'This Notebook: Default (Edits Allowed)').click();
    await expect(getModeStatus(page)).toHaveText(/^Agents: edits allowed/);
    await notebook.edit([replace(1)]);
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    expect(await findViolations(getModeStatus(page))).toEqual([]);
  });

  test('counts what is proposed for its notebook, and names what is for others as such @nightly', async ({
    create,
    openWith,
    page
  }) => {
    const { notebook } = await openWith(makeManyCells(5));
    await notebook.propose(THREE);
    await create(makeManyCells(5)).propose([replace(1)]);
    // Other tests propose to their notebooks at the same time.
    await expect(getModeStatus(page)).toHaveAccessibleName(
      /^Agents: review first\. This notebook: 3 changes proposed\. Other notebooks: \d+ changes? proposed\.$/
    );
    await expect(getModeStatus(page)).toContainText('Agents: review first');
    await expect(getModeStatus(page)).toContainText('3 proposed');
    await openWith(makeManyCells(5));
    await expect(getModeStatus(page)).toContainText(/\d+ proposed elsewhere/);
  });

  test('counts what is unseen, and shows a number in a narrow window', async ({
    openWith,
    page
  }) => {
    const { notebook } = await openWith(makeManyCells(5));
    await expect(getModeStatus(page)).toHaveText(/^Agents: edits allowed/);
    await notebook.edit(THREE);
    await expect(getModeStatus(page)).toContainText('3 unseen');
    await expect(getModeStatus(page)).toHaveAccessibleName(/This notebook: 3 changes unseen/);
    for (const [width, isNarrow] of [
      [1400, false],
      [900, false],
      [560, true]
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await expect(getModeStatus(page).getByText('Agents: edits allowed')).toBeVisible({
        visible: !isNarrow
      });
      const count = getModeStatus(page).locator('.jp-mod-count');
      await expect(count).toBeVisible({ visible: isNarrow });
      await expect(isNarrow ? count : getModeStatus(page)).toBeInViewport({ ratio: 1 });
    }
  });

  test('says that edits are stopped while the modes cannot be read, and lets the user resume', async ({
    create,
    dialogs,
    open,
    openWith,
    page
  }) => {
    const notebook = create(makeManyCells(3));
    let unreadable: string | null = 'The database is damaged.';
    const asked: unknown[] = [];
    await page.route(/\/nbedit\/mode(\?|$)/, async route => {
      const request = route.request();
      if (request.method() === 'PUT') {
        asked.push(request.postDataJSON());
        unreadable = null;
      }
      const address = new URL(request.url());
      const path = address.searchParams.get('path');
      const reply = {
        path,
        mode: 'edit',
        own: null,
        server: 'edit',
        fixed: false,
        unreadable,
        writable: true
      };
      await route.fulfill({ json: reply });
    });
    await open(notebook.name);
    const why =
      'Agent edits are stopped: the server cannot read which notebooks are paused or reviewed.';
    await expect(getModeStatus(page)).toContainText('Agents: stopped');
    await expect(getModeStatus(page)).toHaveAccessibleName(
      new RegExp(`^Agents: stopped\\. ${why} The database is damaged\\.`)
    );
    const toast = getToasts(page).filter({ hasText: why });
    await expect(toast).toHaveCount(1);
    // Told once, however often it is read.
    await openWith(makeManyCells(3));
    await expect(getModeStatus(page)).toContainText('Agents: stopped');
    await expect(toast).toHaveCount(1);

    await getModeStatus(page).click();
    await expect(getMenuItem(page, why)).toBeVisible();
    await expect(getMenuItem(page, 'The database is damaged.')).toBeVisible();
    await getMenuItem(page, 'Resume Agent Edits…').click();
    const dialog = page.locator('.jp-Dialog');
    await expect(dialog).toContainText('The database is damaged.');
    expect(await findViolations(dialog.locator('.jp-Dialog-content'))).toEqual([]);
    expect(asked).toEqual([]);
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await expect(getModeStatus(page)).toContainText('Agents: edits allowed');
    await expect(toast).toHaveCount(0);
    expect(asked).toEqual([expect.objectContaining({ mode: null })]);
    expect(dialogs.splice(0)).toHaveLength(1);
  });
});

test.describe('The menus', () => {
  test('have a command behind each entry, and one verb for one thing', async ({ page }) => {
    await loadLab(page);
    const entries = await page.evaluate(async () => {
      const { commands } = window.jupyterapp;
      const registry = await window.galata.getPlugin('@jupyterlab/apputils-extension:settings');
      const { schema } = await registry!.load('jupyter-nbedit:plugin');
      const found: { command: string; args: object }[] = [];
      const collect = (value: unknown): void => {
        if (typeof value === 'object' && value !== null) {
          const { command, args = {} } = value as { command?: string; args?: object };
          if (typeof command === 'string') {
            found.push({ command, args });
          }
          Object.values(value).forEach(collect);
        }
      };
      collect(schema['jupyter.lab.menus']);
      collect(schema['jupyter.lab.shortcuts']);
      return found.map(({ command, args }) => ({
        command,
        label: commands.hasCommand(command) ? commands.label(command, args as never) : null
      }));
    });
    expect(entries.length).toBeGreaterThan(20);
    for (const { command, label } of entries) {
      expect(label, command).not.toBeNull();
      expect(label, command).not.toMatch(/revert|discard|take back|apply/i);
    }
  });

  test('Edit and Settings change the modes, as the status bar does @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    await page.menu.clickMenuItem('Edit>Agent Edits>This Notebook: Paused');
    await expect(getModeStatus(page)).toHaveText(/^Agents: paused/);
    await page.menu.clickMenuItem('Edit>Agent Edits>This Notebook: Default (Edits Allowed)');
    await expect(getModeStatus(page)).toHaveText(/^Agents: edits allowed/);
    await notebook.edit([replace(1)]);
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    await page.menu.clickMenuItem('Edit>Agent Edits>Undo Last Agent Edit');
    await expect(tab.editor(1)).not.toHaveText('theirs = 1');
    await page.menu.clickMenuItem('Edit>Agent Edits>Redo Last Agent Edit');
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    // The mode of all notebooks is that of other tests, too: it is not changed here.
    await page.menu.openLocator('Settings>Agent Edits');
    const item = getMenuItem(page, 'Default for All Notebooks: Edits Allowed');
    await expect(item).toHaveClass(/lm-mod-toggled/);
  });

  test('of a cell show and decide what waits there, and nothing elsewhere', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    await notebook.propose([replace(1), replace(3)]);
    await expect(tab.blocks).toHaveCount(2);

    await openCellMenu(tab, 0);
    await expect(getMenuItem(page, 'Cut Cell')).toBeVisible();
    await expect(getMenuItem(page, 'Show What Changed')).toBeHidden();
    await page.keyboard.press('Escape');

    await openCellMenu(tab, 1);
    await getMenuItem(page, 'Show What Changed').click();
    await expect(tab.block(1)).toBeFocused();
    await openCellMenu(tab, 1);
    await getMenuItem(page, 'Accept This Change').click();
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    await openCellMenu(tab, 3);
    await getMenuItem(page, 'Reject This Change').click();
    await expect(tab.blocks).toHaveCount(0);
    expect(await tab.getSource(3)).not.toContain('theirs');
  });
});

test.describe('A badge', () => {
  const getTab = (page: Page, name: string) =>
    page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab', { hasText: name });
  const getRow = (page: Page, name: string) =>
    page.locator('.jp-DirListing-item', { hasText: name });
  const getHistory = (page: Page) => page.locator('.lm-TabBar-tab[data-id="nbedit-history"]');

  test.describe(() => {
    test.use({ sharesPage: false });

    test('is on the tab, the file and the history until the changes are kept', async ({
      create,
      folder,
      openWith,
      page
    }) => {
      const closed = create(makeManyCells(5));
      const plain = create(makeManyCells(5));
      const { notebook } = await openWith(makeManyCells(5));
      await showFolder(page, folder.getPath(''));
      await expect(getRow(page, plain.name)).toBeVisible();
      await notebook.edit(THREE);
      await closed.edit([replace(1)]);

      const badge = (name: string) => getRow(page, name).getByRole('img', { name: /unseen/ });
      await expect(badge(notebook.name)).toHaveAccessibleName('3 unseen changes');
      await expect(badge(closed.name)).toHaveAccessibleName('1 unseen edit');
      await expect(badge(plain.name)).toHaveCount(0);
      const tab = getTab(page, notebook.name);
      await expect(tab).toHaveClass(/jp-mod-nbedit-unseen/);
      await expect(tab).toHaveAttribute('title', /\n3 unseen changes$/);
      await expect(getHistory(page)).toHaveClass(/jp-mod-nbedit-unseen/);
      await expect(getHistory(page)).toHaveAttribute('title', /Unseen changes in \d+ notebooks?$/);

      await page.reload();
      await expect(tab).toHaveClass(/jp-mod-nbedit-unseen/);
      await runCommand(page, 'nbedit:keep-all');
      await expect(tab).not.toHaveClass(/jp-mod-nbedit-unseen/);
      await expect(tab).not.toHaveAttribute('title', /unseen/);
      await expect(badge(notebook.name)).toHaveCount(0);
      await expect(badge(closed.name)).toHaveCount(1);
    });
  });

  test('follows a file that is renamed, and a folder shows what is in it @nightly', async ({
    create,
    folder,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(5));
    const inner = create(makeManyCells(5), 'sub/inner.ipynb');
    await open(notebook.name);
    await showFolder(page, folder.getPath(''));
    await notebook.edit([replace(1)]);
    await inner.edit([replace(1)]);
    await expect(getRow(page, notebook.name).getByRole('img', { name: /unseen/ })).toHaveCount(1);
    await expect(getRow(page, 'sub').getByRole('img', { name: /unseen/i })).toHaveAccessibleName(
      'Unseen changes in 1 notebook'
    );
    await page.contents.renameFile(notebook.path, folder.getPath('last.ipynb'));
    await page.filebrowser.refresh();
    await expect(getRow(page, 'last.ipynb').getByRole('img', { name: /unseen/ })).toHaveCount(1);
    await expect(getRow(page, notebook.name)).toHaveCount(0);
  });

  test('goes with the marks that a setting switches off @nightly', async ({ openWith, page }) => {
    const { notebook } = await openWith(makeManyCells(5));
    await notebook.edit([replace(1)]);
    const tab = getTab(page, notebook.name);
    await expect(tab).toHaveClass(/jp-mod-nbedit-unseen/);
    await changeSettings(page, { marks: false });
    await expect(tab).not.toHaveClass(/jp-mod-nbedit-unseen/);
    await changeSettings(page, { marks: true });
    await expect(tab).toHaveClass(/jp-mod-nbedit-unseen/);
  });

  test('at a collapsed heading says how much it hides, and leads there', async ({ openWith }) => {
    const { notebook, tab } = await openWith(SECTIONS);
    await notebook.propose(
      ['first', 'second', 'third'].map(cell => ({ op: 'replace', cell, source: `new = '${cell}'` }))
    );
    await expect(tab.blocks).toHaveCount(3);
    const badge = tab.root.locator('.jp-nbedit-heading-badge');
    await expect(badge).toHaveCount(0);

    const toggle = tab.cell(2).locator('.jp-collapseHeadingButton');
    await tab.cell(2).click();
    await toggle.click();
    await expect(badge).toHaveText(['2 changes inside']);
    await expect(tab.cell(2).locator('.jp-nbedit-heading-badge')).toHaveCount(1);
    expect(await findViolations(badge)).toEqual([]);
    await badge.focus();
    await badge.press('Enter');
    await expect(tab.block(3)).toBeFocused();
    await expect(badge).toHaveCount(0);

    await tab.cell(0).click();
    await tab.cell(0).locator('.jp-collapseHeadingButton').click();
    await expect(badge).toHaveText(['3 changes inside']);
  });

  test('in the table of contents stands at headings of sections with changes', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(SECTIONS);
    await page.sidebar.openTab('table-of-contents');
    await notebook.propose([replace('second', 'new')]);
    await expect(tab.blocks).toHaveCount(1);
    const marked = page.locator('.jp-tocItem-content[data-nbedit-changes]');
    await expect(marked).toHaveText(['Deep']);
    await expect(marked).toHaveAttribute('title', 'Deep\n1 change in this section');
    // A new heading, and the table of contents is made again.
    await notebook.setMode(null);
    await notebook.edit([
      { op: 'insert', after: 'deep', cell_type: 'markdown', source: '#### Deepest' }
    ]);
    await expect(marked.filter({ hasText: 'Deepest' })).toHaveCount(1);
    // The proposal marks it as well; only what is shown as unseen is kept.
    await expect(getModeStatus(page)).toContainText('1 unseen');
    await runCommand(page, 'nbedit:accept-proposals');
    await runCommand(page, 'nbedit:keep-all');
    await expect(marked).toHaveCount(0);
  });
});
