import { expect, type JSHandle, type Page } from '@playwright/test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from './agent';

/** Where the server keeps copies of open notebooks; see docs/operate.md. */
const COPIES = join(process.env.NBEDIT_ROOT!, '..', 'data', 'nbedit');

const CHANGE_SCHEMA = 'https://schema.jupyter.org/jupyter_nbedit/change/v1';

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
      { schema: CHANGE_SCHEMA, path }
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

/** Wait until the server knows the version of an open notebook: earlier changes have no undo. */
export async function waitUntilFollowed(text: string): Promise<void> {
  await expect.poll(() => listCopies().includes(text)).toBe(true);
}

function listCopies(): string[] {
  const folders = existsSync(COPIES) ? readdirSync(COPIES) : [];
  return folders
    .filter(name => name.startsWith('versions-'))
    .flatMap(name => readdirSync(join(COPIES, name)).map(copy => join(COPIES, name, copy)))
    .flatMap(file => (existsSync(file) ? [readFileSync(file, 'utf-8')] : []));
}
