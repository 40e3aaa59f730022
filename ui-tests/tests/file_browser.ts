import type { Page } from '@playwright/test';

/** Show a folder in the file browser; Galata's own function does not end in JupyterLab 4.2. */
export async function showFolder(page: Page, path: string): Promise<void> {
  await page.evaluate(
    async path => {
      await window.jupyterapp.commands.execute('filebrowser:open-path', { path });
    },
    path.replace(/\/$/, '')
  );
}
