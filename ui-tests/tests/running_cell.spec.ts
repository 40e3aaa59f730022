import type { Operation } from './agent';
import { expect, test, type TestArgs } from './fixtures';
import type { Folder } from './folder';
import { getToasts } from './lab';
import { formatNotebook, makeCodeCell, replace } from './notebooks';
import type { Tab } from './tab';

const TICKS = 20;
const TICKING = `import time\nfor i in range(${TICKS}):\n    print("tick", i, flush=True)\n    time.sleep(0.2)`;
const PRINTED = Array.from({ length: TICKS }, (_, i) => `tick ${i}\n`).join('');

test.describe('A cell that runs', () => {
  test('goes on printing while other cells are edited, inserted, moved and deleted', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(
      [
        makeCodeCell('before', 'x = 1'),
        makeCodeCell('ticking', TICKING),
        makeCodeCell('after', 'y = 1'),
        makeCodeCell('gone', 'z = 1'),
        makeCodeCell('last', 'w = 1')
      ],
      { kernel: true }
    );
    await tab.placeCaret(1);
    await tab.page.keyboard.press('Control+Enter');
    await expect(tab.output(1)).toContainText('tick 2');

    await notebook.edit([replace('before', 'x = 2')]);
    await expect(tab.editor(0)).toHaveText('x = 2');
    await notebook.edit([
      { op: 'insert', before: 'before', cell_type: 'code', id: 'top', source: 'top = 1' },
      { op: 'delete', cell: 'gone' },
      { op: 'move', cell: 'last', after: 'ticking' }
    ]);
    await expect
      .poll(async () => tab.getSources())
      .toEqual(['top = 1', 'x = 2', TICKING, 'w = 1', 'y = 1']);
    await expect(tab.cell(2).locator('.jp-InputArea-prompt')).toHaveText('[*]:');
    const output = await tab.output(2).innerText();
    expect(output).not.toContain(`tick ${TICKS - 1}`);

    await expect(tab.output(2)).toContainText(`tick ${TICKS - 1}`);
    await expect(tab.cell(2).locator('.jp-InputArea-prompt')).toHaveText('[1]:');
    expect(await tab.save()).toContain('completed');
    const cell = notebook.readContent().cells[2];
    expect(cell.outputs).toEqual([
      { name: 'stdout', output_type: 'stream', text: PRINTED.match(/.*\n/g) }
    ]);
    expect(cell.execution_count).toBe(1);
    expect(notebook.readSources()).toEqual(await tab.getSources());
  });

  test('keeps its output if it is edited itself, and gets the edit @nightly', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(
      [makeCodeCell('ticking', TICKING), makeCodeCell('after', 'y = 1')],
      { kernel: true }
    );
    await tab.placeCaret(0);
    await tab.page.keyboard.press('Control+Enter');
    await expect(tab.output(0)).toContainText('tick 2');
    const edited = `# edited\n${TICKING}`;
    await notebook.edit([replace('ticking', edited), { op: 'move', cell: 'ticking', at: 'end' }]);
    const output = tab.root.locator('.jp-OutputArea-output');
    await expect(output).toContainText('tick 10');
    await expect(output).toContainText(`tick ${TICKS - 1}`);
    await expect.poll(async () => tab.getSources()).toEqual(['y = 1', edited]);
    await expect(tab.output(1)).toContainText('tick 0\ntick 1\n');
    expect(await tab.save()).toContain('completed');
    expect(notebook.readSources()).toEqual(['y = 1', edited]);
    expect(notebook.readContent().cells[1].outputs).toHaveLength(1);
  });
});

/** Code that runs until the file `go` is there. */
const WAITING =
  'import os, time\nwhile not os.path.exists("go"):\n    time.sleep(0.05)\nprint("done")';
const RUNNING = '[*]:';

