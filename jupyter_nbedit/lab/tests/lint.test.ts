import { ESLint, Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { expect, test } from 'vitest';

const RULES = ['no-restricted-properties', 'no-restricted-globals', 'nbedit/visible-text'];

/** What the rules about texts, as they are set for one of our sources, say of a line. */
async function complaints(line: string, file = 'src/notify/toasts.ts'): Promise<string[]> {
  const config = (await new ESLint().calculateConfigForFile(file)) as Linter.Config;
  const rules = Object.entries(config.rules ?? {}).filter(([name]) => RULES.includes(name));
  const { parser } = tseslint;
  const settings: Linter.Config = {
    languageOptions: { parser: parser },
    plugins: config.plugins ?? {},
    rules: Object.fromEntries(rules)
  };
  return new Linter().verify(line, settings).map(({ message }) => message);
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
  expect(await complaints(line)).toEqual([expect.stringContaining('Set text with textContent.')]);
});

test('S22: the linter allows to set text', async () => {
  expect(await complaints('node.textContent = text;')).toEqual([]);
});

test.each([
  "node.textContent = 'gone';",
  "node.title = isOpen ? 'close' : trans.__('Open');",
  "node.setAttribute('aria-label', `cell ${index}`);",
  "commands.addCommand(id, { label: 'Undo', execute });",
  "palette.addItem({ command, category: 'Agent Edits' });",
  'Notification.error(`${file} changed on disk`);',
  "make('h2', '', 'history');",
  "function nameOf() { return 'Paused'; }",
  "const notice = 'Nothing was accepted: ' + count;"
])('the linter refuses the text in %s, which nobody can translate', async line => {
  expect(await complaints(line, 'src/review/reviewBar.ts')).toEqual([
    expect.stringContaining('Pass it to `trans.__`')
  ]);
});

test.each(['trans.__(deed, cells);', "trans._n('%1 cell', many, count);", 'trans.__(`${a} of`);'])(
  'the linter refuses %s, whose message tools that collect strings do not find',
  async line => {
    expect(await complaints(line, 'src/history/wording.ts')).toContainEqual(
      expect.stringContaining('not a string literal')
    );
  }
);

test.each([
  "node.textContent = trans.__('Nothing is proposed.');",
  "label(trans._n('%1 cell', '%1 cells', count, count));",
  "make('div', 'jp-nbedit-button jp-mod-styled');",
  "node.setAttribute('aria-pressed', 'true');",
  "if (event.key === 'ArrowRight' || mode === 'Edit mode') go();",
  "throw new Error('Expected a path; found none.');",
  "console.warn('The proposals could not be read.', error);",
  "export const plugin = { id: 'jupyter-nbedit:modes', description: 'Shows how edits are made.' };",
  'const picture = `<svg viewBox="0 0 24 24"><path d="M6 5h4v14H6z"/></svg>`;'
])('the linter allows %s', async line => {
  expect(await complaints(line, 'src/review/reviewBar.ts')).toEqual([]);
});
