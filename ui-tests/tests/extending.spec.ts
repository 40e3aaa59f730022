import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installExample } from './extension';
import { expect, test } from './fixtures';
import { getToasts } from './lab';
import { makeCodeCell, makeManyCells, replace } from './notebooks';

interface Reply {
  edit_id: number;
  hash: string;
  tabs: object;
}

test.describe('Another extension', () => {
  test.use({ withExample: true });
  test.beforeAll(() => installExample());

  test('edits a notebook by the token, and hears of edits @nightly', async ({ openWith }) => {
    const { notebook, tab } = await openWith(makeManyCells(3));
    const { page } = tab;
    const reply = await page.evaluate(
      async path =>
        (await window.jupyterapp.commands.execute('nbedit-example:add-date', { path })) as Reply,
      notebook.path
    );
    const source = notebook.readSources()[3];
    expect(source).toBe(await page.evaluate(() => new Date().toDateString()));
    expect(await tab.getSource(3)).toBe(source);
    expect(reply.tabs).toEqual({ open: 1, shown: 1, merged: 0, waiting: 0 });

    await notebook.edit(
      [
        { op: 'delete', cell: 'cell-id-0' },
        { op: 'delete', cell: 'cell-id-1' }
      ],
      'Tidy bot'
    );
    const said = `Tidy bot deleted 2 of the cells of ${notebook.path}.`;
    await expect(getToasts(page, said)).toBeVisible();
  });

  test('edits and undoes by commands alone, and a document cannot @nightly', async ({
    create,
    open
  }) => {
    const notebook = create(makeManyCells(3));
    const before = notebook.readText();
    const { page } = await open(notebook.name);
    const args = {
      path: notebook.path,
      operations: [{ op: 'replace', cell: 'cell-id-0', source: 'by = "a command"' }],
      client: 'Commanding extension'
    };
    const run = async (command: string, args: object): Promise<Reply> =>
      page.evaluate(
        async ([command, args]) =>
          (await window.jupyterapp.commands.execute(command, args as never)) as Reply,
        [command, args] as const
      );
    // What JupyterLab does with such attributes of sanitized HTML; later versions ask before.
    const refused = await page.evaluate(
      async args =>
        new Promise<string>(resolve => {
          const button = document.createElement('button');
          button.dataset.commandlinkerCommand = 'nbedit:edit';
          button.onclick = event => {
            event.stopPropagation();
            window.jupyterapp.commands.execute('nbedit:edit', args).then(
              () => resolve('done'),
              (error: unknown) => resolve(String(error))
            );
          };
          document.body.append(button);
          button.click();
        }),
      args
    );
    expect(refused).toContain('may not edit notebooks');
    expect(notebook.readText()).toBe(before);

    const { edit_id } = await run('nbedit:edit', args);
    expect(notebook.readSources()[0]).toBe('by = "a command"');
    await run('nbedit:undo', { edit_id });
    expect(notebook.readText()).toBe(before);
    await expect(run('nbedit:undo', { edit_id })).rejects.toThrow(/already undone/);
    await expect(run('nbedit:edit', {})).rejects.toThrow(/operations/);
  });

  test('of the server edits in Python, and hears of edits @nightly', async ({ openWith }) => {
    const { notebook, tab } = await openWith(
      [makeCodeCell('count', 'none yet'), makeCodeCell('x', 'x = 1')],
      { name: 'counted.ipynb' }
    );
    await notebook.edit([replace('x', 'x = 2')]);
    await expect(tab.editor(0)).toHaveText('Edited 1 times, last by Test agent.');
    await expect(tab.editor(1)).toHaveText('x = 2');
  });
});

test.describe('The documentation', () => {
  test('lists the plugins of the extension, and no others', async ({ openWith }) => {
    const { tab } = await openWith(makeManyCells(1));
    const { page } = tab;
    const text = readFileSync(join(__dirname, '../../docs/extending.md'), 'utf-8');
    const listed = [...text.matchAll(/^\| `(jupyter-nbedit:[\w-]+)` \|/gm)].map(([, id]) => id);
    const plugins = await page.evaluate(() =>
      window.jupyterapp.listPlugins().filter(id => id.startsWith('jupyter-nbedit:'))
    );
    expect(listed.sort()).toEqual(plugins.sort());
  });
});
