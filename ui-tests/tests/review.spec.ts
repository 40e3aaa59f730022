import type { Locator } from '@playwright/test';
import { createHash } from 'node:crypto';
import { findViolations } from './axe';
import { showFolder } from './file_browser';
import { expect, test } from './fixtures';
import { getModeStatus, getToasts, holdRequests, press, runCommand } from './lab';
import {
  formatNotebook,
  makeCodeCell,
  makeManyCells,
  makeMarkdownCell,
  replace
} from './notebooks';
import { PAYLOADS, watchForInjection } from './payloads';
import { expectPicture, setTheme, THEMES } from './pictures';
import { isOldestLab } from './version';

const THREE = [replace(1), replace(2), replace(3)];

/** Change the last of the three lines of a cell: its user can change the first one meanwhile. */
const changeLastLine = (index: number) => ({
  op: 'replace_text',
  cell: `cell-id-${index}`,
  old: `print(${index})`,
  new: `print("theirs", ${index})`
});

const TWELVE = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map(changeLastLine),
  { op: 'delete', cell: 'cell-id-9' },
  { op: 'insert', after: 'cell-id-10', id: 'new', cell_type: 'code', source: 'new = 1' },
  { op: 'move', cell: 'cell-id-13', before: 'cell-id-11' },
  replace(14)
];

