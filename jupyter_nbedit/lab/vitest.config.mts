import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['tests/**/*.test.ts'],
    setupFiles: ['tests/setup.ts'],
    testTimeout: 600_000,
    // Yjs warns of how @jupyter/ydoc makes cells, thousands of times.
    onConsoleLog: log => (/Add Yjs type to a document|yjs#509/.test(log) ? false : undefined)
  }
});
