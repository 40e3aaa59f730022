import type { Locator, Page } from '@playwright/test';
import { violations } from './axe';
import { expect, test } from './fixtures';
import { code, many, markdown, notebook } from './notebooks';
import { PAYLOADS, watch } from './payloads';
import { expectPicture, setTheme, THEMES } from './pictures';
import type { Tab } from './tab';

const THREE = [
  { op: 'replace', cell: 'cell-id-1', source: 'theirs = 1' },
  { op: 'replace', cell: 'cell-id-2', source: 'theirs = 2' },
  { op: 'replace', cell: 'cell-id-3', source: 'theirs = 3' }
];

function block(tab: Tab, index: number): Locator {
  return tab.cell(index).locator('.jp-nbedit-proposal');
}

function blocks(tab: Tab): Locator {
  return tab.root.locator('.jp-nbedit-proposal');
}

function bar(tab: Tab): Locator {
  return tab.root.getByRole('region', { name: 'Proposed changes' });
}

function status(page: Page): Locator {
  return page.locator('.jp-nbedit-status-button');
}

async function run(page: Page, command: string): Promise<void> {
  await page.evaluate(async id => {
    await window.jupyterapp.commands.execute(id);
  }, command);
}

test.describe('What is proposed', () => {
  test('is shown at its cells, and changes neither the notebook nor where its user is', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('shown.ipynb', notebook(many(30)));
    const path = folder.path('shown.ipynb');
    const tab = await open('shown.ipynb');
    await agent.setMode(path, 'review');
    await tab.enter(20);
    const before = {
      file: folder.text('shown.ipynb'),
      place: await tab.place(),
      sources: await tab.sources(),
      top: await tab.heightOf('cell-id-20')
    };

    await agent.propose(path, THREE, { message: 'Simpler' });
    await expect(bar(tab)).toContainText('Claude proposes 3 changes');
    await expect(blocks(tab)).toHaveCount(3);
    await tab.frames(40);
    expect(await tab.place()).toMatchObject({
      activeCellId: before.place.activeCellId,
      mode: 'edit',
      focused: before.place.focused
    });
    expect(Math.abs((await tab.heightOf('cell-id-20')) - before.top)).toBeLessThan(2);
    expect(await tab.sources()).toEqual(before.sources);
    expect(await tab.dirty()).toBe(false);
    await tab.type(20, '  # mine');
    await tab.save();
    expect(folder.sources('shown.ipynb')[1]).toBe(before.sources[1]);
    for (const index of [1, 2, 3]) {
      await expect(block(tab, index)).toContainText('Claude proposes to change this cell');
      await expect(block(tab, index)).toContainText('Simpler');
      await expect(block(tab, index)).toContainText(`theirs = ${index}`);
    }
  });

  test('is accepted and rejected cell by cell, and what has changed meanwhile is told', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('decide.ipynb', notebook(many(5)));
    const path = folder.path('decide.ipynb');
    const tab = await open('decide.ipynb');
    const former = await tab.sources();
    await agent.setMode(path, 'review');
    const id = await agent.propose(path, THREE);

    await block(tab, 1).getByRole('button', { name: 'Accept' }).click();
    await expect(block(tab, 1)).toHaveCount(0);
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    await block(tab, 2).getByRole('button', { name: 'Reject' }).click();
    await expect(block(tab, 2)).toHaveCount(0);
    await expect(bar(tab)).toContainText('Claude proposes 1 change');

    // Changed and not saved: the server does not know of it.
    const third = block(tab, 3);
    await tab.editor(3).click();
    await tab.page.keyboard.press('Control+End');
    await tab.page.keyboard.type('  # mine');
    await expect(third).toContainText('The cell has changed since this was proposed.');
    await third.getByRole('button', { name: 'Accept' }).click();
    await expect(third.getByRole('alert')).toContainText('Not accepted: the cell has changed');
    // And saved.
    expect(await tab.save()).toBe('completed');
    await third.getByRole('button', { name: 'Accept' }).click();
    await expect(third.getByRole('alert')).toContainText('Not accepted: the cell has changed');

    const sources = [...former];
    sources[1] = 'theirs = 1';
    sources[3] = `${former[3]}  # mine`;
    expect(await tab.sources()).toEqual(sources);
    expect(folder.sources('decide.ipynb')).toEqual(sources);
    const pending = await agent.proposal(id);
    expect(pending.status).toBe('pending');
    expect(pending.parts.map(part => part.status)).toEqual(['accepted', 'rejected', 'pending']);

    const decided = agent.proposal(id, 30);
    await third.getByRole('button', { name: 'Reject' }).click();
    expect(await decided).toMatchObject({ status: 'partly_accepted' });
    await expect(blocks(tab)).toHaveCount(0);
    await expect(bar(tab)).toBeHidden();
    expect(folder.sources('decide.ipynb')).toEqual(sources);
    expect(await tab.dirty()).toBe(false);
  });

  test('may be new, gone and moved cells, and is accepted as a whole @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('whole.ipynb', notebook(many(5)));
    const path = folder.path('whole.ipynb');
    const tab = await open('whole.ipynb');
    await agent.setMode(path, 'review');
    const id = await agent.propose(path, [
      { op: 'insert', at: 'start', id: 'first', cell_type: 'markdown', source: '# First' },
      { op: 'insert', after: 'cell-id-1', id: 'between', cell_type: 'code', source: 'between = 1' },
      { op: 'delete', cell: 'cell-id-2' },
      { op: 'move', cell: 'cell-id-4', before: 'cell-id-3' },
      { op: 'set_metadata', cell: 'cell-id-3', patch: { tags: ['parameters'] } }
    ]);
    await expect(block(tab, 0)).toContainText('proposes a new markdown cell here');
    await expect(block(tab, 1)).toContainText('proposes a new code cell here');
    await expect(block(tab, 2)).toContainText('proposes to delete this cell');
    await expect(blocks(tab).filter({ hasText: /move this cell/ })).toHaveCount(1);
    await expect(block(tab, 3).filter({ hasText: 'metadata' })).toContainText('parameters');

    await bar(tab).getByRole('button', { name: 'Accept all' }).click();
    await expect(blocks(tab)).toHaveCount(0);
    const ids = ['first', 'cell-id-0', 'cell-id-1', 'between', 'cell-id-4', 'cell-id-3'];
    await expect.poll(async () => tab.ids()).toEqual(ids);
    expect(folder.notebook('whole.ipynb').cells.map(cell => cell.id)).toEqual(ids);
    expect((await agent.proposal(id)).status).toBe('accepted');
  });

  test('is gone when somebody else has decided @nightly', async ({ agent, folder, open, page }) => {
    folder.write('else.ipynb', notebook(many(5)));
    const path = folder.path('else.ipynb');
    const tab = await open('else.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, THREE);
    await expect(blocks(tab)).toHaveCount(3);
    const cookies = await page.context().cookies();
    const xsrf = cookies.find(({ name }) => name === '_xsrf')?.value ?? '';
    const { proposals } = (await agent.get(
      `/nbedit/proposals?path=${encodeURIComponent(path)}`
    )) as { proposals: { proposal_id: number }[] };
    const answer = await page.request.post(
      `${process.env.TARGET_URL}/nbedit/proposals/${proposals[0].proposal_id}/reject`,
      { data: {}, headers: { 'X-XSRFToken': xsrf } }
    );
    expect(answer.ok()).toBe(true);
    await expect(blocks(tab)).toHaveCount(0);
    await expect(bar(tab)).toBeHidden();
  });

  test('is reached and decided with the keyboard, whose keys do not reach the cells @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('keys.ipynb', notebook(many(40)));
    const path = folder.path('keys.ipynb');
    const tab = await open('keys.ipynb');
    await agent.setMode(path, 'review');
    const edit = (index: number) => ({
      op: 'replace',
      cell: `cell-id-${index}`,
      source: `theirs = ${index}`
    });
    await agent.propose(path, [edit(30), edit(35)]);
    await expect(bar(tab)).toBeVisible();

    await run(page, 'nbedit:next-proposal');
    await expect(block(tab, 30)).toBeFocused();
    expect(await tab.inView(30)).toBe(true);
    await page.keyboard.press('d');
    await page.keyboard.press('d');
    expect(await tab.sources()).toHaveLength(40);
    await page.keyboard.press('Tab');
    await expect(block(tab, 30).getByRole('button', { name: 'Reject' })).toBeFocused();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect(tab.editor(30)).toHaveText('theirs = 30');
    await expect(block(tab, 30)).toHaveCount(0);
    expect((await tab.place()).mode).toBe('command');

    await run(page, 'nbedit:next-proposal');
    await expect(block(tab, 35)).toBeFocused();
    await page.keyboard.press('Escape');
    await expect(tab.cell(35)).toBeFocused();
  });

  test('has the colours of its language, though it was proposed before the notebook was opened @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('pending.ipynb', notebook(many(5)));
    const path = folder.path('pending.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, [
      { op: 'replace', cell: 'cell-id-1', source: 'print("theirs")' },
      { op: 'insert', after: 'cell-id-2', id: 'new', cell_type: 'code', source: 'print("new")' }
    ]);
    await page.goto('');
    // Large notebooks take longer to load than what is proposed for them takes to be known.
    let release = (): void => undefined;
    const held = new Promise<void>(resolve => (release = resolve));
    await page.route(/\/api\/contents\/.*pending\.ipynb/, async route => {
      if (!route.request().url().includes('content=0')) {
        await held;
      }
      await route.continue();
    });
    const opened = open('pending.ipynb');
    await page.locator('.jp-NotebookPanel').waitFor();
    await expect(status(page)).toContainText('proposed');
    await page.evaluate(async () => {
      for (let frame = 0; frame < 60; frame++) {
        await new Promise(resolve => requestAnimationFrame(resolve));
      }
    });
    release();
    const tab = await opened;
    await expect(blocks(tab)).toHaveCount(2);
    const string = (text: string) =>
      blocks(tab).locator('.cm-line span[class^="ͼ"]', { hasText: new RegExp(`^"${text}"$`) });
    await expect(string('theirs')).not.toHaveCount(0);
    await expect(string('new')).not.toHaveCount(0);
  });

  test('changes its colours with the language of the notebook @nightly', async ({
    agent,
    folder,
    open
  }) => {
    const plain = JSON.parse(notebook(many(3))) as { metadata: Record<string, unknown> };
    plain.metadata = {};
    folder.write('language.ipynb', JSON.stringify(plain));
    const path = folder.path('language.ipynb');
    const tab = await open('language.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, [{ op: 'replace', cell: 'cell-id-1', source: 'print("theirs")' }]);
    const coloured = block(tab, 1).locator('.cm-line span[class^="ͼ"]', { hasText: /^"theirs"$/ });
    await expect(block(tab, 1).locator('.cm-content')).toContainText('print("theirs")');
    await expect(coloured).toHaveCount(0);
    await tab.setLanguage('python');
    await expect(coloured).not.toHaveCount(0);
    await expect(blocks(tab)).toHaveCount(1);
  });

  for (const width of [560, 720]) {
    test(`can be reached and decided in a window of ${width} pixels @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      folder.write('narrow.ipynb', notebook(many(5)));
      const path = folder.path('narrow.ipynb');
      const tab = await open('narrow.ipynb');
      await page.setViewportSize({ width, height: 800 });
      await agent.setMode(path, 'review');
      await agent.propose(path, THREE, { message: 'Simpler, and as the guide says it should be' });
      await expect(blocks(tab)).toHaveCount(3);
      for (const name of ['Next', 'Reject all', 'Accept all']) {
        const button = bar(tab).getByText(name, { exact: true });
        await expect(button).toBeInViewport({ ratio: 1 });
      }
      for (const name of ['Reject', 'Accept']) {
        const button = block(tab, 1).getByText(name, { exact: true });
        await button.scrollIntoViewIfNeeded();
        await expect(button).toBeInViewport({ ratio: 1 });
      }
      await bar(tab).getByRole('button', { name: 'Next' }).click();
      await expect(block(tab, 1)).toBeFocused();
      await bar(tab).getByRole('button', { name: 'Next' }).focus();
      await page.keyboard.press('Enter');
      await expect(block(tab, 2)).toBeFocused();
      expect(await violations(bar(tab))).toEqual([]);
      await bar(tab).getByRole('button', { name: 'Accept all' }).click();
      await expect(blocks(tab)).toHaveCount(0);
      await expect(tab.editor(3)).toHaveText('theirs = 3');
    });
  }

  test('does not push the first cell under the bar at the top of a notebook @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('top.ipynb', notebook(many(30)));
    const path = folder.path('top.ipynb');
    const tab = await open('top.ipynb');
    await tab.scrollTo(0);
    await agent.setMode(path, 'review');
    await agent.propose(path, [{ op: 'replace', cell: 'cell-id-28', source: 'theirs = 28' }]);
    await expect(bar(tab)).toBeVisible();
    await tab.frames(40);
    expect((await tab.place()).scrollTop).toBe(0);
    const { y, height } = (await bar(tab).boundingBox())!;
    expect(await tab.heightOf('cell-id-0')).toBeGreaterThanOrEqual(y + height);
  });

  test('is a text, whatever is in it @nightly', async ({ agent, folder, open, page }) => {
    const harm = await watch(page);
    folder.write('texts.ipynb', notebook(many(PAYLOADS.length)));
    const path = folder.path('texts.ipynb');
    const tab = await open('texts.ipynb');
    await agent.setMode(path, 'review');
    for (const [index, payload] of PAYLOADS.entries()) {
      const operations = [{ op: 'replace', cell: `cell-id-${index}`, source: payload }];
      await agent.propose(path, operations, { client: payload, message: payload });
    }
    await expect(bar(tab)).toContainText(`propose ${PAYLOADS.length} changes`);
    await run(page, 'nbedit:review-proposals');
    await expect(blocks(tab)).toHaveCount(PAYLOADS.length);
    expect(harm).toEqual({ found: [], errors: [] });
    await run(page, 'nbedit:reject-proposals');
    await expect(blocks(tab)).toHaveCount(0);
  });
});

test.describe('In a notebook that has only the cells in sight on the page', () => {
  test.use({
    mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode: 'full' } }
  });

  test('blocks come and go with their cells, and do not push away what is in sight @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('windowed.ipynb', notebook(many(60)));
    const path = folder.path('windowed.ipynb');
    folder.write('first.ipynb', notebook(many(3)));
    await open('first.ipynb');
    const tab = await open('windowed.ipynb');
    await agent.setMode(path, 'review');
    await tab.reach(30);
    const middle = await tab.middle();
    const top = await tab.heightOf(middle);
    await agent.propose(path, THREE);
    await expect(bar(tab)).toBeVisible();
    await tab.frames(40);
    // The window measures the blocks and then goes back, on a slow machine after some frames more.
    await expect.poll(async () => Math.abs((await tab.heightOf(middle)) - top)).toBeLessThan(2);

    for (let time = 0; time < 2; time++) {
      await tab.reach(0);
      await expect(block(tab, 1)).toBeVisible();
      await expect(block(tab, 1)).toHaveCount(1);
      await tab.reach(30);
      await expect(tab.cell(1)).not.toBeInViewport();
    }
    await bar(tab).getByRole('button', { name: 'Next' }).click();
    await expect(block(tab, 1)).toBeFocused();
  });

  test('a reader who goes elsewhere right after a change stays there @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write('elsewhere.ipynb', notebook(many(60)));
    const tab = await open('elsewhere.ipynb');
    await tab.reach(40);
    const left = await tab.leaveWithNextChange(0);
    await agent.edit(folder.path('elsewhere.ipynb'), [
      { op: 'insert', after: 'cell-id-38', cell_type: 'code', source: 'a\nb\nc\nd\ne' }
    ]);
    await left();
    await tab.frames(60);
    expect(await tab.inView(0)).toBe(true);
  });
});

test.describe('The list of proposals', () => {
  test('has those of notebooks that are not open, and opens them @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('front.ipynb', notebook(many(3)));
    folder.write('closed.ipynb', notebook(many(5)));
    await open('front.ipynb');
    const path = folder.path('closed.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, THREE, { message: 'Later' });
    await run(page, 'nbedit:review-proposals');
    const item = page.locator('.jp-nbedit-item').filter({ hasText: path });
    await expect(item).toContainText('Claude proposes 3 changes');
    await expect(item).toContainText('Later');
    await item.getByRole('button', { name: path, exact: true }).click();
    const opened = page.locator('.jp-NotebookPanel:not(.lm-mod-hidden)');
    await expect(opened.locator('.jp-nbedit-proposal')).toHaveCount(3);
    await item.getByRole('button', { name: /^Reject/ }).click();
    await expect(item).toHaveCount(0);
    await expect(opened.locator('.jp-nbedit-proposal')).toHaveCount(0);
  });

  test('has new notebooks, which are there once they are accepted @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('front.ipynb', notebook(many(3)));
    await open('front.ipynb');
    const path = folder.path('new.ipynb');
    // A mode is a notebook's or the server's, and the server is other tests' as well.
    folder.write('new.ipynb', notebook([]));
    await agent.setMode(path, 'review');
    folder.remove('new.ipynb');
    const id = await agent.proposeNew(path, [
      { cell_type: 'markdown', source: '# New' },
      { cell_type: 'code', source: 'print("new")' }
    ]);
    const inJulia = await agent.proposeNew(
      path,
      [{ cell_type: 'code', source: 'function f end' }],
      'julia'
    );
    await run(page, 'nbedit:review-proposals');
    const list = page.locator('.jp-nbedit-item').filter({ hasText: path });
    const item = list.filter({ hasText: 'of 2 cells' });
    await expect(item).toContainText('Claude proposes a new notebook of 2 cells');
    await item.getByText('Show 2 cells').click();
    await expect(item.locator('.jp-nbedit-diff')).toHaveText([
      '+added: # New',
      '+added: print("new")'
    ]);
    // In the colours of its own language: Python has no such keyword.
    const other = list.filter({ hasText: 'of 1 cell' });
    await other.getByText('Show 1 cell').click();
    const keyword = other.locator('.cm-line span[class^="ͼ"]', { hasText: /^function$/ });
    await expect(keyword).toHaveCount(1);
    await other.getByRole('button', { name: /^Reject/ }).click();
    await expect(other).toHaveCount(0);
    expect((await agent.proposal(inJulia)).status).toBe('rejected');
    await item.getByRole('button', { name: /^Accept/ }).click();
    await expect(item).toHaveCount(0);
    expect(folder.sources('new.ipynb')).toEqual(['# New', 'print("new")']);
    expect((await agent.proposal(id)).status).toBe('accepted');
  });
});

test.describe('The status bar', () => {
  test('shows how edits are taken, and lets the user change it @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('mode.ipynb', notebook(many(3)));
    const path = folder.path('mode.ipynb');
    const tab = await open('mode.ipynb');
    await expect(status(page)).toHaveAccessibleName('Agents in this notebook: edits allowed');
    await agent.setMode(path, 'review');
    await expect(status(page)).toContainText('Review first');

    await status(page).focus();
    await page.keyboard.press('Enter');
    const menu = page.locator('.jp-nbedit-mode-menu');
    const item = (name: string) => menu.getByRole('menuitem', { name, exact: true });
    await expect(
      menu.getByRole('menuitemcheckbox', { name: 'This notebook: Review first' })
    ).toBeChecked();
    await item('This notebook: Paused').click();
    await expect(status(page)).toContainText('Paused');
    await expect(status(page)).toBeFocused();
    await expect(agent.edit(path, THREE.slice(0, 1))).rejects.toThrow(/plan_mode/);
    expect(await tab.source(1)).not.toContain('theirs');

    await status(page).click();
    await item('This notebook: As the server (Edits allowed)').click();
    await expect(status(page)).toHaveAccessibleName('Agents in this notebook: edits allowed');
    await agent.edit(path, THREE.slice(0, 1));
    await expect(tab.editor(1)).toHaveText('theirs = 1');
  });

  test('counts what is proposed for its notebook, and names what is for others as such @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    for (const name of ['mine', 'other', 'none']) {
      folder.write(`${name}.ipynb`, notebook(many(5)));
      await agent.setMode(folder.path(`${name}.ipynb`), 'review');
    }
    await agent.propose(folder.path('mine.ipynb'), THREE);
    await agent.propose(folder.path('other.ipynb'), THREE.slice(0, 1));
    const mine = await open('mine.ipynb');
    await expect(bar(mine)).toContainText('Claude proposes 3 changes');
    await expect(status(page)).toHaveText('Review first · 3 changes proposed');
    // Other tests propose to their notebooks at the same time.
    await expect(status(page)).toHaveAccessibleName(
      /^Agents in this notebook: review first, 3 changes proposed, \d+ changes? proposed in other notebooks$/
    );
    const none = await open('none.ipynb');
    await expect(bar(none)).toBeHidden();
    await expect(status(page)).toHaveText(
      /^Review first · \d+ changes proposed in other notebooks$/
    );
  });

  test('says that edits are stopped while the modes cannot be read, and lets the user resume', async ({
    dialogs,
    folder,
    open,
    page
  }) => {
    folder.write('stopped.ipynb', notebook(many(3)));
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
      const reply = { path, mode: 'edit', own: null, server: 'edit', fixed: false, unreadable };
      await route.fulfill({ json: reply });
    });
    await open('stopped.ipynb');
    const why =
      'Agent edits are stopped: the server cannot read which notebooks are paused or reviewed.';
    await expect(status(page)).toHaveText('Agent edits stopped');
    await expect(status(page)).toHaveAccessibleName(`${why} The database is damaged.`);
    const toast = page.locator('.Toastify__toast').filter({ hasText: why });
    await expect(toast).toHaveCount(1);
    // Told once, however often it is read.
    folder.write('another.ipynb', notebook(many(3)));
    await open('another.ipynb');
    await expect(status(page)).toHaveText('Agent edits stopped');
    await expect(toast).toHaveCount(1);

    await status(page).click();
    const menu = page.locator('.jp-nbedit-mode-menu');
    await expect(menu).toContainText(why);
    await expect(menu).toContainText('The database is damaged.');
    await menu.getByRole('menuitem', { name: 'Resume Agent Edits…' }).click();
    const dialog = page.locator('.jp-Dialog');
    await expect(dialog).toContainText('The database is damaged.');
    expect(await violations(dialog.locator('.jp-Dialog-content'))).toEqual([]);
    expect(asked).toEqual([]);
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await expect(status(page)).toHaveAccessibleName('Agents in this notebook: edits allowed');
    await expect(toast).toHaveCount(0);
    expect(asked).toEqual([expect.objectContaining({ mode: null })]);
    expect(dialogs.splice(0)).toHaveLength(1);
  });

  test('goes along with the commands that pause and review a notebook @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    folder.write('pause.ipynb', notebook(many(3)));
    folder.write('other.ipynb', notebook(many(3)));
    await open('other.ipynb');
    const tab = await open('pause.ipynb');
    const path = folder.path('pause.ipynb');
    await expect(status(page)).toBeVisible();
    await run(page, 'nbedit:pause-notebook');
    await expect(status(page)).toContainText('Paused');
    await expect(agent.edit(path, THREE.slice(0, 1))).rejects.toThrow(/plan_mode/);
    await run(page, 'nbedit:review-notebook');
    await expect(status(page)).toContainText('Review first');
    await agent.propose(path, THREE.slice(0, 1));
    await expect(status(page)).toContainText('proposed');
    await expect(blocks(tab)).toHaveCount(1);
    await run(page, 'nbedit:review-notebook');
    await expect(status(page)).not.toContainText('Review first');
    await run(page, 'nbedit:accept-proposals');
    await expect(tab.editor(1)).toHaveText('theirs = 1');

    await run(page, 'nbedit:pause-notebook');
    await expect(status(page)).toContainText('Paused');
    await open('other.ipynb');
    await expect(status(page)).not.toContainText('Paused');
  });
});

test.describe('A proposal', () => {
  for (const theme of THEMES) {
    test(`looks as in its picture, and can be used by everybody, in the ${theme} theme @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      const limit = 'wet = 100  # mm\nmonths = rain[rain > wet]\nprint(len(months))';
      folder.write(
        'picture.ipynb',
        notebook([code('limit', limit), markdown('next', 'And then?')])
      );
      const path = folder.path('picture.ipynb');
      const tab = await open('picture.ipynb');
      await setTheme(page, theme);
      await page.sidebar.close('left');
      await agent.setMode(path, 'review');
      await agent.propose(
        path,
        [
          {
            op: 'replace',
            cell: 'limit',
            source: 'wet = 200  # mm\nmonths = rain[rain > wet]\nprint(months.size)'
          },
          {
            op: 'insert',
            after: 'limit',
            id: 'why',
            cell_type: 'markdown',
            source: '## Why 200?\nIt is what the *stations* report.'
          }
        ],
        { message: 'Raise the limit and say why' }
      );
      await expect(blocks(tab)).toHaveCount(2);
      await tab.frames(40);
      await expectPicture(tab.cell(0), `proposal-${theme}`);
      await expectPicture(bar(tab), `proposal-bar-${theme}`);
      for (const shown of [...(await blocks(tab).all()), bar(tab), status(page)]) {
        expect(await violations(shown)).toEqual([]);
      }
      await run(page, 'nbedit:review-proposals');
      const list = page.getByRole('region', { name: 'Proposed changes of all notebooks' });
      await expect(list.locator('.jp-nbedit-item').filter({ hasText: path })).toBeVisible();
      expect(await violations(list)).toEqual([]);
    });
  }
});

