import type { Agent } from './agent';
import { expect, test } from './fixtures';
import { makeManyCells, replace } from './notebooks';

interface Session {
  path: string;
  kernel: { id: string };
}

/** Sessions of this notebook, and kernels that are in no session: other tests have some of theirs. */
async function listSessions(path: string, agent: Agent): Promise<string[]> {
  const kernels = (await agent.get('/api/kernels')) as { id: string }[];
  const sessions = (await agent.get('/api/sessions')) as Session[];
  const known = new Set(sessions.map(({ kernel }) => kernel.id));
  return [
    ...sessions.filter(session => session.path === path).map(({ kernel }) => kernel.id),
    ...kernels.map(({ id }) => id).filter(id => !known.has(id))
  ];
}

test('No kernel and no session is there after a full run of edits', async ({ agent, openWith }) => {
  const { notebook, tab } = await openWith(makeManyCells(6));
  await tab.typeText(1, '  # mine');
  await notebook.edit([replace(0)]);
  await notebook.edit([
    { op: 'insert', at: 'end', cell_type: 'code', source: 'theirs = 6' },
    { op: 'delete', cell: 'cell-id-3' },
    { op: 'move', cell: 'cell-id-5', at: 'start' }
  ]);
  await expect(tab.editor(1)).toHaveText('theirs = 0');
  await expect(tab.editor(5)).toHaveText('theirs = 6');
  expect(await tab.save()).toContain('completed');

  expect(notebook.readSources()).toEqual(await tab.getSources());
  // A kernel that another test starts or stops is without its session for a moment.
  await expect.poll(async () => listSessions(notebook.path, agent)).toEqual([]);
});
