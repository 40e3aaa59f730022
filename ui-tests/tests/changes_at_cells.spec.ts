import type { Locator, Page } from '@playwright/test';
import { findViolations } from './axe';
import { expect, test } from './fixtures';
import { formatNotebook, makeCodeCell, makeManyCells } from './notebooks';
import { setTheme, THEMES } from './pictures';
import { changeSettings } from './settings';
import type { Tab } from './tab';

const replace = (index: number, source = `theirs = ${index}`) => ({
  op: 'replace',
  cell: `cell-id-${index}`,
  source
});

/** An agent changes, deletes, adds and moves cells, for a reason. */
const WORK = [
  replace(1),
  { op: 'delete', cell: 'cell-id-3' },
  { op: 'delete', cell: 'cell-id-4' },
  { op: 'insert', after: 'cell-id-6', id: 'added', cell_type: 'code', source: 'added = 1' },
  { op: 'move', cell: 'cell-id-8', index: 0 }
];
const CLIENT = 'Claude';
const MESSAGE = 'Drop the test account.';

function getBar(tab: Tab): Locator {
  return tab.root.getByRole('region', { name: 'Changes by agents' });
}

function getBlocks(tab: Tab): Locator {
  return tab.root.locator('.jp-nbedit-change');
}

function getBlock(tab: Tab, index: number): Locator {
  return tab.cell(index).locator('.jp-nbedit-change');
}

function getLines(tab: Tab): Locator {
  return tab.root.locator('.jp-nbedit-line');
}

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) {
    await page.keyboard.press(key);
  }
}

