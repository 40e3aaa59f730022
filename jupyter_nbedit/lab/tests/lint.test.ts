import { ESLint, Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { expect, test } from 'vitest';

const TEXT_RULES = ['no-restricted-properties', 'no-restricted-globals', 'nbedit/visible-text'];
const IMPORT_RULES = ['imports/layers', 'imports/no-cycle'];

/** Return the messages of rules, as configured for one of our sources, about a line in it. */
async function lint(
  line: string,
  file = 'src/notify/toasts.ts',
  rules = TEXT_RULES
): Promise<string[]> {
  const config = (await new ESLint().calculateConfigForFile(file)) as Linter.Config;
  const entries = Object.entries(config.rules ?? {}).filter(([name]) => rules.includes(name));
  const { parser } = tseslint;
  const settings: Linter.Config = {
    files: ['**/*.ts'],
    languageOptions: { parser },
    plugins: config.plugins ?? {},
    rules: Object.fromEntries(entries)
  };
  return new Linter().verify(line, settings, file).map(({ message }) => message);
}

test.each([
  'node.innerHTML = text;',
  "node['innerHTML'] = text;",
  'const { outerHTML } = node;',
  "node.insertAdjacentHTML('beforeend', text);",
  'frame.srcdoc = text;',
  'document.write(text);',
  'node.setHTMLUnsafe(text);',
  'range.createContextualFragment(text);',
  "new DOMParser().parseFromString(text, 'text/html');"
])('S22: the linter refuses %s', async line => {
  expect(await lint(line)).toEqual([expect.stringContaining('Set text with textContent.')]);
});

test('S22: the linter allows to set text', async () => {
  expect(await lint('node.textContent = text;')).toEqual([]);
});

test.each([
  "node.textContent = 'gone';",
  "node.title = isOpen ? 'close' : trans.__('Open');",
  "node.setAttribute('aria-label', `cell ${index}`);",
  "commands.addCommand(id, { label: 'Undo', execute });",
  "palette.addItem({ command, category: 'Agent Edits' });",
  'Notification.error(`${file} changed on disk`);',
  "makeElement('h2', '', 'history');",
  "function getModeName() { return 'Paused'; }",
  "const notice = 'Nothing was accepted: ' + count;"
])('the linter refuses the text in %s, which nobody can translate', async line => {
  expect(await lint(line, 'src/blocks/notebookBar.ts')).toEqual([
    expect.stringContaining('Pass it to `trans.__`')
  ]);
});

test.each(['trans.__(deed, cells);', "trans._n('%1 cell', many, count);", 'trans.__(`${a} of`);'])(
  'the linter refuses %s, whose message tools that collect strings do not find',
  async line => {
    expect(await lint(line, 'src/history/wording.ts')).toContainEqual(
      expect.stringContaining('not a string literal')
    );
  }
);

test.each([
  "node.textContent = trans.__('Nothing is proposed.');",
  "label(trans._n('%1 cell', '%1 cells', count, count));",
  "makeElement('div', 'jp-nbedit-button jp-mod-styled');",
  "node.setAttribute('aria-pressed', 'true');",
  "if (event.key === 'ArrowRight' || mode === 'Edit mode') go();",
  "throw new Error('Expected a path; found none.');",
  "console.warn('The proposals could not be read.', error);",
  "export const plugin = { id: 'jupyter-nbedit:modes', description: 'Shows how edits are made.' };",
  'const picture = `<svg viewBox="0 0 24 24"><path d="M6 5h4v14H6z"/></svg>`;'
])('the linter allows %s', async line => {
  expect(await lint(line, 'src/blocks/notebookBar.ts')).toEqual([]);
});

test.each([
  ['src/notify/toasts.ts', "import { Views } from '../sync/notebookViews';"],
  ['src/merge/cellMerge.ts', "import { cleanName } from '../ui/displayText';"],
  ['src/history/editRow.ts', "export type { ShownPart } from '../proposals/proposalPartView';"],
  ['src/server/client.ts', "const plugins = import('../index');"]
])('the linter refuses in %s: %s, which goes up', async (file, line) => {
  expect(await lint(line, file, ['imports/layers'])).toEqual([
    expect.stringContaining('not in a folder below')
  ]);
});

test('the linter refuses an import cycle', async () => {
  const line = "import type { NbEditClient } from './client';";
  expect(await lint(line, 'src/server/models.ts', IMPORT_RULES)).toEqual([
    'Found an import cycle: server/models.ts > server/client.ts > server/models.ts.'
  ]);
});

test('the linter allows imports from the folders below', async () => {
  const line = "import { cleanName } from '../ui/displayText';";
  expect(await lint(line, 'src/notify/toasts.ts', IMPORT_RULES)).toEqual([]);
});
