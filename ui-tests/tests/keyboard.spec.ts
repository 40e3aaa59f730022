import type { Locator } from '@playwright/test';
import { expect, test, type TestArgs } from './fixtures';
import { getModeStatus, getToasts, press } from './lab';
import type { Notebook } from './notebook';
import { makeManyCells, replace } from './notebooks';
import { HistoryPanel } from './panel';
import { setTheme } from './pictures';
import type { Tab } from './tab';
import { isOldestLab } from './version';

// In JupyterLab 4.2, only the cells in sight would be on the page.
test.use({
  mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode: 'defer' } }
});

/** Open a notebook of many cells in command mode, with the focus on its first cell. */
async function openInCommandMode(
  openWith: TestArgs['openWith'],
  count = 8
): Promise<{ notebook: Notebook; tab: Tab }> {
  const opened = await openWith(makeManyCells(count));
  const { tab } = opened;
  await tab.placeCaret(0);
  await tab.page.keyboard.press('Escape');
  await expect(tab.cell(0)).toBeFocused();
  return opened;
}

/** Press Tab, or Shift+Tab, until an element has the focus; it must then be seen to have it. */
async function tabTo(target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const page = target.page();
  await target.waitFor();
  for (let count = 0; count < 80; count++) {
    await page.keyboard.press(key);
    if (await target.evaluate(node => node === document.activeElement)) {
      await expectVisibleFocus(target);
      return;
    }
  }
  throw new Error(`${key} does not lead to ${target.toString()}.`);
}

/** An element that has the focus has an outline of at least one pixel, which others have not. */
async function expectVisibleFocus(target: Locator): Promise<void> {
  await expect(target).toBeFocused();
  await expect
    .poll(async () =>
      target.evaluate(node => {
        const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(node);
        const hasOutline =
          outlineStyle !== 'none' &&
          Number.parseFloat(outlineWidth) >= 1 &&
          !outlineColor.endsWith(', 0)');
        return hasOutline || boxShadow !== 'none';
      })
    )
    .toBe(true);
}

/** The focus is in the notebook or a panel, and not lost. */
async function expectFocusWithin(place: Locator): Promise<void> {
  await expect
    .poll(async () => place.evaluate(node => node.contains(document.activeElement)))
    .toBe(true);
}

