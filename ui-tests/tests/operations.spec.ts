import { expect, test } from './fixtures';
import { makeCodeCell, makeMarkdownCell, makeStreamOutput } from './notebooks';

test('Every operation arrives in a dirty tab, and both sides are saved', async ({ openWith }) => {
  const cells = [
    makeMarkdownCell('notes', '# Notes\n\n- buy milk\n- keep this'),
    makeCodeCell('long', 'a = 1\nb = 2'),
    makeCodeCell('printed', 'print("printed")', [makeStreamOutput('printed\n')]),
    makeCodeCell('first', 'c = 3'),
    makeCodeCell('second', 'd = 4'),
    makeCodeCell('mine', 'mine = 1'),
    makeMarkdownCell('more', '# More\n\nold')
  ];
  const { notebook, tab } = await openWith(cells);
  await tab.typeText(5, '  # typed');

  await notebook.edit([
    { op: 'replace_text', cell: 'long', old: 'a = 1', new: 'a = 10' },
    { op: 'remove_entry', section: 'Notes', match: 'MILK' }
  ]);
  await notebook.edit([{ op: 'split', cell: 'long', at_line: 2 }]);
  await notebook.edit([
    { op: 'merge', cells: ['first', 'second'] },
    { op: 'clear_outputs', cell: 'printed' },
    { op: 'set_metadata', cell: 'printed', patch: { tags: ['parameters'] } },
    { op: 'set_metadata', patch: { title: 'Done' } }
  ]);
  await notebook.edit([
    { op: 'replace_section', section: 'More', source: 'new' },
    { op: 'append_to_section', section: 'More', source: 'appended' }
  ]);
  await expect.poll(async () => (await tab.getSources()).at(-1)).toBe('appended');
  await expect(tab.output(3)).toHaveCount(0);

  expect(await tab.save()).toContain('completed');
  const sources = notebook.readSources();
  expect(await tab.getSources()).toEqual(sources);
  expect(sources).toContain('mine = 1  # typed');
  expect(sources.filter(source => source.includes('milk'))).toEqual([]);
  const saved = notebook.readContent();
  expect(saved.metadata.title).toBe('Done');
  expect(saved.cells.map(cell => cell.metadata.tags).flat()).toContain('parameters');
});
