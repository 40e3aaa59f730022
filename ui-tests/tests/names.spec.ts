import { expect, test } from './fixtures';
import { formatNotebook, makeCodeCell, replace } from './notebooks';

const NAMES = [
  '%41 b#c?d&e+f.ipynb',
  'M\u00FCller.ipynb',
  'Mu\u0308ller.ipynb',
  `"it's".ipynb`,
  'RTC:colon.ipynb',
  '$& $1 [x] {y}.ipynb',
  ' 日本 🐙 .ipynb',
  'a%40b/ü #?/%2e%2e/same name.ipynb',
  'a@b/ü #?/%2e%2e/same name.ipynb'
];

test('Notebooks of odd names follow edits, each its own, and are saved @nightly', async ({
  agent,
  folder,
  open
}) => {
  for (const name of NAMES) {
    folder.write(
      name,
      formatNotebook([makeCodeCell('one', 'x = 1'), makeCodeCell('two', 'y = 1')])
    );
  }
  for (const [at, name] of NAMES.entries()) {
    const tab = await open(name);
    await tab.typeText(1, '0');
    await agent.edit(folder.getPath(name), [replace('one', `x = ${at}`)]);
    await expect(tab.editor(0), name).toHaveText(`x = ${at}`);
    expect(await tab.save(), name).toContain('completed');
  }
  for (const [at, name] of NAMES.entries()) {
    expect(folder.readSources(name), name).toEqual([`x = ${at}`, 'y = 10']);
  }
});
