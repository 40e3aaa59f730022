import { NbEditError, type UndoneCells } from '../../src/server/client';
import type {
  CellState,
  EditReply,
  HistoryEdit,
  UnseenCell,
  UnseenNotebook,
  UnseenReply
} from '../../src/server/models';
import type { UnseenClient } from '../../src/server/unseenModel';

export function makeState(source: string, more: Partial<CellState> = {}): CellState {
  return { cell_type: 'code', source, metadata: {}, ...more };
}

/** An unseen change as the server tells of it; of nothing unless said otherwise. */
export function makeUnseenCell(key: string, more: Partial<UnseenCell> = {}): UnseenCell {
  return {
    key,
    edit_ids: [Number.parseInt(key, 10)],
    gap: null,
    part: 0,
    cell_id: null,
    index_before: null,
    index: null,
    moved: false,
    outputs_cleared: false,
    before: null,
    after: null,
    ...more
  };
}

/** The change of the source of a cell. */
export function makeChange(key: string, id: string | null, index: number): UnseenCell {
  const [before, after] = [makeState(`old ${id ?? index}`), makeState(`new ${id ?? index}`)];
  return makeUnseenCell(key, { cell_id: id, index_before: index, index, before, after });
}

export function makeDeletion(key: string, id: string | null, gap: number): UnseenCell {
  return makeUnseenCell(key, {
    cell_id: id,
    index_before: gap,
    gap,
    before: makeState(`old ${id ?? gap}`)
  });
}

export function makeInsertion(key: string, id: string | null, index: number): UnseenCell {
  return makeUnseenCell(key, { cell_id: id, index, after: makeState(`new ${id ?? index}`) });
}

export function makeMove(key: string, id: string, from: number, to: number): UnseenCell {
  return makeUnseenCell(key, {
    cell_id: id,
    index_before: from,
    index: to,
    gap: from < to ? from : from + 1,
    moved: true,
    before: makeState(id),
    after: makeState(id)
  });
}

export function makeEdit(id: number, more: Partial<HistoryEdit> = {}): HistoryEdit {
  return {
    edit_id: id,
    time: '2026-11-23T09:00:00Z',
    path: 'a.ipynb',
    kind: 'edit',
    user: 'alice',
    client: 'Claude',
    message: null,
    accepted_by: null,
    is_from_page: false,
    operations: [],
    truncated: false,
    cells_changed: 1,
    hash_before: null,
    hash: `h${id}`,
    applied_via: 'file',
    total_cells: 3,
    cells_delta: 0,
    undoes: null,
    undone_by: null,
    undoable: true,
    lines_added: null,
    lines_removed: null,
    snippet: null,
    ...more
  };
}

/** A server's memory of what is unseen in `a.ipynb`. */
export class UnseenServer implements UnseenClient {
  cells: UnseenCell[] = [];
  edits: HistoryEdit[] = [];
  /** The requests, in order. */
  requests: string[] = [];
  /** What each reply is, if it is an error. */
  failure: NbEditError | null = null;
  /** Replies wait for this. */
  release: Promise<void> = Promise.resolve();

  async getUnseen(path: string): Promise<UnseenReply> {
    return this._answer(`get ${path}`, () => this._reply(path));
  }

  async listUnseen(): Promise<readonly UnseenNotebook[]> {
    return this._answer('list', () => {
      const time = '2026-11-23T09:00:00Z';
      const { length } = this.edits;
      return length === 0 ? [] : [{ path: 'a.ipynb', edits: length, clients: ['Claude'], time }];
    });
  }

  async keep(path: string, keys?: readonly string[], until?: number): Promise<UnseenReply> {
    return this._answer(`keep ${keys?.join(' ') ?? 'all'} until ${until}`, () => {
      this._remove(keys);
      return this._reply(path);
    });
  }

  async undoCells(_: string, keys: readonly string[], until?: number): Promise<UndoneCells> {
    return this._answer(`undo ${keys.join(' ')} until ${until}`, () => {
      this._remove(keys);
      return { reply: { edit_id: 100 } as EditReply, keptKeys: [] };
    });
  }

  private async _answer<Answer>(request: string, reply: () => Answer): Promise<Answer> {
    this.requests.push(request);
    if (this.failure !== null) {
      throw this.failure;
    }
    const answer = reply();
    await this.release;
    return answer;
  }

  private _remove(keys: readonly string[] | undefined): void {
    this.cells = keys === undefined ? [] : this.cells.filter(({ key }) => !keys.includes(key));
    const ids = new Set(this.cells.flatMap(({ edit_ids }) => edit_ids));
    this.edits = this.edits.filter(({ edit_id }) => ids.has(edit_id));
  }

  private _reply(path: string): UnseenReply {
    const until = Math.max(0, ...this.edits.map(({ edit_id }) => edit_id));
    const { cells, edits } = this;
    return { path, hash: 'h', until, cells, edits, truncated: false };
  }
}
