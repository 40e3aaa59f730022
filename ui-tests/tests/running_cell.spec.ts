import { expect, test } from './fixtures';
import { code, notebook } from './notebooks';

const TICKS = 20;
const TICKING = `import time\nfor i in range(${TICKS}):\n    print("tick", i, flush=True)\n    time.sleep(0.2)`;
const ALL = Array.from({ length: TICKS }, (_, i) => `tick ${i}\n`).join('');

test.describe('A cell that runs', () => {
  test('goes on printing while other cells are edited, inserted, moved and deleted', async ({
    agent,
    folder,
    open
  }) => {
    folder.write(
      'running.ipynb',
      notebook([
        code('before', 'x = 1'),
        code('ticking', TICKING),
        code('after', 'y = 1'),
        code('gone', 'z = 1'),
        code('last', 'w = 1')
      ])
    );
    const path = folder.path('running.ipynb');
    const tab = await open('running.ipynb', { kernel: true });
    await tab.enter(1);
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
      .poll(async () => tab.sources())
      .toEqual(['top = 1', 'x = 2', TICKING, 'w = 1', 'y = 1']);
    await expect(tab.cell(2).locator('.jp-InputArea-prompt')).toHaveText('[*]:');
    const output = await tab.output(2).innerText();
    expect(output).not.toContain(`tick ${TICKS - 1}`);

    await expect(tab.output(2)).toContainText(`tick ${TICKS - 1}`);
    await expect(tab.cell(2).locator('.jp-InputArea-prompt')).toHaveText('[1]:');
    expect(await tab.save()).toContain('completed');
    const cell = folder.notebook('running.ipynb').cells[2];
    expect(cell.outputs).toEqual([
      { name: 'stdout', output_type: 'stream', text: ALL.match(/.*\n/g) }
    ]);
    expect(cell.execution_count).toBe(1);
    expect(folder.sources('running.ipynb')).toEqual(await tab.sources());
  });
});
