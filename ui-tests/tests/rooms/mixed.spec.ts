import type { Page } from '@playwright/test';
import { expect, test } from '../fixtures';
import { makeManyCells, replace } from '../notebooks';

/** Let a page that is yet to be opened do without collaboration, as a setting of the server does. */
async function disableRooms(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      const config = document.getElementById('jupyter-config-data');
      if (config?.textContent.trim().endsWith('}')) {
        observer.disconnect();
        const options = JSON.parse(config.textContent) as object;
        config.textContent = JSON.stringify({ ...options, disableRTC: true });
      }
    });
    observer.observe(document, { childList: true, subtree: true });
  });
}

test('A page in the room and one without collaboration both follow', async ({
  anotherWindow,
  create,
  open
}) => {
  const rooms = process.env.NBEDIT_ROOMS!;
  test.skip(rooms !== 'jupyter_collaboration', `With ${rooms} no page can save by itself.`);
  const notebook = create(makeManyCells(6));
  const expected = notebook.readSources();
  const inRoom = await open(notebook.name);
  const page = await anotherWindow();
  await disableRooms(page);
  const alone = await open(notebook.name, { page });
  expect(await inRoom.isCollaborative()).toBe(true);
  expect(await alone.isCollaborative()).toBe(false);

  await alone.typeText(0, '  # alone');
  await notebook.edit([
    replace(3),
    { op: 'insert', at: 'end', cell_type: 'code', source: 'theirs = 6' }
  ]);
  expected[3] = 'theirs = 3';
  expected.push('theirs = 6');
  await expect.poll(async () => inRoom.getSources()).toEqual(expected);
  expected[0] += '  # alone';
  await expect.poll(async () => alone.getSources()).toEqual(expected);

  expect(await alone.save()).toContain('completed');
  await expect.poll(async () => inRoom.getSources()).toEqual(expected);
  await inRoom.typeText(1, '  # in the room');
  expected[1] += '  # in the room';
  await expect(() => expect(notebook.readSources()).toEqual(expected)).toPass();
  await expect.poll(async () => alone.getSources()).toEqual(expected);
  expect(await alone.isDirty()).toBe(false);
});
