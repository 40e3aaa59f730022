import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { getToasts, holdRequests, runCommand } from './lab';
import { makeManyCells, makeMarkdownCell, replace } from './notebooks';

/** Keep all changes of a notebook, as the user of this browser. */
async function keepAll(page: Page, path: string): Promise<void> {
  const status = await page.evaluate(async path => {
    const { baseUrl } = window.jupyterapp.serviceManager.serverSettings;
    const token = /(?:^|; )_xsrf=([^;]*)/.exec(document.cookie)?.[1] ?? '';
    const { status } = await fetch(`${baseUrl}nbedit/notebooks/${path}/keep`, {
      method: 'POST',
      headers: { 'X-XSRFToken': token, 'Content-Type': 'application/json' },
      body: '{}'
    });
    return status;
  }, path);
  expect(status).toBe(200);
}

test('A toast says who, why and what has changed all in all, of a whole burst', async ({
  openWith,
  page
}) => {
  const { notebook } = await openWith(makeManyCells(8));
  await notebook.edit([replace(1), { op: 'delete', cell: 'cell-id-2' }], 'Claude', {
    message: 'Drop the test account'
  });
  const toast = getToasts(page);
  await expect(toast).toHaveText(/^Claude: Drop the test account - 1 cell changed, 1 deleted/);
  await toast.hover();
  await notebook.edit(
    [
      replace(1, 'again = 1'),
      { op: 'insert', id: 'new', at: 'end', cell_type: 'code', source: 'new' },
      { op: 'move', cell: 'cell-id-6', at: 'start' }
    ],
    'Claude',
    { message: 'Sum up' }
  );
  await expect(toast).toHaveText(
    /^Claude: Sum up, and 1 more - 1 cell changed, 1 added, 1 moved, 1 deleted/
  );
  // What came and went has not changed anything.
  await notebook.edit([{ op: 'delete', cell: 'new' }], 'Claude');
  await expect(toast).toHaveText(/ - 1 cell changed, 1 moved, 1 deleted/);
  await expect(toast).toHaveCount(1);
});

test('A toast that a slow page shows late tells of all edits until then @nightly', async ({
  openWith,
  page
}) => {
  await page.clock.install();
  const { notebook, tab } = await openWith(makeManyCells(6));
  // JupyterLab loads what it shows toasts with when it shows the first one.
  const scripts = await holdRequests(page, /\/static\/.*\.js/);
  await notebook.edit([replace(1)], 'Bot');
  await expect.poll(() => scripts.held).not.toEqual([]);
  await notebook.edit([replace(2)], 'Bot');
  await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 2]);
  // The toast counts as one that will not appear, and JupyterLab's list is updated without it.
  await page.clock.fastForward(4_000);
  scripts.release();
  await expect(getToasts(page, /^Bot:/)).toHaveText(/^Bot: 2 cells changed/);
  await expect(getToasts(page, /^Bot:/)).toHaveCount(1);
});

for (const [when, isReadFirst] of [
  ['long after its change', false],
  ['long after its change, and of one whose event comes while the tab reads it', true]
] as const) {
  test(`A toast tells also of an edit whose event comes ${when} @nightly`, async ({
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(6));
    const events: (() => void)[] = [];
    await page.routeWebSocket(/\/api\/events\/subscribe/, socket => {
      const server = socket.connectToServer();
      server.onMessage(message => {
        const event = JSON.parse(String(message)) as { schema_id?: string; path?: string };
        const schema = event.schema_id ?? '';
        if (event.path !== notebook.path || !/[:/]edit[:/]v/.test(schema)) {
          socket.send(message);
        } else if (schema.startsWith('urn:')) {
          // The same event also comes with the id of earlier versions, which is left out here.
          events.push(() => socket.send(message));
        }
      });
    });
    const tab = await open(notebook.name);
    const heard = await page.evaluateHandle(path => {
      const heard: unknown[] = [];
      window.jupyterapp.serviceManager.events.stream.connect((_, emission) => {
        if (emission.path === path && 'edit_id' in emission) {
          heard.push(emission.edit_id);
        }
      });
      return heard;
    }, notebook.path);
    const send = async (index: number) => {
      await expect.poll(() => events.length).toBe(index + 1);
      events[index]();
      await expect.poll(async () => heard.evaluate(({ length }) => length)).toBe(index + 1);
    };
    // What the tab reads after the first edit is the version after the second one.
    const reads = await holdRequests(page, /[?&]since=/);
    await notebook.edit([replace(1)], 'Bot');
    if (isReadFirst) {
      // After the event of the contents manager, which an edit causes, too.
      await expect.poll(() => reads.held).not.toEqual([]);
    }
    await send(0);
    await expect.poll(() => reads.held).not.toEqual([]);
    await notebook.edit([replace(2)], 'Bot');
    reads.release();
    const toast = getToasts(page, /^Bot:/);
    await expect(toast).toHaveText(/^Bot: 1 cell changed/);
    await send(1);
    await expect(toast).toHaveText(/^Bot: 2 cells changed/);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([]);
  });
}

