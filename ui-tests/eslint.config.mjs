import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['example', 'node_modules', 'test-results'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    // An assertion nobody awaits cannot fail: no-floating-promises is among these.
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: ['tsconfig.json'], tsconfigRootDir: import.meta.dirname }
    },
    rules: {
      // `cells[3]!`: a cell that is not there fails the test, as it should.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // Playwright reads a fixture's dependencies from its pattern; `{}` is none.
      'no-empty-pattern': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }]
    }
  }
);
