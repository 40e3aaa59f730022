import type * as nbformat from '@jupyterlab/nbformat';
import type { TestInfo } from '@playwright/test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The folder of a test below the server's root: names to bytes on disk. */
export class Folder {
  constructor(
    private readonly root: string,
    private readonly folder: string
  ) {}

  /** Return the folder that only this test has, also if it is repeated at the same time. */
  static ofTest({ outputDir }: TestInfo): Folder {
    return new Folder(process.env.NBEDIT_ROOT!, basename(outputDir));
  }

  /** Return the path in the server's APIs. */
  getPath(name: string): string {
    return `${this.folder}/${name}`;
  }

  /** Return the path on disk. */
  getFile(name: string): string {
    return join(this.root, this.folder, name);
  }

  write(name: string, text: string): void {
    const file = this.getFile(name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  remove(name: string): void {
    rmSync(this.getFile(name));
  }

  readText(name: string): string {
    return readFileSync(this.getFile(name), 'utf-8');
  }

  readNotebook(name: string): nbformat.INotebookContent {
    return JSON.parse(this.readText(name)) as nbformat.INotebookContent;
  }

  readSources(name: string): string[] {
    return this.readNotebook(name).cells.map(cell => joinLines(cell.source));
  }
}

/** In nbformat, a text may be a list of its lines. */
export function joinLines(text: nbformat.MultilineString): string {
  return Array.isArray(text) ? text.join('') : text;
}
