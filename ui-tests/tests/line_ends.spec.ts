import { expect, test } from './fixtures';
import { makeCodeCell, replace } from './notebooks';

const SOURCE = 'a = 1\r\nb = 2\r\nc = 3\r\nd = 4';

test('Edits of a cell with CR LF are shown as they are on disk @nightly', async ({
  openWith,
  page
}) => {
  const { notebook, tab } = await openWith([makeCodeCell('x', SOURCE), makeCodeCell('o', 'other')]);
  await expect(tab.editor(0)).toContainText('d = 4');
  const replaceText = (old: string, text: string) =>
    notebook.edit([{ op: 'replace_text', cell: 'x', old, new: text }], 'Bot', {
      waitTabs: 10_000
    });
  const lines = async () => tab.editor(0).locator('.cm-line').allTextContents();
  const first = await replaceText('d = 4', 'd = 44');
  expect(await lines()).toEqual(['a = 1', 'b = 2', 'c = 3', 'd = 44']);
  expect(first.tabs).toMatchObject({ open: 1, shown: 1 });
  const second = await replaceText('b = 2', 'b = 22');
  expect(await lines()).toEqual(['a = 1', 'b = 22', 'c = 3', 'd = 44']);
  expect(second.tabs).toMatchObject({ open: 1, shown: 1 });
  // A save neither loses an edit nor changes a line end.
  expect(await tab.getSource(0)).toBe('a = 1\r\nb = 22\r\nc = 3\r\nd = 44');
  await tab.placeCaret(1);
  await page.keyboard.type(' + 1');
  await tab.save();
  expect(notebook.readSources()).toEqual(['a = 1\r\nb = 22\r\nc = 3\r\nd = 44', 'other + 1']);
  const last = await notebook.edit([replace('x', 'final')], 'Bot', {
    waitTabs: 10_000
  });
  expect(await lines()).toEqual(['final']);
  expect(last.tabs).toMatchObject({ open: 1, shown: 1 });
});

test('An edit that an editor does not show is not told as shown @nightly', async ({
  openWith,
  page
}) => {
  const ticking =
    'import time\r\nwhile True:\r\n    print("tick", flush=True)\r\n    time.sleep(0.2)';
  const { notebook, tab } = await openWith([makeCodeCell('x', ticking)], { kernel: true });
  await tab.placeCaret(0);
  await page.keyboard.press('Control+Enter');
  await expect(tab.output(0)).toContainText('tick');
  // A running cell keeps its editor, in which JupyterLab puts the edit in a wrong place.
  const { tabs } = await notebook.edit(
    [{ op: 'replace_text', cell: 'x', old: 'sleep(0.2)', new: 'sleep(0.4)' }],
    'Bot',
    { waitTabs: 3000 }
  );
  await expect.poll(async () => tab.getSource(0)).toContain('sleep(0.4)');
  const lines = await tab.editor(0).locator('.cm-line').allTextContents();
  const isShown = lines.join('\r\n') === (await tab.getSource(0));
  expect(isShown).toBe(false);
  expect(tabs).toEqual({ open: 1, shown: 0, merged: 0, waiting: 0 });
});
