import type { Page } from '@playwright/test';

const PLUGIN_ID = 'jupyter-nbedit:plugin';

/** Change our settings as the settings editor does; they apply when it returns. */
export async function changeSettings(page: Page, values: Record<string, unknown>): Promise<void> {
  await page.evaluate(
    async ({ plugin, values }) => {
      const registry = await window.galata.getPlugin('@jupyterlab/apputils-extension:settings');
      for (const [name, value] of Object.entries(values)) {
        await registry!.set(plugin, name, value as never);
      }
    },
    { plugin: PLUGIN_ID, values }
  );
}
