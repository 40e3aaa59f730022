import type * as nbformat from '@jupyterlab/nbformat';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A test's own folder below the server's root: names in, bytes on disk out. */
export class Folder {
  constructor(
    private readonly root: string,
    private readonly folder: string
  ) {}

  /** The path as the server's APIs know it. */
  path(name: string): string {
    return `${this.folder}/${name}`;
  }

  write(name: string, text: string): void {
    const file = join(this.root, this.folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  remove(name: string): void {
    rmSync(join(this.root, this.folder, name));
  }

  text(name: string): string {
    return readFileSync(join(this.root, this.folder, name), 'utf-8');
  }

  notebook(name: string): nbformat.INotebookContent {
    return JSON.parse(this.text(name)) as nbformat.INotebookContent;
  }

  sources(name: string): string[] {
    return this.notebook(name).cells.map(cell => joined(cell.source));
  }
}

/** nbformat allows a text to be written as a list of its lines. */
export function joined(text: nbformat.MultilineString): string {
  return Array.isArray(text) ? text.join('') : text;
}
