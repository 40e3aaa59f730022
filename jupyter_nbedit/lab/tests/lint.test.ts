import { ESLint, Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { expect, test } from 'vitest';

const RULES = ['no-restricted-properties', 'no-restricted-globals'];

/** What the rules about markup, as they are set for our sources, say of a line. */
async function complaints(line: string): Promise<string[]> {
  const config = (await new ESLint().calculateConfigForFile('src/notice.ts')) as Linter.Config;
  const rules = Object.entries(config.rules ?? {}).filter(([name]) => RULES.includes(name));
  const { parser } = tseslint;
  const settings: Linter.Config = {
    languageOptions: { parser: parser },
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
