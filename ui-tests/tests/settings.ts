import type { Page } from '@playwright/test';

const OURS = 'jupyter-nbedit:plugin';

/** Change settings of ours as the settings editor does; they hold when it returns. */
export async function set(page: Page, values: Record<string, unknown>): Promise<void> {
  await page.evaluate(
    async ({ plugin, values }) => {
      const registry = await window.galata.getPlugin('@jupyterlab/apputils-extension:settings');
      for (const [name, value] of Object.entries(values)) {
        await registry!.set(plugin, name, value as never);
      }
    },
    { plugin: OURS, values }
  );
}