test.describe('What is proposed', () => {
  test('is shown at its cells, and changes neither the notebook nor where its user is', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(30));
    await notebook.setMode('review');
    await tab.placeCaret(20);
    const before = {
      file: notebook.readText(),
      place: await tab.getViewState(),
      sources: await tab.getSources(),
      top: await tab.getCellTop('cell-id-20')
    };

    await notebook.propose(THREE, { message: 'Simpler' });
    await expect(tab.bar).toContainText('Claude proposes 3 changesSimpler');
    await tab.waitFrames(40);
    expect(await tab.getViewState()).toMatchObject({
      activeCellId: before.place.activeCellId,
      mode: 'edit',
      focused: before.place.focused
    });
    expect(Math.abs((await tab.getCellTop('cell-id-20')) - before.top)).toBeLessThan(2);
    expect(await tab.getSources()).toEqual(before.sources);
    expect(await tab.isDirty()).toBe(false);
    await tab.typeText(20, '  # mine');
    await tab.save();
    expect(notebook.readSources()[1]).toBe(before.sources[1]);
    await tab.scrollToCell(2);
    for (const index of [1, 2, 3]) {
      await expect(tab.proposal(index)).toContainText('Claude proposes to change this cell');
      await expect(tab.proposal(index)).toContainText(`theirs = ${index}`);
      // The bar has the purpose, and the block the text of the cell.
      await expect(tab.proposal(index)).not.toContainText('Simpler');
      await expect(tab.editor(index)).toBeHidden();
      await expect(tab.proposal(index)).not.toContainText('is folded');
    }
  });

  test('is accepted and rejected cell by cell, each decision can be undone, and the agent knows @nightly', async ({
    agent,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    const former = await tab.getSources();
    const id = await notebook.propose(THREE);
    const decide = async (index: number, text: string): Promise<void> => {
      await tab.proposal(index).getByText(text, { exact: true }).click();
      await expect(tab.proposal(index)).toHaveCount(0);
    };
    const undo = async (text: string): Promise<void> =>
      getToasts(page, text).getByRole('button', { name: 'Undo' }).click();

    await decide(1, 'Accept');
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    await undo('Accepted 1 change');
    await expect(tab.proposal(1)).toBeFocused();
    await expect(tab.bar).toContainText('Claude proposes 3 changes');
    expect(notebook.readSources()).toEqual(former);
    await decide(1, 'Accept');

    await decide(2, 'Reject');
    await expect(tab.bar).toContainText('Claude proposes 1 change');
    await undo('Rejected 1 change');
    await expect(tab.proposal(2)).toBeFocused();
    await expect(tab.bar).toContainText('1 of 2');
    await press(page, 'n');
    await expect(tab.proposal(3)).toBeFocused();
    await press(page, 'z');
    await expect(tab.proposal(2)).toBeFocused();

    await tab.proposal(2).getByText('Reject with a reason…').click();
    await page.keyboard.type('Not before Friday, see the notice');
    await press(page, 'Enter');
    await expect(tab.proposal(2)).toHaveCount(0);
    const decided = agent.getProposal(id, 30);
    await decide(3, 'Reject');
    expect(await decided).toMatchObject({
      status: 'partly_accepted',
      reason: 'Not before Friday, see the notice',
      parts: [
        { status: 'accepted' },
        { status: 'rejected', reason: 'Not before Friday, see the notice' },
        { status: 'rejected' }
      ]
    });
    await expect(tab.bar).toBeHidden();
    const accepted = former.map((source, index) => (index === 1 ? 'theirs = 1' : source));
    expect(await tab.getSources()).toEqual(accepted);
    expect(notebook.readSources()).toEqual(accepted);
    expect(await tab.isDirty()).toBe(false);
  });

  test('is accepted but for what needs a decision of its own, or rejected, and can be undone @nightly', async ({
    agent,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    const former = await tab.getSources();
    const id = await notebook.propose([1, 2, 3].map(changeLastLine));
    await expect(tab.proposals).toHaveCount(3);
    await tab.proposal(2).getByText('Show the cell').click();
    await tab.typeText(2, '  # mine');
    await press(page, 'Escape');

    await tab.bar.getByRole('button', { name: 'Accept all' }).click();
    await expect(tab.bar.getByRole('alert')).toContainText(
      'Nothing was accepted: 1 change needs a decision of its own.'
    );
    expect(notebook.readSources()).toEqual(former);
    const acceptOthers = tab.bar.getByRole('button', { name: 'Accept the other 2' });
    await acceptOthers.click();
    await expect(tab.proposals).toHaveCount(1);
    await expect(tab.bar.getByRole('alert')).toBeHidden();
    const accepted = getToasts(page, 'Accepted 2 changes');
    await accepted.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => notebook.readSources()).toEqual(former);
    const mine = former.map((source, index) => (index === 2 ? `${source}  # mine` : source));
    await expect.poll(async () => tab.getSources()).toEqual(mine);
    await expect(tab.proposals).toHaveCount(3);
    expect((await agent.getProposal(id)).status).toBe('pending');

    await tab.bar.getByRole('button', { name: 'Accept all' }).click();
    await acceptOthers.click();
    await expect(tab.proposals).toHaveCount(1);
    await tab.bar.getByRole('button', { name: 'Reject all' }).click();
    await expect(tab.bar).toBeHidden();
    const rejected = getToasts(page, /^Rejected/);
    await rejected.getByRole('button', { name: 'Undo' }).click();
    await expect(tab.proposal(2)).toBeFocused();
    await tab.proposal(2).getByText('Mine', { exact: true }).click();
    await expect(tab.bar).toBeHidden();
    expect((await agent.getProposal(id)).status).toBe('partly_accepted');
    const sources = await tab.getSources();
    expect(sources.slice(1, 4).map(source => source.includes('theirs'))).toEqual([
      true,
      false,
      true
    ]);
    expect(sources[2]).toBe(mine[2]);
  });

  test('can be edited first with keys, and is as it was edited after the undo of its acceptance', async ({
    agent,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    const former = await tab.getSources();
    const id = await notebook.propose([
      THREE[0],
      { op: 'insert', after: 'cell-id-2', id: 'new', cell_type: 'code', source: 'new = 1' },
      THREE[2]
    ]);
    const insert = tab.proposals.filter({ hasText: 'Claude proposes a new code cell' });
    const editFirst = async (block: Locator, text: string): Promise<void> => {
      await block.getByRole('button', { name: 'Edit first' }).click();
      await expect(block.locator('.cm-content[contenteditable="true"]')).toBeFocused();
      await press(page, 'Control+End');
      await page.keyboard.type(text);
    };

    // The focus stays at the proposal, and what was typed is not lost.
    await editFirst(tab.proposal(1), '  # mine');
    await press(page, 'Escape');
    await expect(tab.proposal(1)).toBeFocused();
    await expect(tab.proposal(1)).not.toContainText('# mine');
    await editFirst(tab.proposal(1), '  # yes');
    await tab.proposal(1).getByRole('button', { name: 'Cancel' }).click();
    await expect(tab.proposal(1)).toBeFocused();
    await expect(tab.proposal(1)).not.toContainText('# mine');
    await editFirst(tab.proposal(1), '');
    await press(page, 'Control+Enter');
    await expect(tab.proposal(1)).toHaveCount(0);
    const edited = 'theirs = 1  # mine  # yes';
    await expect.poll(() => notebook.readSources()[1]).toBe(edited);

    await expect(insert).toBeFocused();
    await press(page, 'z');
    await expect(tab.proposal(1)).toBeFocused();
    await expect(tab.proposal(1)).toContainText(edited);
    expect(notebook.readSources()).toEqual(former);
    expect(await agent.getProposal(id)).toMatchObject({ status: 'pending' });
    await press(page, 'y');
    await expect.poll(() => notebook.readSources()[1]).toBe(edited);

    await expect(insert).toBeFocused();
    await editFirst(insert, '  # mine');
    await press(page, 'Shift+Enter');
    await expect(insert).toHaveCount(0);
    await expect.poll(() => notebook.readSources()[3]).toBe('new = 1  # mine');
    await expect(tab.proposal(4)).toBeFocused();
    await expect.poll(async () => tab.isDirty()).toBe(false);
  });

  test('keeps what its user types about it while its cell moves', async ({ openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    const sources = await tab.getSources();
    await notebook.propose([changeLastLine(1), changeLastLine(2)]);
    await notebook.setMode('edit');
    const move = async (cell: string, to: number) => {
      await notebook.edit([{ op: 'move', cell, at: 'end' }]);
      await expect(tab.proposal(to)).toBeVisible();
    };

    await tab.proposal(1).getByText('Reject with a reason…').click();
    await page.keyboard.type('not ');
    await move('cell-id-1', 5);
    const reason = tab.proposal(5).getByRole('textbox', { name: 'Reason, for the agent:' });
    await expect(reason).toBeFocused();
    await page.keyboard.type('today');
    await expect(reason).toHaveValue('not today');

    await tab.scrollToCell(1);
    await tab.proposal(1).getByText('Edit first').click();
    const editor = (index: number) => tab.proposal(index).locator('.cm-content');
    await expect(editor(1)).toBeFocused();
    await press(page, 'Control+End');
    await page.keyboard.type('  # mine');
    await press(page, 'ArrowLeft', 'ArrowLeft');
    await move('cell-id-2', 5);
    await expect(editor(5)).toBeFocused();
    await page.keyboard.type('also ');
    await expect(editor(5)).toContainText('# mialso ne');

    // A cell of another type is another widget: its block is made again.
    await notebook.edit([{ op: 'replace', cell: 'cell-id-2', cell_type: 'markdown' }]);
    await expect(tab.cell(5)).toContainClass('jp-MarkdownCell');
    await expect(editor(5)).toBeFocused();
    await page.keyboard.type('and ');
    await expect(editor(5)).toContainText('# mialso and ne');
    const former = tab.proposal(4).getByRole('textbox', { name: 'Reason, for the agent:' });
    await former.click();
    await notebook.edit([{ op: 'replace', cell: 'cell-id-1', cell_type: 'raw' }]);
    await expect(tab.cell(4)).toContainClass('jp-RawCell');
    await expect(former).toBeFocused();
    await press(page, 'End');
    await page.keyboard.type(', please');
    await expect(former).toHaveValue('not today, please');
    expect([...(await tab.getSources())].sort()).toEqual([...sources].sort());
  });

  test('is reviewed with the keyboard alone, also where its user has changed cells since', async ({
    agent,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(15));
    const former = await tab.getSources();
    const id = await notebook.propose(TWELVE, { message: 'Say whose it is' });
    await expect(tab.bar).toContainText('Claude proposes 12 changes');
    await expect(tab.bar).toContainText('Say whose it is');
    await expect(tab.bar).toContainText('– of 12');
    const focused = tab.root.locator('.jp-nbedit-proposal:focus');

    // Another line than the agent, and the same one.
    await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter', 'Control+Home', 'End');
    await page.keyboard.type('  # mine');
    await press(page, 'Escape', 'ArrowDown', 'ArrowDown', 'Enter', 'Control+End');
    await page.keyboard.type('  # mine');
    expect(await tab.save()).toBe('completed');

    for (const number of [5, 4, 3, 2, 1]) {
      await press(page, number === 5 ? 'Alt+F5' : 'Alt+Shift+F5');
      await expect(focused).toContainText(`"theirs", ${number}`);
      await expect(tab.bar).toContainText(`${number} of 12`);
    }
    const decisions: [key: 'y' | 'n', shown: string | RegExp][] = [
      ['y', '"theirs", 1'],
      ['n', '"theirs", 2'],
      ['y', /Both changes fit together.*first_3 = 3 {2}# mine.*"theirs", 3/],
      ['y', '"theirs", 4'],
      ['n', /The same lines of the cell have changed.*removed: print\(5\) {2}# mine/],
      ['y', '"theirs", 6'],
      ['n', '"theirs", 7'],
      ['y', '"theirs", 8'],
      ['y', 'delete this cell'],
      ['y', 'a new code cell here'],
      ['y', 'move this cell to position 12'],
      ['y', 'theirs = 14']
    ];
    for (const [index, [key, shown]] of decisions.entries()) {
      await expect(focused).toHaveText(typeof shown === 'string' ? new RegExp(shown) : shown);
      await expect(tab.bar).toContainText(`1 of ${12 - index}`);
      await press(page, key);
    }
    await expect(tab.bar).toBeHidden();
    await expect.poll(async () => (await tab.getViewState()).focused).toContain('jp-Cell');
    expect((await tab.getViewState()).mode).toBe('command');

    const theirs = (index: number): string =>
      former[index].replace(/print\((\d+)\)/, 'print("theirs", $1)');
    const sources = [
      former[0],
      theirs(1),
      former[2],
      theirs(3).replace('first_3 = 3', 'first_3 = 3  # mine'),
      theirs(4),
      `${former[5]}  # mine`,
      theirs(6),
      former[7],
      theirs(8),
      former[10],
      'new = 1',
      former[13],
      former[11],
      former[12],
      'theirs = 14'
    ];
    await expect.poll(async () => tab.getSources()).toEqual(sources);
    expect(notebook.readSources()).toEqual(sources);
    await expect.poll(async () => tab.isDirty()).toBe(false);
    const hash = createHash('sha256').update(notebook.readText()).digest('hex');
    await expect.poll(async () => tab.getHash()).toBe(hash);
    const address = `/nbedit/notebooks/${encodeURI(notebook.path)}/history?limit=1`;
    expect(await agent.get(address)).toMatchObject({ edits: [{ hash, client: 'Claude' }] });
    const { status, parts } = await agent.getProposal(id);
    expect(status).toBe('partly_accepted');
    const verdicts = { y: 'accepted', n: 'rejected' };
    expect(parts.map(part => part.status)).toEqual(decisions.map(([key]) => verdicts[key]));
  });

  test.describe(() => {
    test.use({ sharesPage: false });

    test('does not fold a cell in which its user types before the block is drawn', async ({
      openWith,
      page
    }) => {
      const { notebook, tab } = await openWith(makeManyCells(4));
      await notebook.setMode('review');
      // What draws the blocks is loaded with the first one.
      const scripts = await holdRequests(page, /\/jupyter-nbedit\/static\/.*\.js/);
      await notebook.propose([1, 2].map(changeLastLine));
      await expect(tab.bar).toContainText('Claude proposes 2 changes');
      await expect.poll(() => scripts.held).not.toEqual([]);
      await press(page, 'ArrowDown', 'Enter', 'Control+Home', 'End');
      await page.keyboard.type('  # mine');
      scripts.release();
      await expect(tab.proposals).toHaveCount(2);
      await expect(tab.editor(2)).toBeHidden();
      await expect(tab.editor(1)).toBeVisible();
      await page.keyboard.type(' and more');
      expect(await tab.getSource(1)).toMatch(/^first_1 = 1 {2}# mine and more\n/);
      await press(page, 'Escape', 'ArrowDown');
      expect(await tab.getViewState()).toMatchObject({ mode: 'command', activeCellIndex: 2 });
      await press(page, 'Alt+F5');
      await expect(tab.proposal(2)).toBeFocused();
    });
  });

  test('folds the cell in which its user types only on demand, and keys are commands then @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(4));
    await notebook.propose([1, 2].map(changeLastLine));
    await expect(tab.proposals).toHaveCount(2);
    for (const isByMouse of [true, false]) {
      await press(page, 'Escape', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowDown', 'Enter');
      await page.keyboard.type('x');
      await expect(tab.editor(1)).toBeVisible();
      const fold = tab.proposal(1).getByRole('button', { name: 'Fold the cell' });
      if (isByMouse) {
        await fold.click();
      } else {
        await fold.focus();
        await press(page, 'Enter');
      }
      await expect(tab.editor(1)).toBeHidden();
      await press(page, 'Escape', 'ArrowDown');
      expect(await tab.getViewState()).toMatchObject({ mode: 'command', activeCellIndex: 2 });
    }
  });

  test('is decided with the keyboard one after the other at cells that agents have edited, too @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(6));
    await notebook.propose([1, 2, 3].map(changeLastLine));
    await notebook.setMode(null);
    const cells = [1, 2].map(index => ({
      op: 'replace',
      cell: `cell-id-${index}`,
      source: `first_${index} = 0\nsecond_${index} = ${index}\nprint(${index})`
    }));
    await notebook.edit(cells, 'Codex');
    await expect(tab.bar).toContainText('– of 5');
    const focused = tab.root.locator('.jp-nbedit-proposal:focus');

    // A decision on a cell also keeps what Codex has changed in it.
    await tab.proposal(1).focus();
    for (const [index, left] of [3, 1].entries()) {
      await expect(focused).toContainText(`"theirs", ${index + 1}`);
      await press(page, 'y');
      await expect(tab.bar).toContainText(`1 of ${left}`);
    }
    await expect(focused).toContainText('"theirs", 3');
    await press(page, 'y');
    await expect(tab.bar).toBeHidden();
    await expect.poll(async () => (await tab.getViewState()).focused).toContain('jp-Cell');
    expect((await tab.getSources()).slice(1, 4)).toEqual([
      'first_1 = 0\nsecond_1 = 1\nprint("theirs", 1)',
      'first_2 = 0\nsecond_2 = 2\nprint("theirs", 2)',
      'first_3 = 3\nsecond_3 = 3\nprint("theirs", 3)'
    ]);
  });

  test('may be new, gone and moved cells, and is accepted as a whole @nightly', async ({
    agent,
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    const id = await notebook.propose([
      { op: 'insert', at: 'start', id: 'first', cell_type: 'markdown', source: '# First' },
      { op: 'insert', after: 'cell-id-1', id: 'between', cell_type: 'code', source: 'between = 1' },
      { op: 'delete', cell: 'cell-id-2' },
      { op: 'move', cell: 'cell-id-4', before: 'cell-id-3' },
      { op: 'set_metadata', cell: 'cell-id-3', patch: { tags: ['parameters'] } }
    ]);
    await expect(tab.proposal(0)).toContainText('proposes a new markdown cell here');
    await tab.proposal(0).getByRole('button', { name: 'Rendered' }).click();
    await expect(tab.proposal(0).locator('.jp-nbedit-rendered h1')).toHaveText('First');
    await expect(tab.proposal(0).locator('.jp-nbedit-diff-source')).toBeHidden();
    await expect(tab.proposal(1)).toContainText('proposes a new code cell here');
    await expect(tab.editor(2)).toBeHidden();
    await expect(tab.root.locator('.jp-nbedit-move-line')).toHaveText(
      'Claude proposes to move cell 5 here'
    );
    await expect(tab.proposal(2)).toContainText('proposes to delete this cell');
    await expect(tab.proposals.filter({ hasText: /move this cell/ })).toHaveCount(1);
    await expect(tab.proposal(3).filter({ hasText: 'metadata' })).toContainText('parameters');

    await tab.bar.getByRole('button', { name: 'Accept all' }).click();
    await expect(tab.proposals).toHaveCount(0);
    const ids = ['first', 'cell-id-0', 'cell-id-1', 'between', 'cell-id-4', 'cell-id-3'];
    await expect.poll(async () => tab.getIds()).toEqual(ids);
    expect(notebook.readContent().cells.map(cell => cell.id)).toEqual(ids);
    expect((await agent.getProposal(id)).status).toBe('accepted');
  });

  test('is gone when somebody else has decided @nightly', async ({ agent, openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(5));
    await notebook.propose(THREE);
    await expect(tab.proposals).toHaveCount(3);
    const cookies = await page.context().cookies();
    const xsrf = cookies.find(({ name }) => name === '_xsrf')?.value ?? '';
    const { proposals } = (await agent.get(
      `/nbedit/proposals?path=${encodeURIComponent(notebook.path)}`
    )) as { proposals: { proposal_id: number }[] };
    const answer = await page.request.post(
      `${process.env.TARGET_URL}/nbedit/proposals/${proposals[0].proposal_id}/reject`,
      { data: {}, headers: { 'X-XSRFToken': xsrf } }
    );
    expect(answer.ok()).toBe(true);
    await expect(tab.proposals).toHaveCount(0);
    await expect(tab.bar).toBeHidden();
  });

  test('is reached and decided with the keyboard, whose keys do not reach the cells @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(40));
    await notebook.setMode('review');
    const edit = (index: number) => replace(index);
    await notebook.propose([edit(30), edit(35)]);
    await expect(tab.bar).toBeVisible();

    await runCommand(page, 'nbedit:next-proposal');
    await expect(tab.proposal(30)).toBeFocused();
    expect(await tab.isInView(30)).toBe(true);
    await page.keyboard.press('d');
    await page.keyboard.press('d');
    expect(await tab.getSources()).toHaveLength(40);
    for (const text of ['Reject with a reason…', 'Edit first', 'Reject', 'Accept']) {
      await press(page, 'Tab');
      await expect(tab.proposal(30).getByText(text, { exact: true })).toBeFocused();
    }
    await press(page, 'Enter');
    await expect(tab.editor(30)).toHaveText('theirs = 30');
    await expect(tab.proposal(30)).toHaveCount(0);
    expect((await tab.getViewState()).mode).toBe('command');
    await expect(tab.proposal(35)).toBeFocused();
    await page.keyboard.press('Escape');
    await expect(tab.cell(35)).toBeFocused();
  });

  test('has the colours of its language, though it was proposed before the notebook was opened @nightly', async ({
    create,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(5), 'pending.ipynb');
    await notebook.propose([
      replace(1, 'print("theirs")'),
      { op: 'insert', after: 'cell-id-2', id: 'new', cell_type: 'code', source: 'print("new")' }
    ]);
    await page.goto('');
    // Large notebooks take longer to load than what is proposed for them takes to be known.
    const reads = await holdRequests(page, /\/api\/contents\/.*pending\.ipynb(?!.*content=0)/);
    const opened = open(notebook.name);
    await page.locator('.jp-NotebookPanel').waitFor();
    await expect(getModeStatus(page)).toContainText('proposed');
    await page.evaluate(async () => {
      for (let frame = 0; frame < 60; frame++) {
        await new Promise(resolve => requestAnimationFrame(resolve));
      }
    });
    reads.release();
    const tab = await opened;
    await expect(tab.proposals).toHaveCount(2);
    const string = (text: string) =>
      tab.proposals.locator('.cm-line span[class^="ͼ"]', { hasText: new RegExp(`^"${text}"$`) });
    await expect(string('theirs')).not.toHaveCount(0);
    await expect(string('new')).not.toHaveCount(0);
  });

  test('changes its colours with the language of the notebook @nightly', async ({
    agent,
    folder,
    open
  }) => {
    const plain = JSON.parse(formatNotebook(makeManyCells(3))) as {
      metadata: Record<string, unknown>;
    };
    plain.metadata = {};
    folder.write('language.ipynb', JSON.stringify(plain));
    const path = folder.getPath('language.ipynb');
    const tab = await open('language.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, [replace(1, 'print("theirs")')]);
    const coloured = tab.proposal(1).locator('.cm-line span[class^="ͼ"]', {
      hasText: /^"theirs"$/
    });
    await expect(tab.proposal(1).locator('.cm-content')).toContainText('print("theirs")');
    await expect(coloured).toHaveCount(0);
    await tab.setLanguage('python');
    await expect(coloured).not.toHaveCount(0);
    await expect(tab.proposals).toHaveCount(1);
  });

  for (const width of [560, 720]) {
    test(`can be reached and decided in a window of ${width} pixels @nightly`, async ({
      openWith,
      page
    }) => {
      const { notebook, tab } = await openWith(makeManyCells(5));
      await page.setViewportSize({ width, height: 800 });
      await notebook.propose(THREE, { message: 'Simpler, and as the guide says it should be' });
      await expect(tab.proposals).toHaveCount(3);
      for (const name of ['Go to the next change', 'Reject all', 'Accept all']) {
        const button = tab.bar.getByRole('button', { name });
        await expect(button).toBeInViewport({ ratio: 1 });
      }
      for (const name of ['Reject', 'Accept']) {
        const button = tab.proposal(1).getByText(name, { exact: true });
        await button.scrollIntoViewIfNeeded();
        await expect(button).toBeInViewport({ ratio: 1 });
      }
      await tab.bar.getByRole('button', { name: 'Go to the next change' }).click();
      await expect(tab.proposal(1)).toBeFocused();
      await tab.bar.getByRole('button', { name: 'Go to the next change' }).focus();
      await page.keyboard.press('Enter');
      await expect(tab.proposal(2)).toBeFocused();
      expect(await findViolations(tab.bar)).toEqual([]);
      await tab.bar.getByRole('button', { name: 'Accept all' }).click();
      await expect(tab.proposals).toHaveCount(0);
      await expect(tab.editor(3)).toHaveText('theirs = 3');
    });
  }

  test('does not push the first cell under the bar at the top of a notebook @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(30));
    await tab.scrollTo(0);
    await notebook.setMode('review');
    // The second time, the bar has its height already.
    for (const round of [1, 2]) {
      await notebook.propose([replace(28, `${round}`)]);
      await expect(tab.bar).toBeVisible();
      await tab.waitFrames(40);
      expect((await tab.getViewState()).scrollTop).toBe(0);
      const { y, height } = (await tab.bar.boundingBox())!;
      expect(await tab.getCellTop('cell-id-0')).toBeGreaterThanOrEqual(y + height);
      await runCommand(page, 'nbedit:reject-proposals');
      await expect(tab.bar).toBeHidden();
    }
  });

  test('is a text, whatever is in it @nightly', async ({ openWith, page }) => {
    const harm = await watchForInjection(page);
    // All of them are to be drawn.
    await page.setViewportSize({ width: 1280, height: 4000 });
    const { notebook, tab } = await openWith(makeManyCells(PAYLOADS.length));
    await notebook.setMode('review');
    for (const [index, payload] of PAYLOADS.entries()) {
      const operations = [{ op: 'replace', cell: `cell-id-${index}`, source: payload }];
      await notebook.propose(operations, { client: payload, message: payload });
    }
    await expect(tab.bar).toContainText(`propose ${PAYLOADS.length} changes`);
    await runCommand(page, 'nbedit:review-proposals');
    await expect(tab.proposals).toHaveCount(PAYLOADS.length);
    expect(harm).toEqual({ found: [], errors: [] });
    await runCommand(page, 'nbedit:reject-proposals');
    await expect(tab.proposals).toHaveCount(0);
  });
});

for (const windowingMode of ['defer', 'full', 'none', 'contentVisibility']) {
  test.describe(`In windowing mode ${windowingMode}`, () => {
    test.use({ mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode } } });

    test('a block stands for its cell until the user wants to see or change the cell @nightly', async ({
      openWith,
      page
    }) => {
      const { notebook, tab } = await openWith(makeManyCells(60));
      const isMissing = windowingMode === 'contentVisibility' && (await isOldestLab(page));
      test.skip(isMissing, 'this JupyterLab has no such mode');
      await tab.scrollToCell(30);
      await tab.placeCaret(30);
      const getTop = async (index: number) => (await tab.editor(index).boundingBox())!.y;
      const top = await getTop(30);
      const expectPlace = async (when: string): Promise<void> => {
        await tab.waitFrames(40);
        await expect
          .poll(async () => Math.abs((await getTop(30)) - top), { message: when })
          .toBeLessThan(1);
      };
      await notebook.setMode('review');
      const typed = page.keyboard.type('  # typed while it arrives', { delay: 20 });
      const changed = [2, 28, 29, 30, 31, 58].map(changeLastLine);
      await notebook.propose([...changed, { op: 'delete', cell: 'cell-id-32' }]);
      await expect(tab.bar).toContainText('Claude proposes 7 changes');
      await typed;
      await expectPlace('the cell in which the user types');
      await page.keyboard.type(', and then');
      expect(await tab.getSource(30)).toMatch(/print\(30\) {2}# typed while it arrives, and then$/);
      await expect(tab.editor(30)).toBeVisible();
      for (const index of [29, 31, 32]) {
        await expect(tab.proposal(index)).toBeVisible();
        await expect(tab.editor(index)).toBeHidden();
      }

      // With the mouse, while the user types in another cell.
      const block = tab.proposal(31);
      await block.getByRole('button', { name: 'Show the cell' }).click();
      await expect(tab.editor(31)).toBeVisible();
      await expectPlace('a cell below is shown');
      expect((await tab.getViewState()).mode).toBe('edit');
      await page.keyboard.type('!');
      await block.getByRole('button', { name: 'Fold the cell' }).click();
      await expect(tab.editor(31)).toBeHidden();
      await expectPlace('a cell below is folded');
      await page.keyboard.type('?');
      expect(await tab.getSource(30)).toMatch(/and then!\?$/);

      // With the keyboard: what is typed next is not lost.
      await press(page, 'Escape', 'ArrowUp');
      await expect.poll(async () => (await tab.getViewState()).activeCellId).toBe('cell-id-29');
      await tab.waitFrames(40);
      await press(page, 'Enter', 'Control+End');
      await page.keyboard.type('  # mine');
      await expect(tab.editor(29)).toBeVisible();
      await expect(tab.editor(29)).toBeInViewport();
      expect(await tab.getSource(29)).toMatch(/print\(29\) {2}# mine$/);
      await expect(tab.proposal(29)).toContainText('The same lines of the cell have changed');
    });
  });
}

test.describe('In a notebook that has all its cells on the page', () => {
  test.use({
    mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode: 'defer' } }
  });

  test('blocks are drawn when their cells come near to what is in sight @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(60));
    await notebook.propose([1, 40, 50].map(changeLastLine));
    await expect(tab.bar).toContainText('Claude proposes 3 changes');
    await expect(tab.proposal(1)).toBeVisible();
    await expect(tab.proposals).toHaveCount(1);
    await tab.scrollToCell(38);
    await expect(tab.proposal(40)).toBeVisible();
    // The key goes to one that is not drawn yet.
    await press(page, 'Alt+Shift+F5');
    await expect(tab.proposal(50)).toBeFocused();
    await expect(tab.proposal(50)).toBeInViewport();
  });
});