test('"View" keeps the toast, and goes to one cell after the other in command mode', async ({
  openWith,
  page
}) => {
  const cells = makeManyCells(60);
  cells[30] = makeMarkdownCell('heading', '# Heading');
  cells[30].metadata = { 'jp-MarkdownHeadingCollapsed': true };
  const { notebook, tab } = await openWith(cells);
  const before = notebook.readText();
  await tab.typeText(0, ' ');
  await page.keyboard.press('Backspace');
  await notebook.edit([replace(5), replace(25), replace(50)], 'Bot');
  const toast = getToasts(page, 'Bot');
  const view = toast.getByRole('button', { name: /^View/ });
  await toast.hover();
  await expect(tab.root.locator('.jp-nbedit-flash')).toHaveCount(0);
  for (const [round, index] of [5, 25, 50, 5].entries()) {
    await expect(view).toHaveText(`View ${(round % 3) + 1} of 3`);
    const flashed = await tab.watchFlashes();
    await view.click();
    await expect.poll(async () => tab.isFullyVisible(index)).toBe(true);
    await expect.poll(flashed).toContain(`cell-id-${index}`);
    await expect
      .poll(async () => tab.getViewState())
      .toMatchObject({
        activeCellId: `cell-id-${index}`,
        mode: 'command'
      });
  }
  expect(await tab.root.evaluate(node => node.contains(document.activeElement))).toBe(true);
  // Look, then undo: the keys of the notebook work, and so does the toast's own button.
  await page.keyboard.press('Control+Alt+z');
  await expect.poll(() => notebook.readText()).toBe(before);
  await expect(toast).toHaveCount(0);
});

test('An edit that comes after "View" is added to the toast, and is viewed next @nightly', async ({
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(40), { name: 'next.ipynb' });
  const before = notebook.readText();
  await notebook.edit([replace(4)], 'Bot');
  const toast = getToasts(page);
  const view = toast.getByRole('button', { name: /^View/ });
  await expect(view).toHaveText('View');
  await view.click();
  await expect.poll(async () => tab.isFullyVisible(4)).toBe(true);
  await expect(toast).toHaveText(/^Bot: 1 cell changed/);
  await notebook.edit([replace(35)], 'Bot');
  await expect(view).toHaveText('View 2 of 2');
  await view.click();
  await expect.poll(async () => tab.isFullyVisible(35)).toBe(true);
  await toast.getByRole('button', { name: 'Undo' }).click();
  await expect(toast).toHaveText('Undid 2 edits by Bot in next.ipynb.');
  expect(notebook.readText()).toBe(before);
});

test('"View" goes to the place of a deleted cell @nightly', async ({ openWith, page }) => {
  const { notebook, tab } = await openWith(makeManyCells(40));
  await notebook.edit([{ op: 'delete', cell: 'cell-id-30' }], 'Bot');
  const toast = getToasts(page);
  await expect(toast).toHaveText(/^Bot: 1 cell deleted/);
  await toast.getByRole('button', { name: 'View' }).click();
  await expect.poll(async () => tab.isFullyVisible(30)).toBe(true);
  await expect.poll(async () => (await tab.getViewState()).activeCellId).toBe('cell-id-31');
});

test('A toast about a notebook behind names its file @nightly', async ({ create, open, page }) => {
  const notebook = create(makeManyCells(6), 'behind.ipynb');
  const front = create(makeManyCells(6));
  const behind = await open(notebook.name);
  await open(front.name);
  await notebook.edit([replace(3)], 'Bot', { message: 'Tidy' });
  const toast = getToasts(page);
  await expect(toast).toHaveText(/^Bot in behind.ipynb: Tidy - 1 cell changed/);
  await toast.getByRole('button', { name: 'View' }).click();
  await expect.poll(async () => behind.isInFront()).toBe(true);
  await expect.poll(async () => behind.isFullyVisible(3)).toBe(true);
  await expect
    .poll(async () => behind.getViewState())
    .toMatchObject({ mode: 'command', activeCellIndex: 3 });
  await expect(toast).toHaveCount(1);
});

