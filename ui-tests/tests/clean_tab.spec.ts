import type { NotebookPanel } from '@jupyterlab/notebook';
import { expect, test } from './fixtures';
import { makeCodeCell, makeManyCells, makeMarkdownCell, replace } from './notebooks';

test.describe('A clean tab', () => {
  test('shows an edit, and all else stays where it was', async ({ openWith }) => {
    const { notebook, tab } = await openWith(makeManyCells(20), { kernel: true });
    // JupyterLab may add what the kernel says about its language; that shall be over.
    expect(await tab.save()).toContain('completed');
    const kernel = await tab.getKernelId();
    const models = await tab.getModels();
    await tab.scrollTo(400);
    await tab.placeCaret(6);
    const before = await tab.getViewState();
    const top = (await tab.cell(6).boundingBox())!.y;
    const output = await tab.output(5).elementHandle();

    const saved = notebook.readContent();
    const times: number[] = [];
    for (const round of [1, 2, 3, 4, 5]) {
      const painted = tab.waitUntilPainted(7, `second = ${round}`);
      const answer = await notebook.edit([replace(7, `first = 7\nsecond = ${round}`)]);
      times.push((await painted) - answer.answeredAt);
      await expect.poll(async () => tab.getHash()).toBe(answer.hash);
    }
    console.log(`    answer of the PATCH to text on screen: ${times.join(', ')} ms`);

    await expect(tab.output(7)).toHaveCount(0);
    expect(await tab.getPositions(models)).toEqual([...Array(20).keys()]);
    // The bar above the cells makes the scrolled area smaller: what is in it stays in its place.
    const { height } = (await tab.root.locator('.jp-nbedit-bar').boundingBox())!;
    expect(await tab.getViewState()).toEqual({ ...before, scrollTop: before.scrollTop + height });
    expect((await tab.cell(6).boundingBox())!.y).toBe(top);
    expect(await tab.isDirty()).toBe(false);
    expect(await tab.getKernelId()).toBe(kernel);
    expect(kernel).toBeTruthy();
    await expect(tab.output(5)).toHaveText('output 5');
    expect(await output!.evaluate(node => node.isConnected)).toBe(true);

    saved.cells[7].source = ['first = 7\n', 'second = 5'];
    saved.cells[7].outputs = [];
    saved.cells[7].execution_count = null;
    expect(notebook.readText()).toBe(`${JSON.stringify(saved, null, 1)}\n`);
  });

  test('renders an edited Markdown cell at once, not when JupyterLab does @nightly', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith([makeMarkdownCell('one', '# Before')]);
    const heading = tab.cell(0).getByRole('heading', { level: 1 });
    await expect(heading).toContainText('Before');
    // JupyterLab waits this long after the last change, by default a second.
    await page.evaluate(() => {
      const panel = window.jupyterapp.shell.currentWidget as NotebookPanel;
      const cell = panel.content.widgets[0] as unknown as { _monitor: { timeout: number } };
      cell._monitor.timeout = 1e9;
    });
    await notebook.edit([replace('one', '# After')]);
    await expect(heading).toContainText('After');
  });

  test('renders an edited Markdown cell, and a cell that has become one @nightly', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith([
      makeMarkdownCell('prose', '# Old title'),
      makeCodeCell('run', 'x = 1')
    ]);
    await expect(tab.cell(0).locator('h1')).toContainText('Old title');
    await notebook.edit([
      replace('prose', '# New title\nSome *text*.'),
      { op: 'replace', cell: 'run', cell_type: 'markdown', source: '## Not code' }
    ]);
    await expect(tab.cell(0).locator('h1')).toContainText('New title');
    await expect(tab.cell(0).locator('em')).toHaveText('text');
    await expect(tab.cell(1).locator('h2')).toContainText('Not code');
    await expect(tab.cells).toHaveCount(2);
    expect(await tab.isDirty()).toBe(false);
  });

  test('shows all of 64 edits that are made at once @nightly', async ({ openWith }) => {
    const { notebook, tab } = await openWith(makeManyCells(64));
    const expected = Array.from({ length: 64 }, (_, index) => `theirs = ${index}`);
    await Promise.all(
      expected.map(async (source, index) =>
        notebook.edit([{ op: 'replace', cell: `cell-id-${index}`, source }])
      )
    );
    await expect.poll(async () => tab.getSources()).toEqual(expected);
    expect(notebook.readSources()).toEqual(expected);
    expect(await tab.isDirty()).toBe(false);
  });

  test('follows its notebook after a rename @nightly', async ({
    agent,
    folder,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    // JupyterLab loses a notebook that is renamed before its first checkpoint is there.
    const checkpoints = `/api/contents/${notebook.path}/checkpoints`;
    await expect.poll(async () => agent.get(checkpoints)).toHaveLength(1);
    await page.evaluate(
      async ([from, to]) => window.jupyterapp.serviceManager.contents.rename(from, to),
      [notebook.path, folder.getPath('after.ipynb')]
    );
    await agent.edit(folder.getPath('after.ipynb'), [replace(1)]);
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    await tab.typeText(0, '  # mine');
    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('after.ipynb')).toEqual(await tab.getSources());
  });
});
