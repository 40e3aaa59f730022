import { expect, test } from './fixtures';
import { makeCodeCell, makeMarkdownCell, formatNotebook, makeStreamOutput } from './notebooks';

test('Every operation arrives in a dirty tab, and both sides are saved', async ({
  agent,
  folder,
  open
}) => {
  const cells = [
    makeMarkdownCell('notes', '# Notes\n\n- buy milk\n- keep this'),
    makeCodeCell('long', 'a = 1\nb = 2'),
    makeCodeCell('printed', 'print("printed")', [makeStreamOutput('printed\n')]),
    makeCodeCell('first', 'c = 3'),
    makeCodeCell('second', 'd = 4'),
    makeCodeCell('mine', 'mine = 1'),
    makeMarkdownCell('more', '# More\n\nold')
  ];
  folder.write('operations.ipynb', formatNotebook(cells));
  const path = folder.getPath('operations.ipynb');
  const tab = await open('operations.ipynb');
  await tab.typeText(5, '  # typed');

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
  await expect.poll(async () => (await tab.getSources()).at(-1)).toBe('appended');
  await expect(tab.output(3)).toHaveCount(0);

  expect(await tab.save()).toContain('completed');
  const sources = folder.readSources('operations.ipynb');
  expect(await tab.getSources()).toEqual(sources);
  expect(sources).toContain('mine = 1  # typed');
  expect(sources.filter(source => source.includes('milk'))).toEqual([]);
  const saved = folder.readNotebook('operations.ipynb');
  expect(saved.metadata.title).toBe('Done');
  expect(saved.cells.map(cell => cell.metadata.tags).flat()).toContain('parameters');
});
