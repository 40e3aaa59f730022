import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { layers, noCycle } from './eslint.imports.mjs';
import { visibleText } from './eslint.visible-text.mjs';

/** The properties and functions that turn a text into elements. */
const MARKUP = [
  'innerHTML',
  'outerHTML',
  'insertAdjacentHTML',
  'setHTML',
  'setHTMLUnsafe',
  'parseHTMLUnsafe',
  'createContextualFragment',
  'srcdoc',
  'write',
  'writeln'
];
const message = 'Texts come from files and agents. Set text with textContent.';

export default tseslint.config(
  { ignores: ['lib', 'node_modules', 'src/server/openapi.ts', 'style/index.js'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: ['tests/tsconfig.json'], tsconfigRootDir: import.meta.dirname }
    },
    rules: {
      // Event handlers start tasks that report their own errors; `void` marks them.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      // Texts come from files and agents: they are set as text, never as markup.
      'no-restricted-properties': ['error', ...MARKUP.map(property => ({ property, message }))],
      'no-restricted-globals': ['error', { name: 'DOMParser', message }]
    }
  },
  {
    // The merge is a function of values: it does not import JupyterLab.
    files: ['src/merge/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: ['@jupyterlab/*', '@jupyter/*', '@lumino/*', 'yjs'] }
      ]
    }
  },
  {
    // Imports go down only, from folder to folder as in CONTRIBUTING.md, and never in a circle.
    files: ['src/**/*.ts'],
    plugins: { imports: { rules: { layers, 'no-cycle': noCycle } } },
    rules: { 'imports/layers': 'error', 'imports/no-cycle': 'error' }
  },
  {
    // Texts for users are translated; the errors of these two modules are translated elsewhere.
    files: ['src/**/*.ts'],
    ignores: ['src/server/client.ts', 'src/sync/jupyterlabInternals.ts'],
    plugins: { nbedit: { rules: { 'visible-text': visibleText } } },
    rules: { 'nbedit/visible-text': 'error' }
  }
);