test.describe('A toast tells no more of an edit', () => {
  test('of a toast that was closed @nightly', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(40), { name: 'seen.ipynb' });
    const before = notebook.readSources();
    await notebook.edit([replace(4)], 'Bot', { message: 'First' });
    const toast = getToasts(page);
    await expect(toast).toHaveText(/^Bot: First - 1 cell changed/);
    await toast.getByRole('button', { name: 'Hide notification' }).click();
    await expect(toast).toHaveCount(0);
    await notebook.edit([replace(35)], 'Bot', { message: 'Second' });
    await expect(toast).toHaveText(/^Bot: Second - 1 cell changed/);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect(toast).toHaveText('Undid the edit by Bot in seen.ipynb.');
    await expect.poll(async () => tab.getSource(35)).toBe(before[35]);
    expect(await tab.getSource(4)).toBe('theirs = 4');
  });

  test('that its reader undid by the key', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    await tab.placeCaret(0);
    await page.keyboard.press('Escape');
    await notebook.edit([replace(1)], 'Bot');
    await notebook.edit([replace(2), replace(3)], 'Bot');
    const toast = getToasts(page, /^Bot:/);
    await expect(toast).toHaveText(/^Bot: 3 cells changed/);
    // JupyterLab does not close a toast that the mouse is on.
    await toast.hover();
    await page.keyboard.press('Control+Alt+z');
    await expect(getToasts(page, 'Undone')).toHaveText('Undone: cells 3 and 4');
    await expect(toast).toHaveText(/^Bot: 1 cell changed/);
    await page.keyboard.press('Control+Alt+z');
    await expect(toast).toHaveCount(0);
    await expect.poll(async () => tab.getSources()).toEqual(notebook.readSources());
    expect(await tab.getSource(1)).toContain('first_1');
  });

  test('that somebody else undid @nightly', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(6), { name: 'else.ipynb' });
    const { edit_id: first } = await notebook.edit([replace(1)], 'Bot');
    await notebook.edit([replace(2)], 'Bot');
    const toast = getToasts(page, /^Bot:/);
    await expect(toast).toHaveText(/^Bot: 2 cells changed/);
    await toast.hover();
    await notebook.undo(first, 'Another');
    await expect(toast).toHaveText(/^Bot: 1 cell changed/);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect(getToasts(page, 'Undid')).toHaveText('Undid the edit by Bot in else.ipynb.');
    await expect.poll(async () => tab.getSource(2)).toContain('first_2');
  });

  test('that is kept in another browser @nightly', async ({
    anotherWindow,
    open,
    openWith,
    page
  }) => {
    const { notebook } = await openWith(makeManyCells(6));
    const other = await anotherWindow();
    await open(notebook.name, { page: other });
    await notebook.edit([replace(1), replace(2)], 'Bot');
    for (const window of [page, other]) {
      await expect(getToasts(window, /^Bot:/)).toHaveText(/^Bot: 2 cells changed/);
      await getToasts(window, /^Bot:/).hover();
    }
    await keepAll(page, notebook.path);
    for (const window of [page, other]) {
      await expect(getToasts(window, /^Bot:/)).toHaveCount(0);
    }
  });
});

test('Five agents have a toast each, and all others share one @nightly', async ({
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(12), { name: 'crowd.ipynb' });
  const before = notebook.readSources();
  const toasts = getToasts(page);
  await notebook.edit([replace(1), replace(2), replace(3)], 'Agent 1');
  await expect(toasts).toHaveText(/^Agent 1: 3 cells changed/);
  // JupyterLab closes no toast while its window has no focus.
  await page.evaluate(() => window.dispatchEvent(new Event('blur')));
  for (const number of [2, 3, 4, 5, 6, 7]) {
    await notebook.edit([replace(number + 2)], `Agent ${number}`);
  }
  await expect(toasts).toHaveCount(6);
  await expect(getToasts(page, '2 more agents')).toHaveText(/^2 more agents: 2 cells changed/);
  await expect(getToasts(page, 'Agent 1')).toHaveText(/^Agent 1: 3 cells changed/);
  await getToasts(page, '2 more agents').getByRole('button', { name: 'Undo' }).click();
  await expect(getToasts(page, 'Undid')).toHaveText(
    'Undid 2 edits by 2 more agents in crowd.ipynb.'
  );
  await expect.poll(async () => (await tab.getSources()).slice(8, 10)).toEqual(before.slice(8, 10));
  expect(await tab.getSource(7)).toBe('theirs = 7');
});

test('An edit without a client is told as by an agent @nightly', async ({
  agent,
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith(makeManyCells(6));
  const toast = getToasts(page);
  await agent.editUnnamed(notebook.path, [replace(1)]);
  await expect(toast).toHaveText(/^An agent: 1 cell changed/);
  await agent.editUnnamed(notebook.path, [replace(2)]);
  // Each request has another invented user name, and they count as one.
  await expect(toast).toHaveText(/^An agent: 2 cells changed/);
  await runCommand(page, 'nbedit:show-history');
  await expect(page.locator('.jp-nbedit-edit-author').first()).toHaveText('An agent');
  await notebook.setMode('review');
  await agent.editUnnamed(notebook.path, [replace(3)]);
  await expect(tab.root.getByText(/^An agent proposes/).first()).toBeVisible();
  const texts = page.locator('[title], [aria-label], .jp-nbedit-edit, .jp-Notebook');
  const shown = await texts.evaluateAll(nodes =>
    nodes
      .flatMap(node => [
        node.getAttribute('title'),
        node.getAttribute('aria-label'),
        node.textContent
      ])
      .join('\n')
  );
  expect(shown).not.toMatch(/\b[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}\b/);
});