test.describe('In a notebook that has only the cells in sight on the page', () => {
  test.use({
    mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode: 'full' } }
  });

  test('blocks come and go with their cells, and do not push away what is in sight @nightly', async ({
    create,
    open,
    openWith
  }) => {
    const notebook = create(makeManyCells(60));
    await openWith(makeManyCells(3));
    const tab = await open(notebook.name);
    await notebook.setMode('review');
    await tab.scrollToCell(30);
    const middle = await tab.getMiddleCellId();
    const top = await tab.getCellTop(middle);
    await notebook.propose(THREE);
    await expect(tab.bar).toBeVisible();
    await tab.waitFrames(40);
    // The window measures the blocks and then goes back, on a slow machine after some frames more.
    await expect.poll(async () => Math.abs((await tab.getCellTop(middle)) - top)).toBeLessThan(2);

    for (let time = 0; time < 2; time++) {
      await tab.scrollToCell(0);
      await expect(tab.proposal(1)).toBeVisible();
      await expect(tab.proposal(1)).toHaveCount(1);
      await tab.scrollToCell(30);
      await expect(tab.cell(1)).not.toBeInViewport();
    }
    await tab.bar.getByRole('button', { name: 'Go to the next change' }).click();
    await expect(tab.proposal(1)).toBeFocused();
  });

  test('a reader who goes elsewhere right after a change stays there @nightly', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(60));
    await tab.scrollToCell(40);
    const left = await tab.scrollAwayOnNextChange(0);
    await notebook.edit([
      { op: 'insert', after: 'cell-id-38', cell_type: 'code', source: 'a\nb\nc\nd\ne' }
    ]);
    await left();
    await tab.waitFrames(60);
    expect(await tab.isInView(0)).toBe(true);
  });
});

