import { expect, test } from './fixtures';
import { code, markdown, notebook, printed } from './notebooks';

test('Every operation arrives in a dirty tab, and both sides are saved', async ({
  agent,
  folder,
  open
}) => {
  const cells = [
    markdown('notes', '# Notes\n\n- buy milk\n- keep this'),
    code('long', 'a = 1\nb = 2'),
    code('printed', 'print("printed")', [printed('printed\n')]),
    code('first', 'c = 3'),
    code('second', 'd = 4'),
    code('mine', 'mine = 1'),
    markdown('more', '# More\n\nold')
  ];
  folder.write('operations.ipynb', notebook(cells));
  const path = folder.path('operations.ipynb');
  const tab = await open('operations.ipynb');
  await tab.type(5, '  # typed');

  await agent.edit(path, [
    { op: 'replace_text', cell: 'long', old: 'a = 1', new: 'a = 10' },
    { op: 'remove_entry', section: 'Notes', match: 'MILK' }
  ]);
  await agent.edit(path, [{ op: 'split', cell: 'long', at_line: 2 }]);
  await agent.edit(path, [
    { op: 'merge', cells: ['first', 'second'] },
    { op: 'clear_outputs', cell: 'printed' },
    { op: 'set_metadata', cell: 'printed', patch: { tags: ['parameters'] } },
    { op: 'set_metadata', patch: { title: 'Done' } }
  ]);
  await agent.edit(path, [
    { op: 'replace_section', section: 'More', source: 'new' },
    { op: 'append_to_section', section: 'More', source: 'appended' }
  ]);
  await expect.poll(async () => (await tab.sources()).at(-1)).toBe('appended');
  await expect(tab.output(3)).toHaveCount(0);

  expect(await tab.save()).toContain('completed');
  const sources = folder.sources('operations.ipynb');
  expect(await tab.sources()).toEqual(sources);
  expect(sources).toContain('mine = 1  # typed');
  expect(sources.filter(source => source.includes('milk'))).toEqual([]);
  const saved = folder.notebook('operations.ipynb');
  expect(saved.metadata.title).toBe('Done');
  expect(saved.cells.map(cell => cell.metadata.tags).flat()).toContain('parameters');
});
