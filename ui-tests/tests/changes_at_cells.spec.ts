import type { Locator } from '@playwright/test';
import { expect, test } from './fixtures';
import { getModeStatus, getToasts, press } from './lab';
import { formatNotebook, makeCodeCell, makeManyCells, replace } from './notebooks';
import { changeSettings } from './settings';
import type { Tab } from './tab';

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

function getLines(tab: Tab): Locator {
  return tab.root.locator('.jp-nbedit-line');
}

test.describe('What agents have changed', () => {
  test('is marked at its cells, shown there, and kept or undone', async ({ openWith, page }) => {
    const before = formatNotebook(makeManyCells(10));
    const { notebook, tab } = await openWith(before);
    await notebook.edit(WORK, CLIENT, { message: MESSAGE });
    await expect(tab.bar).toContainText('Claude changed 1 cell, added 1, moved 1, deleted 2');
    await expect(tab.bar).toContainText('Drop the test account.');
    // 8 0 1 2 | 5 6 added 7 9
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 2, 6]);
    await expect(getLines(tab)).toHaveCount(1);
    await expect(getLines(tab)).toContainText('Claude deleted 2 cells');
    await expect(
      page.getByRole('button', {
        name: 'Changed by Claude: Drop the test account. Show what changed'
      })
    ).toBeVisible();
    await expect(tab.changes).toHaveCount(0);

    await tab.mark(2).click();
    await expect(tab.change(2)).toContainText('Claude changed this cell');
    await expect(tab.change(2)).toContainText('Drop the test account.');
    await expect(tab.change(2).locator('.jp-nbedit-diff')).toContainText('theirs = 1');
    await tab.change(2).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSource(2)).not.toContain('theirs');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 6]);

    await getLines(tab).getByRole('button', { name: 'Restore' }).click();
    await expect(getLines(tab)).toHaveCount(0);
    await expect
      .poll(async () => tab.getIds())
      .toEqual(
        [8, 0, 1, 2, 3, 4, 5, 6, 'added', 7, 9].map(id => (id === 'added' ? id : `cell-id-${id}`))
      );

    await tab.bar.getByRole('button', { name: 'Undo all changes' }).click();
    await expect(tab.bar).toBeHidden();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
    await expect.poll(() => notebook.readText()).toBe(before);
  });

  test.describe(() => {
    test.use({ sharesPage: false });

    test('is still marked after a reload, and not any more once it is kept', async ({
      create,
      open,
      page
    }) => {
      const notebook = create(makeManyCells(10));
      // The notebook is closed.
      await notebook.edit(WORK, CLIENT, { message: MESSAGE });
      const tab = await open(notebook.name);
      await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 2, 6]);
      await tab.bar.getByRole('button', { name: 'Keep all changes' }).click();
      await expect(tab.bar).toBeHidden();
      await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
      await notebook.edit([replace(9)], CLIENT);
      await expect.poll(async () => tab.listMarkedCells()).toEqual([8]);
      await page.reload({ waitForIsReady: false } as never);
      const again = await open(notebook.name);
      await expect.poll(async () => again.listMarkedCells()).toEqual([8]);
    });
  });

  test('has one number everywhere: that of the changes, not that of their places @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(12));
    await notebook.edit(
      [
        replace(1),
        ...[3, 4, 5].map(index => ({ op: 'delete', cell: `cell-id-${index}` })),
        replace(8),
        { op: 'set_metadata', patch: { authors: ['ada'] } }
      ],
      CLIENT
    );
    await expect(tab.bar).toContainText('– of 6');
    await expect(getModeStatus(page)).toContainText('6 unseen');
    const view = getToasts(page).getByRole('button', { name: 'View' });
    await expect(view).toHaveText('View 1 of 6');
    const badge = page.locator('.lm-TabBar-tab.jp-mod-nbedit-unseen', { hasText: notebook.name });
    await expect(badge).toHaveAttribute('title', /\n6 unseen changes$/);
    await view.click();
    await view.click();
    await expect(view).toHaveText('View 3–5 of 6');
    await tab.placeCaret(0);
    await press(page, 'Escape', 'Alt+F5', 'Alt+F5', 'Alt+F5');
    await expect(tab.bar).toContainText('3–5 of 6');
    await press(page, 'Alt+F5');
    await expect(tab.bar).toContainText('6 of 6');
  });

  test('is reviewed with the keyboard, which never reaches the cells', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(40));
    await notebook.edit([replace(1), { op: 'delete', cell: 'cell-id-20' }, replace(35)], CLIENT);
    await expect(tab.bar).toContainText('Claude changed 2 cells, deleted 1');
    await tab.placeCaret(0);
    await press(page, 'Escape', 'Alt+F5');
    await expect(tab.change(1)).toBeFocused();
    await expect(tab.bar).toContainText('1 of 3');
    await press(page, 'd', 'd', 'a', 'x');
    expect(await tab.getSources()).toHaveLength(39);
    await press(page, 'n');
    await expect.poll(async () => tab.getSource(1)).not.toContain('theirs');
    // The block of the deleted cell is the next.
    await expect(tab.change(19)).toBeFocused();
    await press(page, 'n');
    await expect(tab.change(35)).toBeFocused();
    expect(await tab.getSources()).toHaveLength(40);
    await press(page, 'Tab', 'd', 'd');
    expect(await tab.getSources()).toHaveLength(40);
    await press(page, 'y');
    await expect(tab.bar).toBeHidden();
    await expect(tab.changes).toHaveCount(0);
    expect((await tab.getViewState()).mode).toBe('command');
    expect(await tab.getSource(35)).toBe('theirs = 35');
    await press(page, 'ArrowDown');
    await expect.poll(async () => (await tab.getViewState()).activeCellIndex).toBe(36);
  });

  test('is opened at its mark by Enter, and closed by Escape @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    await notebook.edit([replace(2)], CLIENT);
    await tab.mark(2).focus();
    await press(page, 'Enter');
    await expect(tab.change(2)).toBeFocused();
    await expect(tab.mark(2)).toHaveAttribute('aria-expanded', 'true');
    await press(page, 'Escape');
    await expect(tab.changes).toHaveCount(0);
    await expect(tab.cell(2)).toBeFocused();
    const state = await tab.getViewState();
    expect([state.mode, state.activeCellIndex]).toEqual(['command', 2]);
    await expect(tab.mark(2)).toBeVisible();
  });

  test('does not take the focus of somebody who types', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(30));
    await tab.placeCaret(20);
    const top = await tab.getCellTop('cell-id-20');
    await notebook.edit(
      [replace(1), replace(19), { op: 'delete', cell: 'cell-id-18' }, replace(22)],
      CLIENT
    );
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 18, 21]);
    await page.keyboard.type(' # mine');
    await tab.mark(18).click();
    await expect(tab.change(18)).toBeVisible();
    await page.keyboard.type(' more');
    await tab.change(18).getByRole('button', { name: 'Keep' }).click();
    await expect(tab.changes).toHaveCount(0);
    await page.keyboard.type(' yet');
    expect(await tab.getSource(19)).toMatch(/ # mine more yet$/);
    await tab.waitFrames(40);
    expect(Math.abs((await tab.getCellTop('cell-id-20')) - top)).toBeLessThanOrEqual(1);
  });

  test('is compared with what the user types in its cell @nightly', async ({ openWith }) => {
    const { notebook, tab } = await openWith([makeCodeCell('a', 'one\ntwo\nthree')]);
    await notebook.edit([replace('a', 'ONE\ntwo\nthree')], CLIENT);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0]);
    await tab.mark(0).click();
    await expect(tab.change(0).locator('.jp-nbedit-diff')).toContainText('ONE');
    await tab.typeText(0, ' # mine');
    await expect(tab.change(0).locator('.jp-nbedit-diff')).toContainText('three # mine');
    await tab.change(0).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSource(0)).toBe('one\ntwo\nthree # mine');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
  });

  test('is at its cells in a notebook without ids @nightly', async ({ openWith }) => {
    const cells = ['a', 'b', 'c', 'd'].map(source => makeCodeCell(null, source));
    const { notebook, tab } = await openWith(formatNotebook(cells, 4));
    await notebook.edit(
      [
        { op: 'replace', cell: 3, source: 'D' },
        { op: 'delete', cell: 1 }
      ],
      CLIENT
    );
    await expect.poll(async () => tab.listMarkedCells()).toEqual([2]);
    await expect(tab.cell(0).locator('.jp-nbedit-line')).toHaveCount(1);
    await tab.mark(2).click();
    await tab.change(2).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.getSources()).toEqual(['a', 'c', 'd']);
    await getLines(tab).getByRole('button', { name: 'Restore' }).click();
    await expect.poll(async () => tab.getSources()).toEqual(['a', 'b', 'c', 'd']);
    await expect(tab.bar).toBeHidden();
  });

  test('is shown when the notebook in front of theirs is closed @nightly', async ({
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(3));
    const front = create(makeManyCells(3));
    const tab = await open(notebook.name);
    await open(front.name);
    await notebook.edit([replace(1)], CLIENT);
    await page
      .locator('.lm-DockPanel-tabBar .lm-TabBar-tab', { hasText: front.name })
      .locator('.lm-TabBar-tabCloseIcon')
      .click();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
    await expect(tab.bar).toContainText('Claude changed 1 cell');
  });

  test('is in one bar with what is proposed, and one way goes through both @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(10));
    await notebook.edit([replace(1), replace(6)], CLIENT);
    await notebook.propose([replace(4)]);
    await expect(tab.bar).toContainText('Claude changed 2 cells · 1 proposed');
    await tab.placeCaret(0);
    await press(page, 'Escape', 'Alt+F5', 'Alt+F5');
    await expect(tab.proposal(4)).toBeFocused();
    await expect(tab.bar).toContainText('2 of 3');
    await press(page, 'Alt+Shift+F5');
    await expect(tab.change(1)).toBeFocused();
    await press(page, 'Alt+Shift+F5');
    await expect(tab.change(6)).toBeFocused();
    await expect(tab.changes).toHaveCount(1);
  });

  test('is kept for all browsers of the user @nightly', async ({ anotherWindow, create, open }) => {
    const notebook = create(makeManyCells(5));
    const first = await open(notebook.name);
    const page = await anotherWindow();
    const second = await open(notebook.name, { page });
    await notebook.edit([replace(1), replace(2)], CLIENT);
    await expect.poll(async () => second.listMarkedCells()).toEqual([1, 2]);
    await first.mark(1).click();
    await first.change(1).getByRole('button', { name: 'Keep' }).click();
    await expect.poll(async () => second.listMarkedCells()).toEqual([2]);
    await expect.poll(async () => first.listMarkedCells()).toEqual([2]);
  });

  test('is not marked if the setting is off, and is once it is on @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    await changeSettings(page, { marks: false });
    await notebook.edit([replace(1)], CLIENT);
    await expect.poll(async () => tab.getSource(1)).toBe('theirs = 1');
    await tab.waitFrames(40);
    expect(await tab.listMarkedCells()).toEqual([]);
    await expect(tab.bar).toBeHidden();
    await changeSettings(page, { marks: true });
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);
  });

  test('flashes, and is not marked, with a server that does not know what is unseen @nightly', async ({
    openWith,
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
    const { notebook, tab } = await openWith(makeManyCells(5));
    const listFlashes = await tab.watchFlashes();
    await notebook.edit([replace(1)], CLIENT);
    await expect.poll(listFlashes).toEqual(['cell-id-1']);
    expect(await tab.listMarkedCells()).toEqual([]);
    await expect(tab.bar).toBeHidden();
    expect(errors).toEqual([]);
  });
});

