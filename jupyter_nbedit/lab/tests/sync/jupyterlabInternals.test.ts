import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { expect, test } from 'vitest';
import { readFileContent } from '../../src/merge/notebook';
import { adoptVersion, ConditionalSaves } from '../../src/sync/jupyterlabInternals';

type Context = DocumentRegistry.IContext<INotebookModel>;

const notebook = readFileContent({ nbformat: 4, metadata: {}, cells: [] });
const fetched = { notebook, model: { hash: 'new' } };

/** A context that keeps its file's version as JupyterLab's does. */
class TestContext {
  contentsModel: Partial<Contents.IModel> = { hash: 'old', path: 'a.ipynb' };
  model = new TestModel();
  asked = 0;

  _updateContentsModel(model: Contents.IModel): void {
    this.contentsModel = model;
  }

  readonly revert = (): Promise<void> => {
    this.model.fromJSON({ cells: [{ cell_type: 'raw', source: 'of the revert' }] });
    this.contentsModel = { hash: 'of the revert' };
    return Promise.resolve();
  };

  readonly save = (): Promise<void> => (this.isStale ? this._raiseConflict() : Promise.resolve());

  isStale = false;

  _raiseConflict(): Promise<void> {
    this.asked++;
    return Promise.resolve();
  }
}

class TestModel {
  replaced: unknown[] = [];

  fromJSON(content: unknown): void {
    this.replaced.push(content);
  }
}

function asContext(context: object): Context {
  return context as unknown as Context;
}

test('the hash that was fetched becomes the expected one once its content is merged', async () => {
  const context = new TestContext();
  const merged: unknown[] = [];
  await adoptVersion(asContext(context), fetched, context.revert, disk => {
    expect(context.contentsModel.hash).toBe('old');
    merged.push(disk);
  });
  expect(merged).toEqual([notebook]);
  expect(context.contentsModel).toMatchObject({ hash: 'new', path: 'a.ipynb' });
  expect(context.model.replaced).toEqual([]);
});

test('a merge that fails leaves the expected hash as it is', async () => {
  const context = new TestContext();
  const failing = adoptVersion(asContext(context), fetched, context.revert, () => {
    throw new Error('not a notebook');
  });
  await expect(failing).rejects.toThrow('not a notebook');
  expect(context.contentsModel.hash).toBe('old');
});

test('without the private call a revert brings content and hash, and replaces no cells', async () => {
  const context = new TestContext();
  Object.assign(context, { _updateContentsModel: undefined });
  const merged: unknown[] = [];
  await adoptVersion(asContext(context), fetched, context.revert, ({ cells }) =>
    merged.push(cells[0]?.source)
  );
  expect(merged).toEqual(['of the revert']);
  expect(context.contentsModel.hash).toBe('of the revert');
  expect(context.model.replaced).toEqual([]);
  context.model.fromJSON('later');
  expect(context.model.replaced).toEqual(['later']);
});

/** A server that refuses to replace any version but the one it has. */
class TestContents {
  hash = 'old';
  saved: unknown[] = [];

  save(path: string, options: object): Promise<unknown> {
    this.saved.push([path, options]);
    const { nbedit_expected_hash: expected } = options as { nbedit_expected_hash?: string };
    return expected === undefined || expected === this.hash
      ? Promise.resolve(expected === undefined ? { path } : { path, nbedit_hash: 'saved' })
      : Promise.reject(Object.assign(new Error('changed'), { response: { status: 409 } }));
  }
}

function makeSaves(): { contents: TestContents; saves: ConditionalSaves } {
  const contents = new TestContents();
  return { contents, saves: new ConditionalSaves(contents as unknown as Contents.IManager) };
}

test('a save that would ask is given up without asking', async () => {
  const { saves } = makeSaves();
  const context = new TestContext();
  expect(await saves.saveIfCurrent(asContext(context), context.save)).toBe(true);
  context.isStale = true;
  expect(await saves.saveIfCurrent(asContext(context), context.save)).toBe(false);
  expect(context.asked).toBe(0);
  await context.save();
  expect(context.asked).toBe(1);
});

test('a save that fails for another reason fails', async () => {
  const { saves } = makeSaves();
  const context = new TestContext();
  const save = (): Promise<void> => Promise.reject(new Error('disk full'));
  await expect(saves.saveIfCurrent(asContext(context), save)).rejects.toThrow('disk full');
});

test('where JupyterLab has no such step it asks as always', async () => {
  const { saves } = makeSaves();
  const context = new TestContext();
  context.isStale = true;
  const asksItself = context.save.bind(context);
  const without = { save: context.save };
  expect(await saves.saveIfCurrent(asContext(without), asksItself)).toBe(true);
  expect(context.asked).toBe(1);
});

test('a save says which version it is to replace, and is given up if there is another', async () => {
  const { contents, saves } = makeSaves();
  const context = asContext(Object.assign(new TestContext(), { path: 'a.ipynb' }));
  const save = async (): Promise<void> => {
    await contents.save('a.ipynb', { content: 'mine' });
  };
  expect(await saves.saveIfCurrent(context, save)).toBe(true);
  expect(saves.getSavedHash('a.ipynb')).toBe('saved');
  contents.hash = 'theirs';
  expect(await saves.saveIfCurrent(context, save)).toBe(false);
  expect(saves.getSavedHash('a.ipynb')).toBeNull();
  const said = ['a.ipynb', { content: 'mine', nbedit_expected_hash: 'old' }];
  expect(contents.saved).toEqual([said, said]);
});

test('a save of anything else is as it always was', async () => {
  const { contents, saves } = makeSaves();
  const context = asContext(Object.assign(new TestContext(), { path: 'a.ipynb' }));
  const other = ['b.txt', { content: 'b' }] as const;
  await contents.save(...other);
  await saves.saveIfCurrent(context, async () => {
    await contents.save(...other);
  });
  await contents.save('a.ipynb', { content: 'a' });
  expect(contents.saved).toEqual([other, other, ['a.ipynb', { content: 'a' }]]);
});
