import js from '@eslint/js';
import tseslint from 'typescript-eslint';

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
      eqeqeq: 'error',
      // What we show comes from files and agents: it is set as text, never as markup.
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'Set text with textContent.' },
        { property: 'outerHTML', message: 'Set text with textContent.' },
        { property: 'insertAdjacentHTML', message: 'Set text with textContent.' }
      ]
    }
  },
  {
    files: ['src/merge/**/*.ts', 'src/merge.ts', 'src/text.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: ['@jupyterlab/*', '@jupyter/*', '@lumino/*', 'yjs'] }
      ]
    }
  }
);
