import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { visibleText } from './eslint.visible-text.mjs';

/** The ways by which a page makes elements of a text. */
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
const message = 'What we show comes from others. Set text with textContent.';

export default tseslint.config(
  { ignores: ['lib', 'node_modules', 'style/index.js'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: ['tests/tsconfig.json'], tsconfigRootDir: import.meta.dirname }
    },
    rules: {
      // Event handlers start work that reports its own failures; `void` marks them.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      // What we show comes from files and agents: it is set as text, never as markup.
      'no-restricted-properties': ['error', ...MARKUP.map(property => ({ property, message }))],
      'no-restricted-globals': ['error', { name: 'DOMParser', message }]
    }
  },
  {
    // The merge is a function of values: it knows nothing of JupyterLab.
    files: ['src/merge/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: ['@jupyterlab/*', '@jupyter/*', '@lumino/*', 'yjs'] }
      ]
    }
  },
  {
    // What users read can be translated. The errors of these two are put into words elsewhere.
    files: ['src/**/*.ts'],
    ignores: ['src/server/client.ts', 'src/sync/jupyterlabInternals.ts'],
    plugins: { nbedit: { rules: { 'visible-text': visibleText } } },
    rules: { 'nbedit/visible-text': 'error' }
  }
);