test.describe('What an agent does to a running cell', () => {
  interface Case {
    name: string;
    operation: Operation;
    /** How many cells run, or wait for it. */
    runs: number;
    line: string;
    bar: string;
    toast: RegExp;
    expected: string[];
  }
  const CASES: Case[] = [
    {
      name: 'its deletion',
      operation: { op: 'delete', cell: 'run' },
      runs: 1,
      line: 'Claude will delete this cell when it has finished',
      bar: 'Claude will delete 1 cell when it has finished',
      toast: /^Claude: 1 cell deleted/,
      expected: ['x = 1', 'y = 1']
    },
    {
      name: 'a change of its type',
      operation: { op: 'replace', cell: 'run', cell_type: 'raw', source: 'text' },
      runs: 1,
      line: 'Claude will change this cell when it has finished',
      bar: 'Claude will change 1 cell when it has finished',
      toast: /^Claude: 1 cell changed/,
      expected: ['text', 'x = 1', 'y = 1']
    },
    {
      name: 'its move among queued cells',
      operation: { op: 'move', cell: 'run', at: 'end' },
      runs: 3,
      line: 'Claude will move this cell when it has finished',
      bar: 'Claude will move 1 cell when it has finished',
      toast: /^Claude: 1 cell moved/,
      expected: ['x = 1', 'y = 1', WAITING]
    }
  ];

  async function start(
    { agent, folder, open }: Pick<TestArgs, 'agent' | 'folder' | 'open'>,
    { operation, runs, line, bar }: Case
  ): Promise<Tab> {
    folder.write(
      'waits.ipynb',
      formatNotebook([
        makeCodeCell('run', WAITING),
        makeCodeCell('second', 'x = 1'),
        makeCodeCell('third', 'y = 1')
      ])
    );
    const tab = await open('waits.ipynb', { kernel: true });
    await tab.placeCaret(0);
    for (let index = 1; index < runs; index++) {
      await tab.page.keyboard.press('Shift+Enter');
    }
    await tab.page.keyboard.press('Control+Enter');
    await expect(tab.root.locator('.jp-InputArea-prompt', { hasText: RUNNING })).toHaveCount(runs);
    await agent.edit(folder.getPath('waits.ipynb'), [operation], 'Claude');
    await expect(tab.root.locator('.jp-nbedit-line')).toHaveText([new RegExp(`^${line}`)]);
    await expect(tab.bar).toHaveText(new RegExp(`^${bar}– of 1$`));
    await expect(tab.root.locator('.jp-nbedit-mark')).toHaveCount(0);
    expect(await tab.getSources()).toEqual([WAITING, 'x = 1', 'y = 1']);
    return tab;
  }

  async function finish(tab: Tab, folder: Folder): Promise<void> {
    folder.write('go', '');
    await expect(tab.root.locator('.jp-InputArea-prompt', { hasText: RUNNING })).toHaveCount(0);
  }

  for (const each of CASES) {
    test(`is announced and keeps its author: ${each.name} @nightly`, async ({
      agent,
      folder,
      open,
      page
    }) => {
      const tab = await start({ agent, folder, open }, each);
      await finish(tab, folder);
      await expect.poll(async () => tab.getSources()).toEqual(each.expected);
      const toasts = getToasts(page);
      await expect(toasts).toHaveText([each.toast]);
      await expect(toasts.getByRole('button', { name: 'Undo' })).toBeVisible();
      await expect(tab.bar).toContainText(/^Claude (changed|deleted|moved) 1 cell/);
      await expect(tab.root.locator('.jp-nbedit-conflict-mark')).toHaveCount(0);
      expect(await tab.save()).toContain('completed');
      expect(folder.readSources('waits.ipynb')).toEqual(each.expected);
      await expect(toasts).toHaveText([each.toast]);
    });
  }

  test('keeps its author if the tab is saved before @nightly', async ({
    agent,
    folder,
    open,
    page
  }) => {
    const [deletion] = CASES;
    const tab = await start({ agent, folder, open }, deletion);
    await tab.typeText(2, '0');
    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('waits.ipynb')).toEqual([WAITING, 'x = 1', 'y = 10']);
    await expect(tab.root.locator('.jp-nbedit-line')).toHaveText([new RegExp(`^${deletion.line}`)]);
    await finish(tab, folder);
    await expect.poll(async () => tab.getSources()).toEqual(['x = 1', 'y = 10']);
    await expect(getToasts(page)).toHaveText([deletion.toast]);
  });

  test('can be undone before it has finished @nightly', async ({ agent, folder, open }) => {
    const [deletion] = CASES;
    const tab = await start({ agent, folder, open }, deletion);
    await tab.root.locator('.jp-nbedit-line').getByRole('button', { name: 'Undo' }).click();
    await expect(tab.root.locator('.jp-nbedit-line')).toHaveCount(0);
    await finish(tab, folder);
    await expect(tab.output(0)).toHaveText('done');
    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('waits.ipynb')).toEqual([WAITING, 'x = 1', 'y = 1']);
  });
});
