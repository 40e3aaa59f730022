import type { Operation } from './agent';
import { expect, test } from './fixtures';
import { makeCodeCell, makeStreamOutput, replace } from './notebooks';
import type { Tab } from './tab';

const KEEP = { outputs: 'keep' };

function makeCells() {
  return ['a', 'b', 'c'].map((name, index) =>
    makeCodeCell(name, `${name} = 1\n\nprint(${name})`, [makeStreamOutput('1\n')], index + 1)
  );
}

/** Return the prompt of each cell, with "modified" if JupyterLab marks it as modified since its run. */
async function readRuns(tab: Tab): Promise<string[]> {
  const states: string[] = [];
  for (const cell of await tab.cells.all()) {
    const prompt = await cell.locator('.jp-InputArea-prompt').innerText();
    const isModified = await cell.evaluate(({ classList }) => classList.contains('jp-mod-dirty'));
    states.push(isModified ? `${prompt} modified` : prompt);
  }
  return states;
}

test.describe('Whether a cell was modified since its run', () => {
  const CASES: { name: string; operations: Operation[]; after: string[]; undone: string[] }[] = [
    {
      name: 'an edit that clears its outputs',
      operations: [replace('b', 'b = 2')],
      after: ['[1]:', '[ ]:', '[3]:'],
      undone: ['[1]:', '[2]:', '[3]:']
    },
    {
      name: 'an edit that keeps its outputs',
      operations: [{ op: 'replace', cell: 'b', source: 'b = 2', ...KEEP }],
      after: ['[1]:', '[2]: modified', '[3]:'],
      undone: ['[1]:', '[2]:', '[3]:']
    },
    {
      name: 'a move',
      operations: [{ op: 'move', cell: 'c', at: 'start' }],
      after: ['[3]:', '[1]:', '[2]:'],
      undone: ['[1]:', '[2]:', '[3]:']
    },
    {
      name: 'an edit that keeps its outputs, with a move',
      operations: [
        { op: 'replace', cell: 'c', source: 'c = 2', ...KEEP },
        { op: 'move', cell: 'c', at: 'start' }
      ],
      after: ['[3]: modified', '[1]:', '[2]:'],
      undone: ['[1]:', '[2]:', '[3]:']
    },
    {
      name: 'an edit that clears its outputs, with a move',
      operations: [replace('c', 'c = 2'), { op: 'move', cell: 'c', at: 'start' }],
      after: ['[ ]:', '[1]:', '[2]:'],
      undone: ['[1]:', '[2]:', '[3]:']
    }
  ];
  for (const { name, operations, after, undone } of CASES) {
    test(`is right after ${name}, and after its undo @nightly`, async ({ openWith }) => {
      const { notebook, tab } = await openWith(makeCells());
      // The user works in the first cell, which then stays where it is.
      await tab.placeCaret(0);
      const { edit_id: edit } = await notebook.edit(operations);
      await expect.poll(async () => readRuns(tab)).toEqual(after);
      await notebook.undo(edit, 'Test agent');
      await expect.poll(async () => readRuns(tab)).toEqual(undone);
      expect(await tab.getSources()).toEqual(notebook.readSources());
    });
  }

  test('is kept for a cell in which its user has typed, wherever it goes @nightly', async ({
    openWith
  }) => {
    const { notebook, tab } = await openWith(makeCells());
    await tab.typeText(2, '  # mine');
    await tab.placeCaret(0);
    await expect.poll(async () => readRuns(tab)).toEqual(['[1]:', '[2]:', '[3]: modified']);
    await notebook.edit([{ op: 'move', cell: 'c', at: 'start' }]);
    await expect.poll(async () => readRuns(tab)).toEqual(['[3]: modified', '[1]:', '[2]:']);
    // Another line than the one in which the user has typed.
    const { edit_id: edit } = await notebook.edit([replace('c', 'c = 2\n\nprint(c)')]);
    await expect.poll(async () => tab.getSource(0)).toContain('c = 2');
    await notebook.undo(edit, 'Test agent');
    await expect.poll(async () => tab.getSource(0)).toBe('c = 1\n\nprint(c)  # mine');
    await expect.poll(async () => readRuns(tab)).toEqual(['[3]: modified', '[1]:', '[2]:']);
  });
});