test.describe('The list of proposals', () => {
  test('has those of notebooks that are not open, and opens them @nightly', async ({
    agent,
    create,
    folder,
    open,
    page
  }) => {
    const notebook = create(makeManyCells(3));
    const before = formatNotebook(makeManyCells(5));
    folder.write('closed.ipynb', before);
    await open(notebook.name);
    const path = folder.getPath('closed.ipynb');
    await agent.setMode(path, 'review');
    await agent.propose(path, THREE, { message: 'Later' });
    await runCommand(page, 'nbedit:review-proposals');
    const item = page.locator('.jp-nbedit-proposal-item').filter({ hasText: path });
    await expect(item).toContainText('Claude proposes 3 changes');
    await expect(item).toContainText('Later');
    // The notebook in front has none.
    await expect(getModeStatus(page)).toHaveAccessibleName(/Other notebooks: 3 changes proposed/);
    await expect(item.locator('time')).toHaveText('now');
    await item.getByRole('button', { name: path, exact: true }).click();
    const opened = page.locator('.jp-NotebookPanel:not(.lm-mod-hidden)');
    await expect(opened.locator('.jp-nbedit-proposal')).toHaveCount(3);
    await item.getByRole('button', { name: /^Reject/ }).click();
    await expect(item).toHaveCount(0);
    await expect(opened.locator('.jp-nbedit-proposal')).toHaveCount(0);
    await getToasts(page, 'Rejected 3 changes').getByRole('button', { name: 'Undo' }).click();
    await expect(opened.locator('.jp-nbedit-proposal')).toHaveCount(3);
    await item.getByRole('button', { name: /^Accept/ }).click();
    await expect(opened.locator('.jp-nbedit-proposal')).toHaveCount(0);
    await getToasts(page, 'Accepted 3 changes').getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => folder.readText('closed.ipynb')).toBe(before);

    await agent.propose(path, THREE);
    await expect(item).toHaveCount(1);
    folder.write('closed.ipynb', before.replace('first_1 = 1', 'first_1 = 11'));
    await item.getByRole('button', { name: /^Accept/ }).click();
    await expect(item.getByRole('alert')).toContainText('Open the notebook to decide');
    expect(folder.readText('closed.ipynb')).not.toContain('theirs');
  });

  test('has new notebooks, which are there once they are accepted @nightly', async ({
    agent,
    folder,
    openWith,
    page,
    tmpPath
  }) => {
    await openWith(makeManyCells(3));
    const path = folder.getPath('new.ipynb');
    // A mode is a notebook's or the server's, and the server is other tests' as well.
    folder.write('new.ipynb', formatNotebook([]));
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
    await runCommand(page, 'nbedit:review-proposals');
    const list = page.locator('.jp-nbedit-proposal-item').filter({ hasText: path });
    const item = list.filter({ hasText: 'of 2 cells' });
    await expect(item).toContainText('Claude proposes a new notebook of 2 cells');
    await item.getByText('Show 2 cells').click();
    await expect(item.locator('.jp-nbedit-diff-source')).toHaveText([
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
    expect((await agent.getProposal(inJulia)).status).toBe('rejected');
    await getToasts(page, 'Rejected').getByRole('button', { name: 'Undo' }).click();
    await expect(other).toHaveCount(1);
    expect((await agent.getProposal(inJulia)).status).toBe('pending');
    await showFolder(page, tmpPath);
    await item.getByRole('button', { name: /^Accept/ }).click();
    await expect(item).toHaveCount(0);
    const opened = page.locator('.jp-NotebookPanel:not(.lm-mod-hidden)');
    await expect(opened.locator('.jp-Notebook-cell')).toHaveCount(2);
    await expect(page.locator('.jp-DirListing-item', { hasText: 'new.ipynb' })).toBeVisible();
    expect(folder.readSources('new.ipynb')).toEqual(['# New', 'print("new")']);
    expect((await agent.getProposal(id)).status).toBe('accepted');
  });
});

test.describe('A proposal', () => {
  for (const theme of THEMES) {
    test(`looks as in its picture, and can be used by everybody, in the ${theme} theme @nightly`, async ({
      openWith,
      page
    }) => {
      const limit = 'wet = 100  # mm\nmonths = rain[rain > wet]\nprint(len(months))';
      const { notebook, tab } = await openWith(
        [makeCodeCell('limit', limit), makeMarkdownCell('next', 'And then?')],
        { name: 'picture.ipynb' }
      );
      await setTheme(page, theme);
      await page.sidebar.close('left');
      await notebook.propose(
        [
          replace('limit', 'wet = 200  # mm\nmonths = rain[rain > wet]\nprint(months.size)'),
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
      await expect(tab.proposals).toHaveCount(2);
      await tab.waitFrames(40);
      await expectPicture(tab.cell(0), `proposal-${theme}`);
      await expectPicture(tab.bar, `proposal-bar-${theme}`);
      for (const shown of [...(await tab.proposals.all()), tab.bar]) {
        expect(await findViolations(shown)).toEqual([]);
      }
      await runCommand(page, 'nbedit:review-proposals');
      const list = page.getByRole('region', { name: 'Proposed changes of all notebooks' });
      await expect(
        list.locator('.jp-nbedit-proposal-item').filter({ hasText: notebook.path })
      ).toBeVisible();
      expect(await findViolations(list)).toEqual([]);
    });
  }
});

test.describe('A difference', () => {
  const signs = (diff: Locator) => diff.locator('.jp-nbedit-line-sign-symbol');

  test('can be told apart without colours, and read by a screen reader @nightly', async ({
    openWith,
    page
  }) => {
    await page.emulateMedia({ forcedColors: 'active' });
    const { notebook, tab } = await openWith([
      makeCodeCell('a', 'kept = 0\nold = 1\n\nold = 2'),
      makeCodeCell('b', 'gone = 1')
    ]);
    await notebook.propose([
      replace('a', 'kept = 0\nnew = 1\n\nnew = 2'),
      { op: 'delete', cell: 'b' }
    ]);
    await expect(tab.proposals).toHaveCount(2);
    const changed = tab.proposal(0).locator('.jp-nbedit-diff');
    await expect(signs(changed)).toHaveText(['-', '+', '-', '+']);
    const lines = changed.locator('.cm-line, .cm-deletedLine');
    await expect(lines).toHaveText([
      'kept = 0',
      '-removed: old = 1',
      '+added: new = 1',
      '',
      '-removed: old = 2',
      '+added: new = 2'
    ]);
    await expect(signs(tab.proposal(1))).toHaveText(['-']);
    for (const sign of await signs(tab.proposals.first()).all()) {
      await expect(sign).toBeInViewport({ ratio: 1 });
    }
    for (const name of ['Accept', 'Reject']) {
      const button = tab.proposal(0).getByText(name, { exact: true });
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

    for (const shown of await tab.proposals.all()) {
      expect(await findViolations(shown)).toEqual([]);
    }
  });
});
