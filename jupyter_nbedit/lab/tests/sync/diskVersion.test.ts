import type { Contents } from '@jupyterlab/services';
import { expect, test } from 'vitest';
import { readNotebook } from '../../src/merge/notebook';
import { fetchNotebook, isFileCurrent } from '../../src/sync/diskVersion';

interface Version {
  readonly hash?: string;
  readonly ids: (string | undefined)[];
}

/** A server that answers each read with the next version. */
function server(...versions: Version[]): { contents: Contents.IManager; reads: () => number } {
  let reads = 0;
  const get = (): Promise<object> => {
    const version = versions[Math.min(reads, versions.length - 1)];
    reads++;
    return Promise.resolve({
      hash: version?.hash ?? null,
      last_modified: `time of ${version?.hash}`,
      content: makeContent(version?.ids ?? [])
    });
  };
  return { contents: { get } as unknown as Contents.IManager, reads: () => reads };
}

function makeContent(ids: (string | undefined)[]): object {
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: ids.map(id => ({ id, cell_type: 'raw', source: id ?? '', metadata: {} }))
  };
}

function listIds(notebook: unknown): (string | null)[] {
  return readNotebook(notebook).cells.map(({ id }) => id);
}

const base = readNotebook(makeContent(['a', 'b']));

test('a notebook whose ids are known is read once', async () => {
  const { contents, reads } = server({ hash: '1', ids: ['b', 'a', 'new'] });
  const fetched = await fetchNotebook(contents, 'a.ipynb', base);
  expect(listIds(fetched.content)).toEqual(['b', 'a', 'new']);
  expect(reads()).toBe(1);
});

test('ids that the server invents for each read are left out', async () => {
  const { contents } = server(
    { hash: '1', ids: ['a', 'random-1', 'random-2'] },
    { hash: '1', ids: ['a', 'random-3', 'random-4'] }
  );
  const fetched = await fetchNotebook(contents, 'a.ipynb', base);
  expect(listIds(fetched.content)).toEqual(['a', null, null]);
});

test('new ids that are in the file stay', async () => {
  const { contents, reads } = server({ hash: '1', ids: ['a', 'new'] });
  const fetched = await fetchNotebook(contents, 'a.ipynb', base);
  expect(listIds(fetched.content)).toEqual(['a', 'new']);
  expect(reads()).toBe(2);
});

test('a notebook that changes between two reads is answered as it is last, with its hash', async () => {
  const { contents } = server(
    { hash: '1', ids: ['a', 'x'] },
    { hash: '2', ids: ['a', 'y'] },
    { hash: '2', ids: ['a', 'y'] }
  );
  const fetched = await fetchNotebook(contents, 'a.ipynb', base);
  expect(fetched.hash).toBe('2');
  expect(listIds(fetched.content)).toEqual(['a', 'y']);
});

test('a file is current if it has the known hash, whatever its time', async () => {
  const { contents } = server({ hash: '1', ids: [] });
  const known = { hash: '1', last_modified: 'another time' } as Contents.IModel;
  expect(await isFileCurrent(contents, 'a.ipynb', known)).toBe(true);
  expect(await isFileCurrent(contents, 'a.ipynb', { ...known, hash: '2' })).toBe(false);
});

test('where there is no hash the time decides', async () => {
  const { contents } = server({ ids: [] });
  const known = { last_modified: 'time of undefined' } as Contents.IModel;
  expect(await isFileCurrent(contents, 'a.ipynb', known)).toBe(true);
  expect(await isFileCurrent(contents, 'a.ipynb', { ...known, last_modified: 'older' })).toBe(
    false
  );
  expect(await isFileCurrent(contents, 'a.ipynb', null)).toBe(false);
});
