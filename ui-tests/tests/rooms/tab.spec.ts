import type { IDocumentWidget } from '@jupyterlab/docregistry';
import type { Operation } from '../agent';
import { expect, test } from '../fixtures';
import { getToasts } from '../lab';
import { makeCodeCell, makeManyCells, replace } from '../notebooks';

/** Wait until it holds of the file: a room writes in place, and half a file is to be seen then. */
async function waitForAgreement(look: () => void): Promise<void> {
  await expect(look).toPass({ timeout: 20_000, intervals: [50] });
}

test.describe('In a collaborative tab', () => {
  test('an edit of the cell its user types in is merged, and the caret stays', async ({
    openWith
  }) => {
    const lines = ['a = 1', 'b = 1', 'c = 1', 'd = 1', 'e = 1'];
    const { notebook, tab } = await openWith([
      makeCodeCell('one', lines.join('\n')),
      makeCodeCell('two', 'x = 1')
    ]);
    await tab.typeText(0, '  # mine');
    await notebook.edit([
      { op: 'replace_text', cell: 'one', old: 'a = 1', new: 'import os\na = 2' }
    ]);
    await expect(tab.editor(0)).toContainText('a = 2');
    expect(await tab.getCaret()).toMatchObject({ line: 5, before: 'e = 1  # mine', after: '' });
    await tab.page.keyboard.type(' still');
    const expected = ['import os', 'a = 2', ...lines.slice(1)].join('\n') + '  # mine still';
    expect(await tab.getSource(0)).toBe(expected);
    await waitForAgreement(() => expect(notebook.readSources()).toEqual([expected, 'x = 1']));
  });

  test('an edit of more cells than its event names is told of as one', async ({
    openWith,
    page
  }) => {
    const { notebook, tab } = await openWith(makeManyCells(2));
    const insert = { op: 'insert', at: 'end', cell_type: 'code', source: 'theirs' };
    await notebook.edit(Array<Operation>(25).fill(insert), 'Busy bot');
    await expect(tab.cells).toHaveCount(27);
    await expect(getToasts(page)).toHaveText(/^Busy bot: 2[05] cells added/);
  });

  test('edits are followed after a rename', async ({ agent, folder, openWith, page }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    await tab.typeText(0, '  # mine');
    await waitForAgreement(() => expect(notebook.readSources()[0]).toContain('# mine'));
    await page.evaluate(
      async ([from, to]) => window.jupyterapp.serviceManager.contents.rename(from, to),
      [notebook.path, folder.getPath('after.ipynb')]
    );
    await agent.edit(folder.getPath('after.ipynb'), [replace(1)], 'Renaming bot');
    await expect(tab.editor(1)).toHaveText('theirs = 1');
    await expect(getToasts(page)).toContainText('Renaming bot: 1 cell changed');
    const sources = await tab.getSources();
    await waitForAgreement(() => expect(folder.readSources('after.ipynb')).toEqual(sources));
  });

  test('the reply to an edit says that it is shown there', async ({ openWith }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    const change = async (source: string) =>
      notebook.edit([{ op: 'replace', cell: 'cell-id-1', source }], 'Asking bot', {
        waitTabs: 10_000
      });
    await expect.poll(async () => (await change(`${Math.random()}`)).tabs.open).toBe(1);
    await tab.typeText(0, '  # mine');
    for (const source of ['one = 1', 'two = 2']) {
      const reply = await change(source);
      expect(await tab.getSource(1)).toBe(source);
      expect(reply.tabs).toEqual({ open: 1, shown: 1, merged: 0, waiting: 0 });
    }
  });

  test('of a text file nothing is done by us', async ({ agent, folder, page }) => {
    folder.write('notes.md', 'one\ntwo\n');
    await page.goto('');
    const widget = await page.evaluateHandle(async path => {
      const widget = (await window.jupyterapp.commands.execute('docmanager:open', {
        path,
        factory: 'Editor'
      })) as IDocumentWidget;
      await widget.context.ready;
      return widget;
    }, folder.getPath('notes.md'));
    expect(await widget.evaluate(widget => widget.context.model.collaborative)).toBe(true);
    const editor = page.locator('.jp-FileEditor .cm-content');
    await expect(editor).toContainText('two');
    await agent.writeContents(folder.getPath('notes.md'), {
      type: 'file',
      format: 'text',
      content: 'one\nchanged\n'
    });
    await expect(editor).toContainText('changed');
    await expect(getToasts(page)).toHaveCount(0);
  });
});
