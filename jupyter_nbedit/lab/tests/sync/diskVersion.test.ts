import type { Contents, ServerConnection } from '@jupyterlab/services';
import { expect, test, vi } from 'vitest';
import { readNotebook } from '../../src/merge/notebook';
import { NbEditClient } from '../../src/server/client';
import { fetchNotebook, isFileCurrent, NotebookFile } from '../../src/sync/diskVersion';

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
  const driveName = (path: string): string => path.split(':').slice(0, -1).join();
  const localPath = (path: string): string => path.split(':').at(-1) ?? '';
  const contents = { get, driveName, localPath } as unknown as Contents.IManager;
  return { contents, reads: () => reads };
}

/** Our server, which gives this hash and these answers, and the requests that it got. */
function makeClient(
  hash: string,
  ...answers: [number, object][]
): { client: NbEditClient; requests: string[] } {
  const requests: string[] = [];
  const settings = {
    baseUrl: 'http://127.0.0.1:8888/',
    init: {},
    token: '',
    Request,
    Headers,
    fetch: ({ method, url }: Request) => {
      requests.push(`${method} ${url.slice('http://127.0.0.1:8888/nbedit/notebooks/'.length)}`);
      if (method === 'HEAD') {
        return Promise.resolve(new Response(null, { headers: { ETag: `"${hash}"` } }));
      }
      const [status, body] = answers.shift() ?? [500, {}];
      return Promise.resolve(new Response(JSON.stringify(body), { status }));
    }
  } as unknown as ServerConnection.ISettings;
  return { client: new NbEditClient(settings), requests };
}

const UNKNOWN: [number, object] = [410, { reason: 'version_unknown', message: 'Not known.' }];

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

test('a changed notebook costs one small request, and its other cells are not read', async () => {
  const { contents, reads } = server({ hash: '1', ids: ['never', 'read'] });
  const delta = {
    since: '1',
    hash: '2',
    last_modified: 'now',
    trusted: false,
    cells: [{ copy: [1, 2] }, { cell: { id: 'c', cell_type: 'raw', source: 'c', metadata: {} } }]
  };
  const { client, requests } = makeClient('2', [200, delta]);
  const file = new NotebookFile(contents, client);
  expect(await file.isCurrent('a b.ipynb', '2', null)).toBe(true);
  expect(await file.isCurrent('a b.ipynb', '1', null)).toBe(false);
  const version = await file.fetch('a b.ipynb', base, '1');
  expect(version.notebook.cells.map(({ id }) => id)).toEqual(['b', 'c']);
  expect(version.notebook.cells[0]).toBe(base.cells[1]);
  expect(version.model).toEqual({ hash: '2', last_modified: 'now' });
  expect(requests).toEqual([
    'HEAD a%20b.ipynb',
    'HEAD a%20b.ipynb',
    'GET a%20b.ipynb?since=1&view=nbformat'
  ]);
  expect(reads()).toBe(0);
});

test.each([
  ['does not know the version', '1', UNKNOWN],
  ['sends the changes since another version', '1', [200, { since: '0', hash: '2', cells: [] }]],
  ['copies a cell that is not there', '1', [200, { since: '1', cells: [{ copy: [0, 3] }] }]],
  ['fails', '1', [500, {}]],
  ['is not asked, because the version is not certain', null, [500, {}]]
] as [string, string | null, [number, object]][])(
  'the whole notebook is read if the server %s',
  async (_, hash, answer) => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue(undefined);
    const { contents } = server({ hash: '2', ids: ['b', 'a'] });
    const file = new NotebookFile(contents, makeClient('2', answer).client);
    const version = await file.fetch('a.ipynb', base, hash);
    expect(version.notebook.cells.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(version.model.hash).toBe('2');
    expect(warn).toHaveBeenCalledTimes(hash === null || answer === UNKNOWN ? 0 : 1);
    warn.mockRestore();
  }
);

test('a drive of another extension is asked only through the Contents API', async () => {
  const { contents } = server({ hash: '1', ids: ['a', 'b'] });
  const { client, requests } = makeClient('1');
  const file = new NotebookFile(contents, client);
  const known = { hash: '1' } as Contents.IModel;
  expect(await file.isCurrent('Drive:a.ipynb', '1', known)).toBe(true);
  expect((await file.fetch('Drive:a.ipynb', base, '1')).model.hash).toBe('1');
  expect(requests).toEqual([]);
});

test('a server whose hashes are not those of the Contents API is not asked again', async () => {
  const { contents } = server({ hash: '1', ids: ['a', 'b'] });
  const { client, requests } = makeClient('hash of something else', UNKNOWN);
  const file = new NotebookFile(contents, client);
  const known = { hash: '1' } as Contents.IModel;
  expect(await file.isCurrent('a.ipynb', '1', known)).toBe(false);
  await file.fetch('a.ipynb', base, '1');
  expect(await file.isCurrent('a.ipynb', '1', known)).toBe(true);
  expect(requests).toEqual(['HEAD a.ipynb', 'GET a.ipynb?since=1&view=nbformat']);
});
