import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const EXAMPLE = resolve(__dirname, '../example');
/** The compiler, the builder, and the packages that extensions are compiled with. */
const TOOLS = resolve(__dirname, '../../jupyter_nbedit/lab/node_modules');
const INSTALLED = join(process.env.NBEDIT_ENV!, 'share/jupyter/labextensions/jupyter-nbedit');
const LABEXTENSIONS = join(dirname(process.env.NBEDIT_ROOT!), 'data/labextensions');

/**
 * Build the example as its author would, with the installed jupyter_nbedit, and copy it to where
 * the running JupyterLab looks for extensions.
 */
export function installExample(): void {
  const folder = mkdtempSync(join(tmpdir(), 'nbedit-example-'));
  try {
    cpSync(EXAMPLE, folder, { recursive: true });
    const modules = join(folder, 'node_modules');
    mkdirSync(modules);
    for (const scope of ['@jupyterlab', '@lumino']) {
      symlinkSync(join(TOOLS, scope), join(modules, scope));
    }
    // The same as `npm install --install-links`.
    cpSync(INSTALLED, join(modules, 'jupyter-nbedit'), { recursive: true, dereference: true });
    const run = (program: string, ...args: string[]): void => {
      execFileSync(process.execPath, [join(TOOLS, program), ...args], {
        cwd: folder,
        stdio: ['ignore', 'ignore', 'inherit']
      });
    };
    run('typescript/bin/tsc');
    run(
      '@jupyter/builder/lib/build-labextension.js',
      '--core-package-file',
      join(TOOLS, '@jupyterlab/core-meta/core.package.json'),
      '.'
    );
    cpSync(join(folder, 'labextension'), join(LABEXTENSIONS, 'nbedit-example'), {
      recursive: true
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
