import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { formatNotebook, makeCodeCell, makeMarkdownCell, replace } from './notebooks';
import { HistoryPanel } from './panel';
import { PAYLOADS, watchForInjection } from './payloads';

test.use({ sharesPage: false });

// A name may have no slash; all else a file may be called.
const NAME = '<img data-pwned src="data:,x" onerror="window.__pwned = 20">.ipynb';

test('S22: nothing of a path, a client, a message or a source becomes markup', async ({
  agent,
  folder,
  open,
  page
}) => {
  const harm = await watchForInjection(page);
  folder.write(
    NAME,
    formatNotebook([
      makeCodeCell('code', 'x = 1'),
      makeMarkdownCell('prose', 'text'),
      makeCodeCell('both', 'y')
    ])
  );
  const tab = await open(NAME);
  const toast = getToasts(page);
  for (const payload of PAYLOADS) {
    const { hash } = await agent.edit(
      folder.getPath(NAME),
      [
        replace('code', payload),
        replace('prose', `* ${payload}\n\n${payload}`),
        {
          op: 'set_metadata',
          cell: 'code',
          patch: { tags: [payload.replaceAll(',', ';')], [payload]: payload }
        }
      ],
      payload,
      { message: payload }
    );
    await expect.poll(async () => tab.getHash(), { intervals: [20] }).toBe(hash);
    expect(await tab.getSource(0)).toBe(payload);
    await expect(toast.last()).toContainText(/^.*: .*2 cells changed/);
    expect(await toast.last().textContent()).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    const title = await tab.mark(0).getAttribute('title');
    expect(title).toMatch(/^Changed by .*Show what changed$/s);
    expect(title).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
  }
  expect(await page.getByRole('link', { name: 'click' }).count()).toBe(0);

  const panel = await HistoryPanel.show(page);
  await expect(panel.rows).toHaveCount(PAYLOADS.length);
  for (const layout of ['inline', 'side by side']) {
    for (const row of [0, PAYLOADS.length - 2]) {
      await panel.toggle(row).click();
      await expect(panel.getCellDiffs(row)).toHaveCount(2);
      await expect(panel.getCellDiffs(row).locator('.cm-content').first()).not.toBeEmpty();
      const rendered = panel.rows.nth(row).getByRole('button', { name: /^Rendered/ });
      // The diff above grows until it is drawn, so that a click may miss.
      await expect(async () => {
        if ((await rendered.getAttribute('aria-pressed')) !== 'true') {
          await rendered.click();
        }
        await expect(rendered).toHaveAttribute('aria-pressed', 'true', { timeout: 1_000 });
      }).toPass();
      await expect(panel.rows.nth(row).locator('.jp-RenderedMarkdown')).toHaveCount(2);
      await panel.toggle(row).click();
    }
    await panel.root.getByRole('button', { name: /^Compare/ }).click();
    expect(harm, layout).toEqual({ found: [], errors: [] });
  }
  // Of all notebooks, and other tests edit theirs at the same time.
  await panel.root.getByLabel('Edits of').selectOption('All notebooks');
  const own = panel.rows.filter({ hasText: '<script data-pwned>' });
  await expect(own.first()).toBeVisible();
  expect(await panel.root.textContent()).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
  await page.sidebar.close('right');

  const all = PAYLOADS.join('\n');
  await tab.typeText(2, ' = 1');
  await agent.edit(folder.getPath(NAME), [replace('both', all)], PAYLOADS[1]);
  const block = tab
    .cell(2)
    .locator('.jp-nbedit-block')
    .filter({ has: page.getByRole('button', { name: /^Mine/ }) });
  await expect(block.locator('.cm-changedLine').first()).toBeVisible();
  await expect(block).toContainText('<script data-pwned>');
  await expect(block.locator('.jp-nbedit-block-title')).toContainText('<img data-pwned');
  await expect(toast.filter({ hasText: 'both changed' })).toContainText('<img data-pwned');
  await block.getByRole('button', { name: /^Theirs/ }).click();
  await expect.poll(async () => tab.getSource(2)).toBe(all);
  expect(await tab.save()).toContain('completed');
  expect(folder.readSources(NAME)[2]).toBe(all);

  expect(harm).toEqual({ found: [], errors: [] });
});

test('S23: keys of the name __proto__ change no prototype, and stay in the file', async ({
  agent,
  folder,
  open,
  page
}) => {
  const harm = await watchForInjection(page);
  const evil = '{"x": 1, "__proto__": {"x": 2}, "constructor": {"prototype": {"x": 3}}}';
  const original = formatNotebook([makeCodeCell('one', 'a = 1'), makeCodeCell('two', 'b = 1')])
    .replaceAll('"metadata": {}', `"metadata": ${evil}`)
    .replace('"language_info": {', `"__proto__": ${evil}, "language_info": {`);
  folder.write('prototype.ipynb', original);
  const tab = await open('prototype.ipynb');
  await tab.typeText(1, '1');
  await agent.edit(folder.getPath('prototype.ipynb'), [
    replace('one', 'a = 2'),
    { op: 'insert', at: 'end', cell_type: 'code', id: '__proto__', source: 'c = 1' }
  ]);
  await expect(tab.editor(0)).toHaveText('a = 2');
  await expect(tab.editor(2)).toHaveText('c = 1');
  const end = original.indexOf('\n ],\n');
  const bytes = folder.readText('prototype.ipynb');
  expect(bytes.slice(0, end)).toBe(original.slice(0, end).replace('a = 1', 'a = 2'));
  expect(bytes.slice(end - original.length)).toBe(original.slice(end));
  expect(await page.evaluate(() => 'x' in {})).toBe(false);
  expect(await tab.save()).toContain('completed');
  expect(folder.readSources('prototype.ipynb')).toEqual(['a = 2', 'b = 11', 'c = 1']);
  expect(harm).toEqual({ found: [], errors: [] });
});
