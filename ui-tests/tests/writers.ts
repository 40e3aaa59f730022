import { execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How long a slow writer leaves half a notebook in the file, in milliseconds. */
const HALF_WRITTEN = 300;

/** A new source of a cell, as another program writes it. */
export interface SourceChange {
  cell: string;
  source: string;
}

/** Changes a source in a file, and returns when the file is complete. */
export type Writer = (file: string, change: SourceChange) => void | Promise<void>;

/** Programs that write a notebook without the server, by what they do to the file. */
export const WRITERS: Record<string, Writer> = {
  'rename over': (file, change) => {
    writeFileSync(`${file}.tmp`, changeSource(file, change));
    renameSync(`${file}.tmp`, file);
  },
  'in place': (file, change) => {
    writeFileSync(file, changeSource(file, change));
  },
  'slow in place': async (file, change) => {
    const data = Buffer.from(changeSource(file, change));
    const half = Math.floor(data.length / 2);
    const descriptor = openSync(file, 'r+');
    try {
      ftruncateSync(descriptor);
      writeSync(descriptor, data, 0, half);
      await sleep(HALF_WRITTEN);
      writeSync(descriptor, data, half);
    } finally {
      closeSync(descriptor);
    }
  },
  'delete and create': async (file, change) => {
    const text = changeSource(file, change);
    rmSync(file);
    await sleep(20);
    writeFileSync(file, text, { flag: 'wx' });
  },
  'git checkout': async (file, change) => {
    const text = changeSource(file, change);
    const repository = dirname(file);
    const name = file.slice(repository.length + 1);
    const git = async (...args: string[]) =>
      (await run('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=b', ...args]))
        .stdout;
    if (!existsSync(join(repository, '.git'))) {
      await git('init', '--quiet');
    }
    // Another version of the notebook, which no file has yet.
    const other = join(repository, '.git', 'other');
    writeFileSync(other, text);
    const blob = (await git('hash-object', '-w', other)).trim();
    await git('update-index', '--add', '--cacheinfo', `100644,${blob},${name}`);
    await git('commit', '--quiet', '--message', 'Another version');
    await git('checkout', '--quiet', '--force', 'HEAD', '--', name);
  },
  nbformat: async (file, { cell, source }) => {
    const script = [
      'import sys, nbformat',
      'file, cell, source = sys.argv[1:]',
      'notebook = nbformat.read(file, as_version=4)',
      'next(found for found in notebook.cells if found.id == cell).source = source',
      'nbformat.write(notebook, file)'
    ];
    await run(PYTHON, ['-c', script.join('\n'), file, cell, source]);
  }
};

const PYTHON = join(process.env.NBEDIT_ENV!, 'bin', 'python');

// https://pypi.org/project/pynb-cli, if it is installed.
const folders = [dirname(PYTHON), ...(process.env.PATH ?? '').split(delimiter)];
const nbCli = folders.map(folder => join(folder, 'nb')).find(existsSync);
if (nbCli !== undefined) {
  WRITERS['nb-cli'] = async (file, { cell, source }) => {
    await run(nbCli, ['cell', 'update', file, '--cell', cell, '--source', source], {
      cwd: dirname(file)
    });
  };
}

/** Return the text of the file with another source. */
function changeSource(file: string, { cell, source }: SourceChange): string {
  const notebook = JSON.parse(readFileSync(file, 'utf-8')) as {
    cells: { id: string; source: string[] }[];
  };
  notebook.cells.find(({ id }) => id === cell)!.source = [source];
  return `${JSON.stringify(notebook, null, 1)}\n`;
}