test.describe('With the keyboard alone', () => {
  for (const theme of ['light', 'dark', 'high contrast'] as const) {
    test(`marks, blocks, lines and the bar are reached, and the focus is seen: ${theme} @nightly`, async ({
      openWith,
      page
    }) => {
      const { notebook, tab } = await openInCommandMode(openWith);
      await setTheme(page, theme);
      const line = tab.root.locator('.jp-nbedit-line');
      await notebook.edit([replace(1), { op: 'delete', cell: 'cell-id-3' }, replace(5)]);
      await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 4]);

      await tabTo(tab.mark(1));
      await press(page, 'Enter');
      await expect(tab.block(1)).toBeFocused();
      for (const name of ['Close', 'Undo', 'Keep']) {
        await tabTo(tab.block(1).getByRole('button', { name: new RegExp(`^${name}: `) }));
      }
      await press(page, 'Shift+Tab', 'Shift+Tab', 'Enter');
      await expect(tab.block(1)).toHaveCount(0);
      await expectFocusWithin(tab.root);
      expect(await tab.getViewState()).toMatchObject({ mode: 'command', activeCellIndex: 1 });

      const show = line.getByRole('button', { name: /^Show/ });
      await tabTo(show);
      await press(page, 'Enter');
      await expect(show).toHaveAttribute('aria-expanded', 'true');
      await expect(tab.block(2)).toBeFocused();
      await press(page, 'Escape');
      await expect(tab.block(2)).toHaveCount(0);
      await expect(show).toHaveAttribute('aria-expanded', 'false');
      await expectFocusWithin(tab.root);
      await tabTo(line.getByRole('button', { name: /^Keep/ }));
      await tabTo(line.getByRole('button', { name: /^Restore/ }));
      await press(page, 'Enter');
      await expect(line).toHaveCount(0);
      // The next change.
      await expect(tab.block(5)).toBeFocused();
      await press(page, 'Escape');

      const bar = tab.bar;
      for (const name of ['Keep all changes', 'Undo all changes', 'Go to the previous change']) {
        await tabTo(bar.getByRole('button', { name }), 'Shift+Tab');
      }
      await tabTo(bar.getByRole('button', { name: 'Go to the next change' }));
      await press(page, 'Enter');
      await expect(tab.blocks).toBeFocused();
      await press(page, 'Escape');
      await tabTo(bar.getByRole('button', { name: 'Undo all changes' }), 'Shift+Tab');
      await press(page, 'Enter');
      await expect(bar).toBeHidden();
      await expect.poll(async () => tab.getSource(5)).not.toContain('theirs');
      await expectFocusWithin(tab.root);
    });
  }

  test('conflicts are decided, one by one and all @nightly', async ({ openWith, page }) => {
    const { notebook, tab } = await openInCommandMode(openWith);
    for (const index of [1, 2, 3, 4]) {
      await tab.typeText(index, '  # mine');
    }
    await press(page, 'Escape');
    await notebook.edit([1, 2, 3, 4].map(index => replace(index)));
    const marks = tab.root.locator('.jp-nbedit-conflict-mark');
    await expect(marks).toHaveCount(4);
    const find = (index: number, name: RegExp) => tab.cell(index).getByRole('button', { name });
    await tabTo(marks.nth(0), 'Shift+Tab');
    await press(page, 'Enter');
    await expectFocusWithin(tab.cell(1));
    await tabTo(find(1, /^Mine/));
    await tabTo(find(1, /^Theirs/));
    await tabTo(find(1, /^Both/));
    await press(page, 'Enter');
    await expect(marks).toHaveCount(3);
    expect(await tab.getSource(1)).toMatch(/# mine\ntheirs = 1$/);
    await expectFocusWithin(tab.root);
    await tabTo(find(2, /^Mine/));
    await press(page, 'Enter');
    await expect(marks).toHaveCount(2);
    expect(await tab.getSource(2)).toMatch(/# mine$/);
    await expectFocusWithin(tab.root);
    await tabTo(
      tab.bar.getByRole('button', { name: 'Keep my text in all conflicts' }),
      'Shift+Tab'
    );
    await tabTo(tab.bar.getByRole('button', { name: 'Take the other text in all conflicts' }));
    await press(page, 'Enter');
    await expect(marks).toHaveCount(0);
    await expect.poll(async () => tab.getSource(4)).toBe('theirs = 4');
    await expectFocusWithin(tab.root);
  });

  test('proposals are shown, edited, and rejected with a reason @nightly', async ({
    agent,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openInCommandMode(openWith);
    const id = await notebook.propose([1, 3, 5, 6].map(index => replace(index)));
    const blocks = tab.proposals;
    await expect(blocks).toHaveCount(4);
    const find = (index: number, name: string | RegExp) =>
      tab.block(index).getByRole('button', { name });

    await press(page, 'Alt+F5');
    await expect(tab.block(1)).toBeFocused();
    await tabTo(find(1, 'Show the cell'));
    await press(page, 'Enter');
    await expect(find(1, 'Fold the cell')).toBeFocused();
    await tabTo(find(1, /^Reject with a reason/), 'Shift+Tab');
    await press(page, 'Enter');
    await expect(tab.block(1).getByLabel('Reason, for the agent:')).toBeFocused();
    await press(page, 'Escape');
    await expectFocusWithin(tab.block(1));
    await expect(blocks).toHaveCount(4);
    await tabTo(find(1, /^Reject with a reason/));
    await press(page, 'Enter');
    await page.keyboard.type('Not yet.');
    await press(page, 'Enter');
    await expect(blocks).toHaveCount(3);
    expect((await agent.getProposal(id)).parts[0].status).toBe('rejected');
    await expect(tab.block(3)).toBeFocused();

    const editor = tab.block(3).locator('.cm-content[contenteditable="true"]');
    await tabTo(find(3, /^Edit first/));
    await press(page, 'Enter');
    await expect(editor).toBeFocused();
    await press(page, 'Control+End');
    await page.keyboard.type(' # with y and n');
    await press(page, 'Escape');
    await expect(tab.block(3)).toBeFocused();
    await tabTo(find(3, /^Edit first/));
    await press(page, 'Enter');
    await expect(editor).toBeFocused();
    await tabTo(find(3, /^Accept/), 'Shift+Tab');
    await press(page, 'Enter');
    await expect.poll(async () => tab.getSource(3)).toBe('theirs = 3 # with y and n');
    await expect(blocks).toHaveCount(2);
    await expect(tab.block(5)).toBeFocused();

    await tabTo(tab.bar.getByRole('button', { name: /^Reject all/ }), 'Shift+Tab');
    await tabTo(tab.bar.getByRole('button', { name: /^Accept all/ }));
    await press(page, 'Enter');
    await expect(blocks).toHaveCount(0);
    await expect.poll(async () => tab.getSource(6)).toBe('theirs = 6');
    await expectFocusWithin(tab.root);
  });

  test('the list of proposals is decided on, and keeps the focus @nightly', async ({
    create,
    openWith,
    page
  }) => {
    await openInCommandMode(openWith, 2);
    for (let count = 0; count < 3; count++) {
      await create(makeManyCells(3)).propose([replace(1)]);
    }
    const list = page.getByRole('region', { name: 'Proposed changes of all notebooks' });
    const items = list.locator('.jp-nbedit-proposal-item');
    await press(page, 'Control+Shift+c');
    await expect(page.locator('.lm-CommandPalette-input')).toBeFocused();
    await page.keyboard.type('Review Proposals');
    await press(page, 'Enter');
    await expect(items).toHaveCount(3);
    // JupyterLab's palette gives the focus back to the notebook.
    await tabTo(items.nth(0).getByRole('button', { name: /^Reject/ }));
    await press(page, 'Enter');
    await expect(items).toHaveCount(2);
    await expectFocusWithin(list);
    await tabTo(items.nth(1).getByRole('button', { name: /^Accept/ }));
    await press(page, 'Enter');
    await expect(items).toHaveCount(1);
    await expectFocusWithin(list);
    await tabTo(items.getByRole('button', { name: /^Accept/ }));
    await press(page, 'Enter');
    await expect(items).toHaveCount(0);
    await expectFocusWithin(list);
    await expect(list).toContainText('Nothing is proposed.');
  });

  test('the history is filtered, and the notebook restored @nightly', async ({
    dialogs,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openInCommandMode(openWith);
    for (const index of [1, 2, 3]) {
      await notebook.edit([replace(index)], 'Claude');
    }
    await expect.poll(async () => tab.getSource(3)).toBe('theirs = 3');
    // The menu of the cell.
    await press(page, 'ArrowDown', 'Shift+F10');
    const entry = page.locator('.lm-Menu-item', { hasText: 'Show Edit History of This Cell' });
    await expect(entry).toBeVisible();
    if (await isOldestLab(page)) {
      // There, a context menu that was opened with the keyboard does not get its focus.
      await entry.click();
    } else {
      await expect(async () => {
        await press(page, 'ArrowDown');
        await expect(entry).toHaveClass(/lm-mod-active/, { timeout: 50 });
      }).toPass();
      await press(page, 'Enter');
    }
    const panel = new HistoryPanel(page);
    await expect(panel.rows).toHaveCount(1);
    await tabTo(panel.root.getByRole('button', { name: 'Show all cells' }), 'Shift+Tab');
    await press(page, 'Enter');
    await expect(panel.rows).toHaveCount(3);
    await expectFocusWithin(panel.root);

    const text = panel.root.getByRole('searchbox');
    await expect(text).toBeFocused();
    await page.keyboard.type('nowhere');
    await expect(panel.rows).toHaveCount(0);
    await tabTo(panel.root.getByRole('button', { name: 'Show all edits' }));
    await press(page, 'Enter');
    await expect(panel.rows).toHaveCount(3);
    await expectFocusWithin(panel.root);

    await press(page, 'End', 'Enter');
    await panel.getCellDiffs(2).locator('.cm-content').waitFor();
    await tabTo(panel.getRestoreButton(2));
    await press(page, 'Enter');
    await expect(page.locator('.jp-Dialog')).toBeVisible();
    await tabTo(page.locator('.jp-Dialog').getByRole('button', { name: 'Restore' }));
    await press(page, 'Enter');
    await expect.poll(async () => tab.getSource(3)).not.toContain('theirs');
    expect(dialogs.splice(0)).toHaveLength(1);
    await expectFocusWithin(panel.root);
  });

  test('toasts are reached, and the focus returns to the notebook @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openInCommandMode(openWith, 40);
    await notebook.edit([replace(30)], 'Claude');
    const toast = getToasts(page, 'Claude');
    await tabTo(toast.getByRole('button', { name: 'View' }), 'Shift+Tab');
    await press(page, 'Enter');
    await expect.poll(async () => tab.isInView(30)).toBe(true);
    await expectFocusWithin(tab.root);
    await tabTo(toast.getByRole('button', { name: 'Undo' }), 'Shift+Tab');
    await press(page, 'Enter');
    await expect.poll(async () => tab.getSource(30)).not.toContain('theirs');
    await expectFocusWithin(tab.root);

    await tab.scrollToCell(0);
    await notebook.propose([replace(35)]);
    await tabTo(getToasts(page, 'proposes').getByRole('button', { name: 'Review' }), 'Shift+Tab');
    await press(page, 'Enter');
    await expect(tab.block(35)).toBeFocused();
    await press(page, 'n');
    await expect(tab.block(35)).toHaveCount(0);
    await tabTo(getToasts(page, 'Rejected').getByRole('button', { name: 'Undo' }), 'Shift+Tab');
    await press(page, 'Enter');
    await expect(tab.block(35)).toHaveCount(1);
    await expectFocusWithin(tab.root);
  });

  test('the menu in the status bar opens, closes, and gives the focus back @nightly', async ({
    openWith,
    page
  }) => {
    await openInCommandMode(openWith, 2);
    const status = getModeStatus(page);
    await expect(status).toHaveText(/^Agents: edits allowed/);
    await tabTo(status, 'Shift+Tab');
    await press(page, 'Enter');
    await expect(page.locator('.lm-Menu')).toBeVisible();
    await press(page, 'Escape');
    await expect(page.locator('.lm-Menu')).toHaveCount(0);
    await expectVisibleFocus(status);
    await press(page, 'Space');
    const paused = page.locator('.lm-Menu-item', { hasText: 'This Notebook: Paused' });
    await expect(async () => {
      await press(page, 'ArrowDown');
      await expect(paused).toHaveClass(/lm-mod-active/, { timeout: 50 });
    }).toPass();
    await press(page, 'Enter');
    await expect(status).toHaveText(/^Agents: paused/);
    await expectVisibleFocus(status);
  });
});

test('A conflict is announced once to a screen reader @nightly', async ({ openWith, page }) => {
  const { notebook, tab } = await openInCommandMode(openWith);
  await tab.typeText(1, '  # mine');
  const regions = await page.evaluateHandle(() => {
    const live = '[role="alert"], [role="status"], [aria-live]:not([aria-live="off"])';
    const regions = new Set<Element>();
    new MutationObserver(() => {
      for (const region of document.querySelectorAll(live)) {
        if (region.textContent.includes('both changed')) {
          regions.add(region);
        }
      }
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
    return regions;
  });
  await notebook.edit([replace(1)], 'Claude');
  await expect(tab.block(1).first()).toBeVisible();
  await expect(tab.bar).toContainText('Claude and you both changed 1 cell');
  await expect(getToasts(page, 'both changed')).toBeVisible();
  await tab.waitFrames(40);
  expect(await regions.evaluate(found => found.size)).toBe(1);
});

test('Our shortcuts are not those of JupyterLab', async ({ agent }) => {
  interface Shortcut {
    command: string;
    keys: string[];
    selector: string;
  }
  const { settings } = (await agent.get('/lab/api/settings')) as {
    settings: { schema: { 'jupyter.lab.shortcuts'?: Shortcut[] } }[];
  };
  const shortcuts = settings.flatMap(({ schema }) => schema['jupyter.lab.shortcuts'] ?? []);
  const isOurs = ({ command }: Shortcut) => command.startsWith('nbedit:');
  const ours = shortcuts.filter(isOurs);
  // Some of JupyterLab's have no key.
  const others = shortcuts.filter(shortcut => !isOurs(shortcut) && shortcut.keys.length > 0);
  expect(ours.length).toBeGreaterThan(3);
  expect(others.length).toBeGreaterThan(50);
  // In our blocks, which keep keys from JupyterLab, and elsewhere.
  const [inBlocks, elsewhere] = [true, false].map(isInBlock =>
    ours.filter(({ selector }) => (selector === '.jp-nbedit-block') === isInBlock)
  );
  expect(inBlocks.map(({ keys }) => keys.join(' ')).sort()).toEqual(['N', 'Y', 'Z']);
  // A schema may name the modifiers in any order, and Ctrl as Accel.
  const normalize = (keystroke: string) =>
    keystroke
      .replace(/Accel|Cmd/, 'Ctrl')
      .split(' ')
      .sort()
      .join(' ');
  const clashes = elsewhere.flatMap(shortcut =>
    others
      .filter(({ keys }) => normalize(keys[0]) === normalize(shortcut.keys[0]))
      .map(({ command }) => `${shortcut.keys.join(' ')}: ${shortcut.command}, ${command}`)
  );
  expect(clashes).toEqual([]);
});
