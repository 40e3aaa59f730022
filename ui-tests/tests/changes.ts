import { expect, type JSHandle, type Page } from '@playwright/test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from './agent';
import type { Folder } from './folder';
import { formatNotebook, makeCodeCell } from './notebooks';

/** Where the server keeps copies of open notebooks; see docs/operate.md. */
const COPIES = join(process.env.NBEDIT_ROOT!, '..', 'data', 'nbedit');

const OUTSIDE_CHANGE_SCHEMA = 'urn:jupyter-nbedit:outside-change:v1';

/** An event about a file that was changed without the server. */
export interface ChangeEvent {
  path: string;
  kind: 'changed' | 'deleted' | 'renamed' | 'unreadable';
  is_outside: boolean;
  hash_before: string | null;
  hash: string | null;
  edit_id: number | null;
  cells: { op: string; cell_id: string | null; index: number }[];
}

interface Entry {
  edit_id: number;
  kind: string;
  hash_before: string | null;
  hash: string;
  undoable: boolean;
  cells_changed: number;
}

/** Collects the events that a page gets about one notebook. */
export class ChangeEvents {
  private constructor(private readonly events: JSHandle<ChangeEvent[]>) {}

  static async watch(page: Page, path: string): Promise<ChangeEvents> {
    const events = await page.evaluateHandle(
      ({ schema, path }) => {
        const events: ChangeEvent[] = [];
        window.jupyterapp.serviceManager.events.stream.connect((_, emission) => {
          if (emission.schema_id === schema && emission.path === path) {
            events.push(emission as unknown as ChangeEvent);
          }
        });
        return events;
      },
      { schema: OUTSIDE_CHANGE_SCHEMA, path }
    );
    return new ChangeEvents(events);
  }

  /** Return all events so far, oldest first. */
  async list(): Promise<ChangeEvent[]> {
    return this.events.jsonValue();
  }

  /**
   * Return the events about new versions, oldest first: if a program takes long to write the file,
   * the server also tells that it is missing or unreadable.
   */
  async listVersions(): Promise<ChangeEvent[]> {
    return (await this.list()).filter(({ kind }) => kind === 'changed' || kind === 'renamed');
  }
}

/** Return the history's entries of changes without the server, oldest first. */
export async function listOutsideEntries(agent: Agent, path: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let before: number | null = null; ;) {
    const query = before === null ? '' : `&before=${before}`;
    const address = `/nbedit/notebooks/${encodeURI(path)}/history?limit=100${query}`;
    const page = (await agent.get(address)) as { edits: Entry[]; next: number | null };
    entries.push(...page.edits);
    before = page.next;
    if (before === null) {
      return entries.filter(({ kind }) => kind === 'outside').reverse();
    }
  }
}

/** A notebook that no page shows: with it a test sees that the server has looked at all files. */
export class WatchedFile {
  private count = 0;

  private constructor(private readonly folder: Folder) {}

  /** Report it to the server as open; `page` may be any page of this test. */
  static async open(page: Page, folder: Folder): Promise<WatchedFile> {
    const file = new WatchedFile(folder);
    file.write();
    await page.evaluate(path => {
      const { wsUrl } = window.jupyterapp.serviceManager.serverSettings;
      const socket = new WebSocket(`${wsUrl}nbedit/tabs`);
      socket.onopen = () => socket.send(JSON.stringify({ tabs: { [path]: 1 } }));
    }, folder.getPath(WatchedFile.NAME));
    await waitUntilFollowed(file.read());
    return file;
  }

  /** Wait until the server has looked at all open notebooks since this call. */
  async waitForLook(): Promise<void> {
    // The look that finds the first change may have begun before this call; the next one has not.
    for (let changes = 0; changes < 2; changes++) {
      this.write();
      await waitUntilFollowed(this.read());
    }
  }

  private read(): string {
    return this.folder.readText(WatchedFile.NAME);
  }

  private write(): void {
    const source = `${this.folder.getPath(WatchedFile.NAME)} ${++this.count}`;
    this.folder.write(WatchedFile.NAME, formatNotebook([makeCodeCell('one', source)]));
  }

  private static readonly NAME = 'watched.ipynb';
}

/** Wait until the server knows the version of an open notebook: earlier changes have no undo. */
export async function waitUntilFollowed(text: string): Promise<void> {
  await expect.poll(() => listCopies().includes(text)).toBe(true);
}

function listCopies(): string[] {
  const folders = existsSync(COPIES) ? readdirSync(COPIES) : [];
  return folders
    .filter(name => name.startsWith('versions-'))
    .flatMap(name => readdirSync(join(COPIES, name)).map(copy => join(COPIES, name, copy)))
    .flatMap(readIfPresent);
}

/** The server removes a copy when it has a newer one, and when a notebook is closed. */
function readIfPresent(file: string): string[] {
  try {
    return [readFileSync(file, 'utf-8')];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
}
