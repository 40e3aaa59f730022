import { expect, test } from './fixtures';
import { makeManyCells, formatNotebook } from './notebooks';

const replace = (index: number, text = 'theirs') => ({
  op: 'replace',
  cell: `cell-id-${index}`,
  source: `${text} = ${index}`
});

test.describe('A toast tells no more of an edit', () => {
  for (const [button, what] of [
    ['View', 'that was viewed'],
    ['Hide notification', 'of a toast that was closed @nightly']
  ]) {
    test(what, async ({ agent, folder, open, page }) => {
      folder.write('seen.ipynb', formatNotebook(makeManyCells(40)));
      const path = folder.getPath('seen.ipynb');
      const before = folder.readSources('seen.ipynb');
      const tab = await open('seen.ipynb');
      await agent.edit(path, [replace(4)], 'Bot');
      const toast = page.locator('.Toastify__toast');
      await expect(toast).toHaveText(/Bot edited seen.ipynb: cell 5/);
      await toast.getByRole('button', { name: button }).click();
      await expect(toast).toHaveCount(0);
      await agent.edit(path, [replace(35)], 'Bot');
      await expect(toast).toHaveText(/Bot edited seen.ipynb: cell 36/);
      await toast.getByRole('button', { name: 'Undo' }).click();
      await expect(toast).toHaveText('Undid the edit by Bot in seen.ipynb.');
      await expect.poll(async () => tab.getSource(35)).toBe(before[35]);
      expect(await tab.getSource(4)).toBe('theirs = 4');
    });
  }

  test('that its reader took back by the key @nightly', async ({ agent, folder, open, page }) => {
    folder.write('key.ipynb', formatNotebook(makeManyCells(6)));
    const path = folder.getPath('key.ipynb');
    const tab = await open('key.ipynb');
    await tab.placeCaret(0);
    await page.keyboard.press('Escape');
    await agent.edit(path, [replace(1)], 'Bot');
    await agent.edit(path, [replace(2), replace(3)], 'Bot');
    const toast = page.locator('.Toastify__toast', { hasText: 'Bot' });
    await expect(toast).toHaveText(/Bot edited key.ipynb: cells 2, 3 and 4/);
    // JupyterLab does not close a toast that the mouse is on.
    await toast.hover();
    await page.keyboard.press('Control+Alt+z');
    await expect(page.locator('.Toastify__toast', { hasText: 'Undone' })).toHaveText(
      'Undone: cells 3 and 4'
    );
    await expect(toast).toHaveText(/Bot edited key.ipynb: cell 2(?!,)/);
    await page.keyboard.press('Control+Alt+z');
    await expect(toast).toHaveCount(0);
    await expect.poll(async () => tab.getSources()).toEqual(folder.readSources('key.ipynb'));
    expect(await tab.getSource(1)).toContain('first_1');
  });

  test('that somebody else took back @nightly', async ({ agent, folder, open, page }) => {
    folder.write('else.ipynb', formatNotebook(makeManyCells(6)));
    const path = folder.getPath('else.ipynb');
    const tab = await open('else.ipynb');
    const { edit_id: first } = await agent.edit(path, [replace(1)], 'Bot');
    await agent.edit(path, [replace(2)], 'Bot');
    const toast = page.locator('.Toastify__toast', { hasText: 'Bot' });
    await expect(toast).toHaveText(/Bot edited else.ipynb: cells 2 and 3/);
    await toast.hover();
    await agent.undo(path, first, 'Another');
    await expect(toast).toHaveText(/Bot edited else.ipynb: cell 3/);
    await toast.getByRole('button', { name: 'Undo' }).click();
    await expect(page.locator('.Toastify__toast', { hasText: 'Undid' })).toHaveText(
      'Undid the edit by Bot in else.ipynb.'
    );
    await expect.poll(async () => tab.getSource(2)).toContain('first_2');
  });
});

test('An edit without a client is told as by an agent @nightly', async ({
  agent,
  folder,
  open,
  page
}) => {
  folder.write('unnamed.ipynb', formatNotebook(makeManyCells(6)));
  const path = folder.getPath('unnamed.ipynb');
  const tab = await open('unnamed.ipynb');
  const toast = page.locator('.Toastify__toast');
  await agent.editUnnamed(path, [replace(1)]);
  await expect(toast).toHaveText(/^An agent edited unnamed.ipynb: cell 2/);
  await agent.editUnnamed(path, [replace(2)]);
  // Each request has another invented user name, and they count as one.
  await expect(toast).toHaveText(/^An agent edited unnamed.ipynb: cells 2 and 3/);
  await expect(tab.mark(2)).toHaveAttribute('title', 'Edit by an agent');
  await page.evaluate(async () => {
    await window.jupyterapp.commands.execute('nbedit:show-history');
  });
  await expect(page.locator('.jp-nbedit-edit-author').first()).toHaveText('An agent');
  await agent.setMode(path, 'review');
  await agent.editUnnamed(path, [replace(3)]);
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
