import { createHash } from 'node:crypto';
import { expect, type Locator } from '@playwright/test';
import type { Agent, Operation } from './agent';
import type { Folder } from './folder';
import { formatModel, formatNotebook, makeManyCells, makeNotebook, replace } from './notebooks';
import type { Tab } from './tab';

/** The name of the notebook. */
export const NAME = 'path.ipynb';

/** What the person types into the cell with the id `cell-id-5`, before and after decisions. */
const TYPED = ' # mine, typed while the agent works';
const TYPED_LATER = ', and on';

const MESSAGE = 'Tidy up.';

interface CellText {
  source: string | null;
}

interface Edit {
  edit_id: number;
  client: string | null;
  hash: string;
  parts: { cell_id: string | null; after: CellText | null }[];
}

function getLine(tab: Tab, index: number): Locator {
  return tab.cell(index).locator('.jp-nbedit-line');
}

/**
 * What a person and agents do with one notebook, in any application that shows it. The steps are
 * called in their order.
 */
export class PersonPath {
  constructor(
    private readonly agent: Agent,
    private readonly folder: Folder
  ) {}

  /** Write the notebook. */
  begin(): void {
    this.folder.write(NAME, formatNotebook(makeManyCells(10)));
  }

  /** An agent changes, deletes, moves and inserts cells while the person types in one of them. */
  async workTogether(tab: Tab): Promise<void> {
    await tab.placeCaret(5);
    const work = async (): Promise<void> => {
      for (const operation of [
        replace(1),
        replace(2),
        { op: 'delete', cell: 'cell-id-3' },
        { op: 'move', cell: 'cell-id-8', index: 0 },
        { op: 'insert', after: 'cell-id-6', id: 'added', cell_type: 'code', source: 'added = 1' },
        // Another line of the cell in which the person types.
        replace(5, 'theirs = 5\nsecond_5 = 5\nprint(5)')
      ]) {
        await this._edit('Claude', operation);
      }
    };
    await Promise.all([tab.page.keyboard.type(TYPED, { delay: 40 }), work()]);
    await expect
      .poll(async () => tab.getSource(5))
      .toBe(`theirs = 5\nsecond_5 = 5\nprint(5)${TYPED}`);
    await expectOrder(tab, [8, 0, 1, 2, 4, 5, 6, 'added', 7, 9]);
    expect(await tab.getCaret()).toMatchObject({ line: 2, before: `print(5)${TYPED}`, after: '' });
  }

  /** The person sees each change at its place. */
  async expectChanges(tab: Tab): Promise<void> {
    const summary = 'Claude changed 3 cells, added 1, moved 1, deleted 1';
    await expect(tab.bar).toContainText(summary);
    await expect(tab.bar).toContainText(MESSAGE);
    await expect(tab.bar).toContainText('– of 6');
    await expect.poll(async () => tab.listMarkedCells()).toEqual([0, 2, 3, 5, 7]);
    for (const [index, deed] of [
      [0, 'Moved here from position 9'],
      [2, 'Changed'],
      [3, 'Changed'],
      [5, 'Changed'],
      [7, 'Added']
    ] as const) {
      const label = `${deed} by Claude: Tidy up. Show what changed`;
      await expect(tab.mark(index)).toHaveAttribute('aria-label', label);
    }
    await expect(tab.root.locator('.jp-nbedit-line')).toHaveCount(1);
    await expect(getLine(tab, 3)).toContainText('Claude deleted 1 cell');
  }

  /** Without leaving the cell, the person keeps two changes, undoes one, and restores a cell. */
  async decide(tab: Tab): Promise<void> {
    for (const [index, deed, verb] of [
      [0, 'moved this cell here from position 9', 'Keep'],
      [2, 'changed this cell', 'Keep'],
      [3, 'changed this cell', 'Undo']
    ] as const) {
      await tab.mark(index).click();
      await expect(tab.change(index)).toContainText(`Claude ${deed}`);
      await tab.change(index).getByRole('button', { name: verb }).click();
      await expect(tab.mark(index)).toHaveCount(0);
    }
    await expect.poll(async () => tab.getSource(3)).toContain('first_2');
    await getLine(tab, 3).getByRole('button', { name: 'Restore' }).click();
    await expectOrder(tab, [8, 0, 1, 2, 3, 4, 5, 6, 'added', 7, 9]);
    await expect(tab.root.locator('.jp-nbedit-line')).toHaveCount(0);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([6, 8]);
    await expect(tab.bar).toContainText('Claude changed 1 cell, added 1');
    await tab.page.keyboard.type(TYPED_LATER);
    expect(await tab.getSource(6)).toBe(`theirs = 5\nsecond_5 = 5\nprint(5)${TYPED}${TYPED_LATER}`);
    expect(await tab.save()).toContain('completed');
    // The person has changed another line of cell 6 than the agent.
    await expect.poll(async () => tab.listMarkedCells()).toEqual([6, 8]);
    await expect(tab.bar).toContainText('Claude changed 1 cell, added 1');
  }

  /** Agents go on while no page shows the notebook. */
  async goOn(): Promise<void> {
    await this._edit('Claude', replace(6));
    await this._edit('Claude', { op: 'delete', cell: 'cell-id-9' });
    const cell = { cell_type: 'markdown', id: 'late', source: 'Later' };
    await this._edit('Codex', { op: 'insert', at: 'end', ...cell });
    await this._edit('Codex', replace(0));
  }

