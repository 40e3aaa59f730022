import type { AxeResults, RunOptions } from 'axe-core';
import type { Locator } from '@playwright/test';
import { readFileSync } from 'node:fs';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf-8');

/** Return the problems that axe-core finds in an element, by rule. */
export async function findViolations(element: Locator): Promise<string[]> {
  const page = element.page();
  if (!(await page.evaluate(() => 'axe' in window))) {
    await page.evaluate(AXE);
  }
  return element.evaluate(async element => {
    const { axe } = window as unknown as {
      axe: { run: (element: Element, options: RunOptions) => Promise<AxeResults> };
    };
    const { passes, violations } = await axe.run(element, {
      resultTypes: ['violations', 'passes']
    });
    if (passes.length === 0) {
      throw new Error('axe-core found nothing to look at.');
    }
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`
    );
  });
}
