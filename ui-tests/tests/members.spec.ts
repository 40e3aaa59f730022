import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { formatNotebook, makeCodeCell, makeMarkdownCell, makeStreamOutput } from './notebooks';
import type { Tab } from './tab';

const EDIT = { op: 'replace', cell: 'code', source: 'x = 2', outputs: 'keep' };
const FOLD = { collapsed: true, jupyter: { outputs_hidden: true } };

function makeText(metadata: Record<string, unknown> = {}): string {
  return formatNotebook([
    makeMarkdownCell('title', '# Title'),
    { ...makeCodeCell('code', 'x = 1', [makeStreamOutput('one\n')], 1), metadata },
    makeCodeCell('other', 'y = 1')
  ]);
}

async function run(page: Page, command: string): Promise<void> {
  await page.evaluate(async id => {
    await window.jupyterapp.commands.execute(id);
  }, command);
}

/** Show the change of a cell, and undo it there. */
async function undo(tab: Tab, index: number): Promise<void> {
  await tab.mark(index).click();
  await tab.change(index).getByRole('button', { name: 'Undo' }).click();
  await expect.poll(async () => tab.getSource(index)).toBe('x = 1');
}

test.describe('What JupyterLab stores about looks', () => {
  test('a fold of an output leaves the mark of a change, and its undo', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeText());
    await notebook.edit([EDIT]);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);

    await tab.cell(1).locator('.jp-InputPrompt').click();
    await run(page, 'notebook:hide-cell-outputs');
    await tab.save();
    expect(notebook.readContent().cells[1]?.metadata).toEqual(FOLD);
    // A change elsewhere makes the page ask again.
    await notebook.edit([{ ...EDIT, cell: 'title', source: '# New' }]);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 1]);
    await undo(tab, 1);
    const cell = notebook.readContent().cells[1];
    expect(cell).toMatchObject({ metadata: FOLD, execution_count: 1, source: ['x = 1'] });
  });

  test('JupyterLab completes a fold when it saves: the mark stays, and so does the undo', async ({
    create,
    open
  }) => {
    const notebook = create(makeText({ collapsed: true }));
    await notebook.edit([EDIT]);
    const tab = await open(notebook.name);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1]);

    await tab.typeText(2, '# typed\n');
    await tab.save();
    expect(notebook.readContent().cells[1]?.metadata).toEqual(FOLD);
    await notebook.edit([{ op: 'insert', at: 'end', cell_type: 'code', source: 'z', id: 'z' }]);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 3]);
    await undo(tab, 1);
    expect(notebook.readContent().cells[1]?.metadata).toEqual(FOLD);
  });
});