  /** All that was not kept is marked, and nothing else. */
  async expectUnseen(tab: Tab): Promise<void> {
    await expectOrder(tab, [8, 0, 1, 2, 3, 4, 5, 6, 'added', 7, 'late']);
    await expect.poll(async () => tab.listMarkedCells()).toEqual([1, 6, 7, 8, 10]);
    // A line is drawn with its cell, which may be out of sight.
    await tab.scrollToCell(9);
    await expect(tab.root.locator('.jp-nbedit-line')).toHaveCount(1);
    await expect(getLine(tab, 9)).toContainText('Claude deleted 1 cell');
    const summary = 'Claude and Codex changed 3 cells, added 2, deleted 1';
    await expect(tab.bar).toContainText(summary);
    await expect(tab.bar).toContainText('– of 6');
    await expect(tab.mark(10)).toHaveAttribute('aria-label', /^Added by Codex: Tidy up/);
  }

  /** File, tab and history agree after one more Undo; what was typed is there. */
  async expectAgreement(tab: Tab): Promise<void> {
    const { agent, folder } = this;
    await tab.scrollToCell(1);
    await tab.mark(1).click();
    await expect(tab.change(1)).toContainText('Codex changed this cell');
    await tab.change(1).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => tab.listMarkedCells()).toEqual([6, 7, 8, 10]);
    await expect.poll(async () => tab.getSource(1)).toContain('first_0');

    const file = folder.readText(NAME);
    // A kernel that has started describes its language in the metadata.
    expect(file).toBe(formatExpected(folder.readNotebook(NAME).metadata));
    const path = folder.getPath(NAME);
    const address = `/api/contents/${path}?type=file&format=text&content=1`;
    expect(((await agent.get(address)) as { content: string }).content).toBe(file);

    const hash = createHash('sha256').update(file).digest('hex');
    expect(formatModel(await tab.getContent())).toBe(file);
    await expect.poll(async () => tab.getHash()).toBe(hash);
    expect(await tab.isDirty()).toBe(false);

    const edits = await this._listEdits();
    expect(edits.map(({ client }) => client)).toEqual([
      ...Array.from({ length: 6 }, () => 'Claude'),
      'JupyterLab',
      'JupyterLab',
      'Claude',
      'Claude',
      'Codex',
      'Codex',
      'JupyterLab'
    ]);
    expect(edits.at(-1)!.hash).toBe(hash);
    // What the history says of each cell is what the file has, and the typing in one of them.
    const { cells } = folder.readNotebook(NAME);
    const ids = cells.map(({ id }) => id);
    const sources = folder.readSources(NAME);
    const last = new Map<string | null, CellText | null>();
    edits.forEach(({ parts }) => parts.forEach(({ cell_id: id, after }) => last.set(id, after)));
    expect([...last.keys()].sort()).toEqual(
      ['added', 'late', ...[0, 1, 2, 3, 5, 6, 8, 9].map(index => `cell-id-${index}`)].sort()
    );
    for (const [id, after] of last) {
      const typed = id === 'cell-id-5' ? TYPED + TYPED_LATER : '';
      const source = after === null ? undefined : `${after.source}${typed}`;
      expect(sources[ids.indexOf(id)], `${id}`).toBe(source);
    }
  }

  private async _edit(client: string, operation: Operation): Promise<void> {
    await this.agent.edit(this.folder.getPath(NAME), [operation], client, { message: MESSAGE });
  }

  /** Return the history, oldest first. */
  private async _listEdits(): Promise<Edit[]> {
    const address = `/nbedit/notebooks/${this.folder.getPath(NAME)}/history`;
    const { edits } = (await this.agent.get(address)) as { edits: Edit[] };
    const details = edits.map(
      async ({ edit_id: id }) => (await this.agent.get(`${address}/${id}`)) as Edit
    );
    return (await Promise.all(details)).reverse();
  }
}

/** Wait until the cells are in this order; a number stands for one that was there from the start. */
async function expectOrder(tab: Tab, order: readonly (number | string)[]): Promise<void> {
  const ids = order.map(id => (typeof id === 'number' ? `cell-id-${id}` : id));
  await expect.poll(async () => tab.getIds()).toEqual(ids);
}

/** Return the text of the file to which the path leads. */
function formatExpected(metadata: Record<string, unknown>): string {
  const cells = makeManyCells(10);
  const rewrite = (index: number, source: string[]): Record<string, unknown> => ({
    ...cells[index],
    execution_count: null,
    outputs: [],
    source
  });
  const code = { cell_type: 'code', execution_count: null, id: 'added', metadata: {}, outputs: [] };
  const typed = `print(5)${TYPED}${TYPED_LATER}`;
  const expected = [
    cells[8],
    cells[0],
    rewrite(1, ['theirs = 1']),
    cells[2],
    cells[3],
    cells[4],
    rewrite(5, ['theirs = 5\n', 'second_5 = 5\n', typed]),
    rewrite(6, ['theirs = 6']),
    { ...code, source: ['added = 1'] },
    cells[7],
    { cell_type: 'markdown', id: 'late', metadata: {}, source: ['Later'] }
  ];
  return `${JSON.stringify({ ...makeNotebook(expected), metadata }, null, 1)}\n`;
}
