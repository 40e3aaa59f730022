import { expect, test } from './fixtures';
import { many, notebook } from './notebooks';

test('No kernel and no session is there after a full run of edits', async ({
  agent,
  folder,
  open
}) => {
  // Other tests' kernels are going; none of them may be taken for ours.
  await expect.poll(async () => agent.get('/api/kernels')).toEqual([]);
  await expect.poll(async () => agent.get('/api/sessions')).toEqual([]);
  folder.write('still.ipynb', notebook(many(6)));
  const path = folder.path('still.ipynb');
  const tab = await open('still.ipynb');
  await tab.type(1, '  # mine');
  await agent.edit(path, [{ op: 'replace', cell: 'cell-id-0', source: 'theirs = 0' }]);
  await agent.edit(path, [
    { op: 'insert', at: 'end', cell_type: 'code', source: 'theirs = 6' },
    { op: 'delete', cell: 'cell-id-3' },
    { op: 'move', cell: 'cell-id-5', at: 'start' }
  ]);
  await expect(tab.editor(1)).toHaveText('theirs = 0');
  await expect(tab.editor(5)).toHaveText('theirs = 6');
  expect(await tab.save()).toContain('completed');

  expect(folder.sources('still.ipynb')).toEqual(await tab.sources());
  expect(await agent.get('/api/kernels')).toEqual([]);
  expect(await agent.get('/api/sessions')).toEqual([]);
});