test.describe('What agents have changed', () => {
  test('is marked at its cells, shown there, and kept or undone', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const before = formatNotebook(makeManyCells(10));
    folder.write('work.ipynb', before);
    const path = folder.getPath('work.ipynb');
    const tab = await open('work.ipynb');
    await agent.edit(path, WORK, CLIENT, { message: MESSAGE });
    await expect(getBar(tab)).toContainText('Claude changed 1 cell, added 1, moved 1, deleted 2');
    await expect(getBar(tab)).toContainText('Drop the test account.');
    // 8 0 1 2 | 5 6 added 7 9
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 2, 6]);
    await expect(getLines(tab)).toHaveCount(1);
    await expect(getLines(tab)).toContainText('Claude deleted 2 cells');
    await expect(
      page.getByRole('button', {
        name: 'Changed by Claude: Drop the test account. Show what changed'
      })
    ).toBeVisible();
    await expect(getBlocks(tab)).toHaveCount(0);

    await tab.mark(2).click();
    await expect(getBlock(tab, 2)).toContainText('Claude changed this cell');
    await expect(getBlock(tab, 2)).toContainText('Drop the test account.');
    await expect(getBlock(tab, 2).locator('.jp-nbedit-diff')).toContainText('theirs = 1');
    await getBlock(tab, 2).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSource(2)).not.toContain('theirs');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 6]);

    await getLines(tab).getByRole('button', { name: 'Restore' }).click();
    await expect(getLines(tab)).toHaveCount(0);
    await expect
      .poll(async () => tab.getIds())
      .toEqual(
        [8, 0, 1, 2, 3, 4, 5, 6, 'added', 7, 9].map(id => (id === 'added' ? id : `cell-id-${id}`))
      );

    await getBar(tab).getByRole('button', { name: 'Undo all changes' }).click();
    await expect(getBar(tab)).toBeHidden();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    await expect.poll(() => folder.readText('work.ipynb')).toBe(before);
  });

  test.describe(() => {
    test.use({ sharesPage: false });

    test('is still marked after a reload, and not any more once it is kept', async ({
      agent,
      folder,
      open,
      page
    }) => {
      folder.write('later.ipynb', formatNotebook(makeManyCells(10)));
      const path = folder.getPath('later.ipynb');
      // The notebook is closed.
      await agent.edit(path, WORK, CLIENT, { message: MESSAGE });
      const tab = await open('later.ipynb');
      await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 2, 6]);
      await getBar(tab).getByRole('button', { name: 'Keep all changes' }).click();
      await expect(getBar(tab)).toBeHidden();
      await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
      await agent.edit(path, [replace(9)], CLIENT);
      await expect.poll(async () => tab.listMarkedCells()).toEqual([8]);
      await page.reload({ waitForIsReady: false } as never);
      const again = await open('later.ipynb');
      await expect.poll(async () => again.listMarkedCells()).toEqual([8]);
    });
  });

  test('has one number everywhere: that of the changes, not that of their places @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('number.ipynb', formatNotebook(makeManyCells(12)));
    const path = folder.getPath('number.ipynb');
    const tab = await open('number.ipynb');
    await agent.edit(
      path,
      [
        replace(1),
        ...[3, 4, 5].map(index => ({ op: 'delete', cell: `cell-id-${index}` })),
        replace(8),
        { op: 'set_metadata', patch: { authors: ['ada'] } }
      ],
      CLIENT
    );
    await expect(getBar(tab)).toContainText('– of 6');
    await expect(page.locator('.jp-nbedit-mode-status-button')).toContainText('6 unseen');
    const view = page.locator('.Toastify__toast').getByRole('button', { name: 'View' });
    await expect(view).toHaveText('View 1 of 6');
    const badge = page.locator('.lm-TabBar-tab.jp-mod-nbedit-unseen', { hasText: 'number.ipynb' });
    await expect(badge).toHaveAttribute('title', /\n6 unseen changes$/);
    await view.click();
    await view.click();
    await expect(view).toHaveText('View 3–5 of 6');
    await tab.placeCaret(0);
    await press(page, 'Escape', 'Alt+F5', 'Alt+F5', 'Alt+F5');
    await expect(getBar(tab)).toContainText('3–5 of 6');
    await press(page, 'Alt+F5');
    await expect(getBar(tab)).toContainText('6 of 6');
  });

  test('is reviewed with the keyboard, which never reaches the cells', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('keys.ipynb', formatNotebook(makeManyCells(40)));
    const path = folder.getPath('keys.ipynb');
    const tab = await open('keys.ipynb');
    await agent.edit(path, [replace(1), { op: 'delete', cell: 'cell-id-20' }, replace(35)], CLIENT);
    await expect(getBar(tab)).toContainText('Claude changed 2 cells, deleted 1');
    await tab.placeCaret(0);
    await press(page, 'Escape', 'Alt+F5');
    await expect(getBlock(tab, 1)).toBeFocused();
    await expect(getBar(tab)).toContainText('1 of 3');
    await press(page, 'd', 'd', 'a', 'x');
    expect(await tab.getSources()).toHaveLength(39);
    await press(page, 'n');
    await expect.poll(async () => tab.getSource(1)).not.toContain('theirs');
    // The block of the deleted cell is the next.
    await expect(getBlock(tab, 19)).toBeFocused();
    await press(page, 'n');
    await expect(getBlock(tab, 35)).toBeFocused();
    expect(await tab.getSources()).toHaveLength(40);
    await press(page, 'Tab', 'd', 'd');
    expect(await tab.getSources()).toHaveLength(40);
    await press(page, 'y');
    await expect(getBar(tab)).toBeHidden();
    await expect(getBlocks(tab)).toHaveCount(0);
    expect((await tab.getViewState()).mode).toBe('command');
    expect(await tab.getSource(35)).toBe('theirs = 35');
    await press(page, 'ArrowDown');
    await expect.poll(async () => (await tab.getViewState()).activeCellIndex).toBe(36);
  });

  test('is opened at its mark by Enter, and closed by Escape @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('enter.ipynb', formatNotebook(makeManyCells(5)));
    const tab = await open('enter.ipynb');
    await agent.edit(folder.getPath('enter.ipynb'), [replace(2)], CLIENT);
    await tab.mark(2).focus();
    await press(page, 'Enter');
    await expect(getBlock(tab, 2)).toBeFocused();
    await expect(tab.mark(2)).toHaveAttribute('aria-expanded', 'true');
    await press(page, 'Escape');
    await expect(getBlocks(tab)).toHaveCount(0);
    await expect(tab.cell(2)).toBeFocused();
    const state = await tab.getViewState();
    expect([state.mode, state.activeCellIndex]).toEqual(['command', 2]);
    await expect(tab.mark(2)).toBeVisible();
  });

  test('does not take the focus of somebody who types', async ({ agent, folder, open, page }) => {
    folder.write('typing.ipynb', formatNotebook(makeManyCells(30)));
    const path = folder.getPath('typing.ipynb');
    const tab = await open('typing.ipynb');
    await tab.placeCaret(20);
    const top = await tab.getCellTop('cell-id-20');
    await agent.edit(
      path,
      [replace(1), replace(19), { op: 'delete', cell: 'cell-id-18' }, replace(22)],
      CLIENT
    );
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 18, 21]);
    await page.keyboard.type(' # mine');
    await tab.mark(18).click();
    await expect(getBlock(tab, 18)).toBeVisible();
    await page.keyboard.type(' more');
    await getBlock(tab, 18).getByRole('button', { name: 'Keep' }).click();
    await expect(getBlocks(tab)).toHaveCount(0);
    await page.keyboard.type(' yet');
    expect(await tab.getSource(19)).toMatch(/ # mine more yet$/);
    await tab.waitFrames(40);
    expect(Math.abs((await tab.getCellTop('cell-id-20')) - top)).toBeLessThanOrEqual(1);
  });

  test('is compared with what the user types in its cell @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('mine.ipynb', formatNotebook([makeCodeCell('a', 'one\ntwo\nthree')]));
    const path = folder.getPath('mine.ipynb');
    const tab = await open('mine.ipynb');
    await agent.edit(path, [{ op: 'replace', cell: 'a', source: 'ONE\ntwo\nthree' }], CLIENT);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0]);
    await tab.mark(0).click();
    await expect(getBlock(tab, 0).locator('.jp-nbedit-diff')).toContainText('ONE');
    await tab.typeText(0, ' # mine');
    await expect(getBlock(tab, 0).locator('.jp-nbedit-diff')).toContainText('three # mine');
    await getBlock(tab, 0).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSource(0)).toBe('one\ntwo\nthree # mine');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
  });

  test('is at its cells in a notebook without ids @nightly', async ({ agent, folder, open }) => {
    const cells = ['a', 'b', 'c', 'd'].map(source => makeCodeCell(null, source));
    folder.write('old.ipynb', formatNotebook(cells, 4));
    const path = folder.getPath('old.ipynb');
    const tab = await open('old.ipynb');
    await agent.edit(
      path,
      [
        { op: 'replace', cell: 3, source: 'D' },
        { op: 'delete', cell: 1 }
      ],
      CLIENT
    );
    await expect.poll(async () => tab.listMarkedCells()).toEqual([2]);
    await expect(tab.cell(0).locator('.jp-nbedit-line')).toHaveCount(1);
    await tab.mark(2).click();
    await getBlock(tab, 2).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSources()).toEqual(['a', 'c', 'd']);
    await getLines(tab).getByRole('button', { name: 'Restore' }).click();
    await expect.poll(async () => tab.getSources()).toEqual(['a', 'b', 'c', 'd']);
    await expect(getBar(tab)).toBeHidden();
  });

  test('is shown when the notebook in front of theirs is closed @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('behind.ipynb', formatNotebook(makeManyCells(3)));
    folder.write('front.ipynb', formatNotebook(makeManyCells(3)));
    const tab = await open('behind.ipynb');
    await open('front.ipynb');
    await agent.edit(folder.getPath('behind.ipynb'), [replace(1)], CLIENT);
    await page
      .locator('.lm-DockPanel-tabBar .lm-TabBar-tab', { hasText: 'front.ipynb' })
      .locator('.lm-TabBar-tabCloseIcon')
      .click();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    await expect(getBar(tab)).toContainText('Claude changed 1 cell');
  });

  test('is in one bar with what is proposed, and one way goes through both @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('both.ipynb', formatNotebook(makeManyCells(10)));
    const path = folder.getPath('both.ipynb');
    const tab = await open('both.ipynb');
    await agent.edit(path, [replace(1), replace(6)], CLIENT);
    await agent.setMode(path, 'review');
    await agent.propose(path, [replace(4)]);
    await expect(getBar(tab)).toContainText('Claude changed 2 cells · 1 proposed');
    await tab.placeCaret(0);
    await press(page, 'Escape', 'Alt+F5', 'Alt+F5');
    await expect(tab.cell(4).locator('.jp-nbedit-proposal')).toBeFocused();
    await expect(getBar(tab)).toContainText('2 of 3');
    await press(page, 'Alt+Shift+F5');
    await expect(getBlock(tab, 1)).toBeFocused();
    await press(page, 'Alt+Shift+F5');
    await expect(getBlock(tab, 6)).toBeFocused();
    await expect(getBlocks(tab)).toHaveCount(1);
  });

  test('is kept for all browsers of the user @nightly', async ({
    agent,
    folder,
    open,
    anotherWindow
  }) => {
    folder.write('two.ipynb', formatNotebook(makeManyCells(5)));
    const path = folder.getPath('two.ipynb');
    const first = await open('two.ipynb');
    const page = await anotherWindow();
    const second = await open('two.ipynb', { page });
    await agent.edit(path, [replace(1), replace(2)], CLIENT);
    await expect.poll(async () => second.listMarkedCells()).toEqual([1, 2]);
    await first.mark(1).click();
    await getBlock(first, 1).getByRole('button', { name: 'Keep' }).click();
    await expect.poll(async () => second.listMarkedCells()).toEqual([2]);
    await expect.poll(async () => first.listMarkedCells()).toEqual([2]);
  });

  test('is not marked if the setting is off, and is once it is on @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('off.ipynb', formatNotebook(makeManyCells(5)));
    const path = folder.getPath('off.ipynb');
    const tab = await open('off.ipynb');
    await changeSettings(page, { marks: false });
    await agent.edit(path, [replace(1)], CLIENT);
    await expect.poll(async () => tab.getSource(1)).toBe('theirs = 1');
    await tab.waitFrames(40);
    expect(await tab.listMarkedCells()).toEqual([]);
    await expect(getBar(tab)).toBeHidden();
    await changeSettings(page, { marks: true });
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
  });

  test('flashes, and is not marked, with a server that does not know what is unseen @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    await page.route(/\/nbedit\/(notebooks\/.*\/)?unseen/, route =>
      route.fulfill({ status: 404, body: '{}' })
    );
    const errors: string[] = [];
    page.on('console', message => {
      // On a slow machine, JupyterLab says how long each plugin took to activate.
      if (/jupyter-nbedit(?!.* to activate)/.test(message.text())) {
        errors.push(message.text());
      }
    });
    folder.write('old.ipynb', formatNotebook(makeManyCells(5)));
    const tab = await open('old.ipynb');
    const listFlashes = await tab.watchFlashes();
    await agent.edit(folder.getPath('old.ipynb'), [replace(1)], CLIENT);
    await expect.poll(listFlashes).toEqual(['cell-id-1']);
    expect(await tab.listMarkedCells()).toEqual([]);
    await expect(getBar(tab)).toBeHidden();
    expect(errors).toEqual([]);
  });

  for (const theme of [...THEMES, 'high contrast'] as const) {
    test(`can be used by everybody, in the ${theme} theme @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      folder.write('axe.ipynb', formatNotebook(makeManyCells(10)));
      const tab = await open('axe.ipynb');
      if (theme === 'high contrast') {
        await page.evaluate(async () => {
          const name = 'JupyterLab Dark High Contrast';
          await window.jupyterapp.commands.execute('apputils:change-theme', { theme: name });
        });
        await expect(page.locator('body[data-jp-theme-name$="High Contrast"]')).toBeAttached();
      } else {
        await setTheme(page, theme);
      }
      await agent.edit(folder.getPath('axe.ipynb'), WORK, CLIENT, { message: MESSAGE });
      await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 2, 6]);
      await tab.mark(2).click();
      await expect(getBlock(tab, 2)).toBeVisible();
      for (const element of [getBar(tab), getLines(tab), tab.mark(0), getBlock(tab, 2)]) {
        expect(await findViolations(element)).toEqual([]);
      }
      await getLines(tab).getByRole('button', { name: 'Show' }).click();
      await expect(getBlock(tab, 3)).toBeFocused();
      await expect(getBlock(tab, 3).locator('.jp-nbedit-diff')).toHaveCount(2);
      expect(await findViolations(getBlock(tab, 3))).toEqual([]);
    });
  }
});

for (const windowingMode of ['defer', 'full', 'none', 'contentVisibility']) {
  test.describe(`In windowing mode ${windowingMode}`, () => {
    test.use({ mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode } } });

    test('marks, lines and the bar do not move what is in sight @nightly', async ({
      agent,
      folder,
      open
    }) => {
      folder.write('drift.ipynb', formatNotebook(makeManyCells(60)));
      const path = folder.getPath('drift.ipynb');
      const tab = await open('drift.ipynb');
      await tab.scrollToCell(30);
      // The cell of the user keeps its place, whatever is put between the cells around it.
      const middle = 'cell-id-30';
      await tab.placeCaret(30);
      const top = await tab.getCellTop(middle);
      const expectPlace = async (when: string): Promise<void> => {
        await tab.waitFrames(40);
        await expect
          .poll(async () => Math.abs((await tab.getCellTop(middle)) - top), { message: when })
          .toBeLessThan(1);
      };
      await agent.edit(
        path,
        [
          replace(5),
          replace(27, 'a\nb\nc\nd'),
          { op: 'delete', cell: 'cell-id-28' },
          { op: 'delete', cell: 'cell-id-3' },
          { op: 'insert', after: 'cell-id-26', cell_type: 'code', source: 'a\nb\nc' }
        ],
        CLIENT
      );
      await expect(getBar(tab)).toBeVisible();
      await expectPlace('after the edit');
      const index = (await tab.getIds()).indexOf('cell-id-27');
      await tab.mark(index).click();
      await expect(getBlock(tab, index)).toHaveCount(1);
      await expectPlace('with a block');
      await getBlock(tab, index).getByRole('button', { name: 'Close' }).dispatchEvent('click');
      await expectPlace('without a block');
      await getBar(tab).getByRole('button', { name: 'Keep all changes' }).click();
      await expect(getBar(tab)).toBeHidden();
      await expectPlace('when all is kept');
    });
  });
}
