/**
 * ESLint rules for the imports between our modules: folders import only from the folders below
 * them, and no module imports itself by way of others.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';

/** The folders of `src`, from bottom to top; folders in one line do not import each other. */
const LAYERS = [
  ['merge'],
  ['ui'],
  ['server'],
  ['services'],
  ['blocks'],
  ['notify'],
  ['sync'],
  ['history', 'modes', 'proposals', 'unseen'],
  ['badges', 'connect'],
  ['']
];

const SOURCES = resolve(import.meta.dirname, 'src');

const IMPORT = /(?:\bfrom|\bimport\()\s*'(\.[^']*)'/g;

/** Return the layer of a module, counted from the bottom. */
function getLayer(file) {
  const folder = relative(SOURCES, dirname(file)).split(sep)[0];
  return LAYERS.findIndex(layer => layer.includes(folder));
}

/** Return the file of a relative import. */
function resolveImport(file, specifier) {
  return resolve(dirname(file), `${specifier}.ts`);
}

/** Return the modules that a file imports, types included. */
function listImports(file) {
  const text = existsSync(file) && statSync(file).isFile() ? readFileSync(file, 'utf-8') : '';
  return [...text.matchAll(IMPORT)].map(([, specifier]) => resolveImport(file, specifier));
}

/** Return the shortest chain of imports from one module to another, or null if there is none. */
function findChain(from, to) {
  const previous = new Map([[from, null]]);
  for (const file of previous.keys()) {
    if (file === to) {
      const chain = [];
      for (let step = file; step !== null; step = previous.get(step)) {
        chain.unshift(relative(SOURCES, step));
      }
      return chain;
    }
    for (const imported of listImports(file)) {
      if (!previous.has(imported)) {
        previous.set(imported, file);
      }
    }
  }
  return null;
}

/** Return the visitor of a rule that checks each relative import. */
function visitImports(file, check) {
  const visit = ({ source }) => {
    if (typeof source?.value === 'string' && source.value.startsWith('.')) {
      check(source, resolveImport(file, source.value));
    }
  };
  return {
    ImportDeclaration: visit,
    ImportExpression: visit,
    ExportNamedDeclaration: visit,
    ExportAllDeclaration: visit
  };
}

export const layers = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { upwards: 'Found an import of `{{file}}`, which is not in a folder below.' }
  },
  create(context) {
    const importer = resolve(context.filename);
    return visitImports(importer, (node, file) => {
      if (dirname(file) !== dirname(importer) && getLayer(file) >= getLayer(importer)) {
        context.report({ node, messageId: 'upwards', data: { file: relative(SOURCES, file) } });
      }
    });
  }
};

export const noCycle = {
  meta: {
    type: 'problem',
    schema: [],
    messages: { cycle: 'Found an import cycle: {{chain}}.' }
  },
  create(context) {
    const importer = resolve(context.filename);
    return visitImports(importer, (node, file) => {
      const chain = findChain(file, importer);
      if (chain !== null) {
        const steps = [relative(SOURCES, importer), ...chain];
        context.report({ node, messageId: 'cycle', data: { chain: steps.join(' > ') } });
      }
    });
  }
};