test.describe('A difference', () => {
  const signs = (diff: Locator) => diff.locator('.jp-nbedit-sign-mark');

  test('can be told apart without colours, and read by a screen reader @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    await page.emulateMedia({ forcedColors: 'active' });
    folder.write(
      'forced.ipynb',
      notebook([code('a', 'kept = 0\nold = 1\n\nold = 2'), code('b', 'gone = 1')])
    );
    const path = folder.path('forced.ipynb');
    const tab = await open('forced.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, [
      { op: 'replace', cell: 'a', source: 'kept = 0\nnew = 1\n\nnew = 2' },
      { op: 'delete', cell: 'b' }
    ]);
    await expect(blocks(tab)).toHaveCount(2);
    const changed = block(tab, 0).locator('.jp-nbedit-diff');
    await expect(signs(changed)).toHaveText(['-', '-', '-', '+', '+', '+']);
    const lines = changed.locator('.cm-line, .cm-deletedLine');
    await expect(lines).toHaveText([
      'kept = 0',
      '-removed: old = 1',
      '-removed:',
      '-removed: old = 2',
      '+added: new = 1',
      '+added:',
      '+added: new = 2'
    ]);
    await expect(signs(block(tab, 1))).toHaveText(['-']);
    for (const sign of await signs(blocks(tab).first()).all()) {
      await expect(sign).toBeInViewport({ ratio: 1 });
    }
    for (const name of ['Accept', 'Reject']) {
      const button = block(tab, 0).getByText(name, { exact: true });
      await expect(button).toHaveCSS('border-top-style', 'solid');
      await expect(button).toHaveCSS('border-top-width', '1px');
    }
    // What is copied of it is the text alone.
    const copied = await changed.evaluate(diff => {
      const selection = getSelection()!;
      selection.selectAllChildren(diff);
      return selection.toString();
    });
    expect(copied).not.toMatch(/added|removed|[+-]/);

    for (const shown of await blocks(tab).all()) {
      expect(await violations(shown)).toEqual([]);
    }
  });
});
