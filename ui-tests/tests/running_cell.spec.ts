import { expect, test } from './fixtures';
import { makeCodeCell, formatNotebook } from './notebooks';

const TICKS = 20;
const TICKING = `import time\nfor i in range(${TICKS}):\n    print("tick", i, flush=True)\n    time.sleep(0.2)`;
const PRINTED = Array.from({ length: TICKS }, (_, i) => `tick ${i}\n`).join('');

test.describe('A cell that runs', () => {
  test('goes on printing while other cells are edited, inserted, moved and deleted', async ({
    agent,
    folder,
    open
  }) => {
    folder.write(
      'running.ipynb',
      formatNotebook([
        makeCodeCell('before', 'x = 1'),
        makeCodeCell('ticking', TICKING),
        makeCodeCell('after', 'y = 1'),
        makeCodeCell('gone', 'z = 1'),
        makeCodeCell('last', 'w = 1')
      ])
    );
    const path = folder.getPath('running.ipynb');
    const tab = await open('running.ipynb', { kernel: true });
    await tab.placeCaret(1);
    await tab.page.keyboard.press('Control+Enter');
    await expect(tab.output(1)).toContainText('tick 2');

    await agent.edit(path, [{ op: 'replace', cell: 'before', source: 'x = 2' }]);
    await expect(tab.editor(0)).toHaveText('x = 2');
    await agent.edit(path, [
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
    const cell = folder.readNotebook('running.ipynb').cells[2];
    expect(cell.outputs).toEqual([
      { name: 'stdout', output_type: 'stream', text: PRINTED.match(/.*\n/g) }
    ]);
    expect(cell.execution_count).toBe(1);
    expect(folder.readSources('running.ipynb')).toEqual(await tab.getSources());
  });

  test('keeps its output if it is edited itself, and gets the edit @nightly', async ({
    agent,
    folder,
    open
  }) => {
    folder.write(
      'itself.ipynb',
      formatNotebook([makeCodeCell('ticking', TICKING), makeCodeCell('after', 'y = 1')])
    );
    const tab = await open('itself.ipynb', { kernel: true });
    await tab.placeCaret(0);
    await tab.page.keyboard.press('Control+Enter');
    await expect(tab.output(0)).toContainText('tick 2');
    const edited = `# edited\n${TICKING}`;
    await agent.edit(folder.getPath('itself.ipynb'), [
      { op: 'replace', cell: 'ticking', source: edited },
      { op: 'move', cell: 'ticking', at: 'end' }
    ]);
    const output = tab.root.locator('.jp-OutputArea-output');
    await expect(output).toContainText('tick 10');
    await expect(output).toContainText(`tick ${TICKS - 1}`);
    await expect.poll(async () => tab.getSources()).toEqual(['y = 1', edited]);
    await expect(tab.output(1)).toContainText('tick 0\ntick 1\n');
    expect(await tab.save()).toContain('completed');
    expect(folder.readSources('itself.ipynb')).toEqual(['y = 1', edited]);
    expect(folder.readNotebook('itself.ipynb').cells[1].outputs).toHaveLength(1);
  });
});
