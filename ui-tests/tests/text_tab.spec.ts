import type { IDocumentWidget } from '@jupyterlab/docregistry';
import type { JSHandle, Page } from '@playwright/test';
import { expect, loadLab, test } from './fixtures';
import { getToasts } from './lab';

async function openText(page: Page, path: string): Promise<JSHandle<IDocumentWidget>> {
  await loadLab(page);
  return page.evaluateHandle(async path => {
    const widget = (await window.jupyterapp.commands.execute('docmanager:open', {
      path,
      factory: 'Editor'
    })) as IDocumentWidget;
    await widget.context.ready;
    await widget.revealed;
    return widget;
  }, path);
}

for (const name of ['notes.md', 'script.py']) {
  const when = name === 'notes.md' ? '' : ' @nightly';
  test.describe(`A text tab of ${name}${when}`, () => {
    test('reloads if it is clean', async ({ agent, folder, page }) => {
      folder.write(name, 'one\ntwo\n');
      const widget = await openText(page, folder.getPath(name));
      const editor = page.locator('.jp-FileEditor .cm-content');
      await expect(editor).toContainText('two');

      await agent.writeContents(folder.getPath(name), {
        type: 'file',
        format: 'text',
        content: 'one\nchanged\n'
      });
      await expect(editor).toContainText('changed');
      expect(await widget.evaluate(widget => widget.context.model.dirty)).toBe(false);

      await editor.click();
      await page.keyboard.press('Control+Home');
      await page.keyboard.type('mine ');
      await page.keyboard.press('Control+s');
      await expect.poll(() => folder.readText(name)).toBe('mine one\nchanged\n');
    });

    test('tells its user if it is dirty, and keeps the typing @nightly', async ({
      agent,
      folder,
      page
    }) => {
      folder.write(name, 'one\ntwo\n');
      const widget = await openText(page, folder.getPath(name));
      const editor = page.locator('.jp-FileEditor .cm-content');
      await editor.click();
      await page.keyboard.press('Control+Home');
      await page.keyboard.type('mine ');

      await agent.writeContents(folder.getPath(name), {
        type: 'file',
        format: 'text',
        content: 'one\nchanged\n'
      });
      await expect(getToasts(page)).toContainText(name);
      await expect(editor).toContainText('mine one');
      expect(await widget.evaluate(widget => widget.context.model.dirty)).toBe(true);
      expect(folder.readText(name)).toBe('one\nchanged\n');
    });
  });
}

test('A text tab of notes.md follows a tool that edits a section of it @nightly', async ({
  agent,
  folder,
  page
}) => {
  folder.write('notes.md', '# Tasks\n\n- water the plants\n- call home\n');
  await openText(page, folder.getPath('notes.md'));
  const editor = page.locator('.jp-FileEditor .cm-content');
  await expect(editor).toContainText('water');

  const file = folder.getPath('notes.md');
  await agent.callTool('sections/notebook_edit', {
    file,
    action: 'append_to_section',
    section: 'Tasks',
    content: '- feed the cat'
  });
  await expect(editor).toContainText('feed the cat');
  await agent.callTool('sections/notebook_edit', {
    file,
    action: 'remove_entry',
    section: 'Tasks',
    entry_match: 'WATER'
  });
  await expect(editor).not.toContainText('water');
  expect(folder.readText('notes.md')).toBe('# Tasks\n\n- call home\n- feed the cat\n');
});