for (const windowingMode of ['defer', 'full', 'none', 'contentVisibility']) {
  test.describe(`In windowing mode ${windowingMode}`, () => {
    test.use({ mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode } } });

    test('marks, lines and the bar do not move what is in sight @nightly', async ({ openWith }) => {
      const { notebook, tab } = await openWith(makeManyCells(60));
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
      await notebook.edit(
        [
          replace(5),
          replace(27, 'a\nb\nc\nd'),
          { op: 'delete', cell: 'cell-id-28' },
          { op: 'delete', cell: 'cell-id-3' },
          { op: 'insert', after: 'cell-id-26', cell_type: 'code', source: 'a\nb\nc' }
        ],
        CLIENT
      );
      await expect(tab.bar).toBeVisible();
      await expectPlace('after the edit');
      const index = (await tab.getIds()).indexOf('cell-id-27');
      await tab.mark(index).click();
      await expect(tab.change(index)).toHaveCount(1);
      await expectPlace('with a block');
      await tab.change(index).getByRole('button', { name: 'Close' }).dispatchEvent('click');
      await expectPlace('without a block');
      await tab.bar.getByRole('button', { name: 'Keep all changes' }).click();
      await expect(tab.bar).toBeHidden();
      await expectPlace('when all is kept');
    });
  });
}
