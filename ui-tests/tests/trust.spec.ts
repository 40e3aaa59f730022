import type { Page } from '@playwright/test';
import type { Agent } from './agent';
import { expect, test } from './fixtures';
import { makeCodeCell, makeHtmlOutput, makeMarkdownCell, makeNotebook, replace } from './notebooks';
import type { Tab } from './tab';

test.use({ sharesPage: false });

// Bold text is left in by the sanitizer; a script is not, and runs only if trusted.
const OUTPUT = makeHtmlOutput(
  `<b>rendered</b><script>window.nbeditScriptRan = true;</script>
<img src="data:,x" onerror="window.nbeditScriptRan = true">`
);
const PROGRAM = {
  data: { 'application/javascript': 'window.nbeditScriptRan = true;' },
  metadata: {},
  output_type: 'display_data'
};

async function hasScriptRun(page: Page): Promise<boolean> {
  return page.evaluate(() => 'nbeditScriptRan' in window);
}

// Jupyter's signature is of the content: the same cells elsewhere are as trusted.
function makeCells(title: string) {
  return [
    makeMarkdownCell('title', title),
    makeCodeCell('shown', 'show()', [OUTPUT], 1),
    makeCodeCell('edited', 'x = 1'),
    makeCodeCell('program', 'run()', [PROGRAM], 2)
  ];
}

async function editNotebook(agent: Agent, path: string, tab: Tab): Promise<void> {
  await agent.edit(path, [
    replace('edited', 'x = 2'),
    { op: 'insert', at: 'end', cell_type: 'code', source: 'y = 2' },
    { op: 'insert', at: 'end', cell_type: 'markdown', source: 'an **addition**' },
    { op: 'move', cell: 'program', at: 'end' }
  ]);
  await expect(tab.editor(2)).toHaveText('x = 2');
  await expect(tab.cells).toHaveCount(6);
}

test.describe('The HTML output', () => {
  test('S21: of a trusted notebook still renders after an edit, and in a new window', async ({
    agent,
    anotherWindow,
    folder,
    open,
    page
  }) => {
    const path = folder.getPath('trusted.ipynb');
    const trusted = makeCells('# Trusted').map(cell =>
      cell.cell_type === 'code' ? { ...cell, metadata: { trusted: true } } : cell
    );
    await agent.writeContents(path, {
      type: 'notebook',
      format: 'json',
      content: makeNotebook(trusted)
    });
    const tab = await open('trusted.ipynb');
    await expect(tab.output(1).locator('b')).toHaveText('rendered');
    expect(await hasScriptRun(page)).toBe(true);
    const output = await tab.output(1).locator('b').elementHandle();

    await editNotebook(agent, path, tab);
    expect(await output!.evaluate(node => node.isConnected)).toBe(true);
    expect(await tab.save()).toContain('completed');
    expect(folder.readText('trusted.ipynb')).not.toContain('trusted');

    await agent.edit(path, [replace('edited', 'x = 3')]);
    // Not a reload: JupyterLab may restore the notebook then, and starts a kernel for it.
    const newWindow = await anotherWindow();
    const again = await open('trusted.ipynb', { page: newWindow });
    await expect(again.output(1).locator('b')).toHaveText('rendered');
    await expect(again.editor(2)).toHaveText('x = 3');
    expect(await hasScriptRun(newWindow)).toBe(true);
  });

  test('S21: of an untrusted notebook runs no script, before and after an edit', async ({
    agent,
    anotherWindow,
    open,
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeCells('# Untrusted'));
    await expect(tab.output(1).locator('b')).toHaveText('rendered');
    expect(await hasScriptRun(page)).toBe(false);

    await editNotebook(agent, notebook.path, tab);
    expect(await hasScriptRun(page)).toBe(false);

    const newWindow = await anotherWindow();
    const again = await open(notebook.name, { page: newWindow });
    await expect(again.output(1).locator('b')).toHaveText('rendered');
    await expect(again.editor(2)).toHaveText('x = 2');
    expect(await hasScriptRun(newWindow)).toBe(false);
  });
});
