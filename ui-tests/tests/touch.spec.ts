import type { Locator } from '@playwright/test';
import { expect, test } from './fixtures';
import { showEverything } from './shown_elements';

/** In pixels, as WCAG 2.2 has it. */
const MIN_SIZE = 24;
const TARGETS = 'button, a, input, select, summary, [role="button"], .cm-collapsedLines';

/** Return what is wrong with the targets in an element, and with itself if it is one. */
async function findBadTargets(element: Locator): Promise<string[]> {
  return element.evaluate(
    (element, { minSize, selector }) => {
      const all = [element, ...element.querySelectorAll(selector)];
      return all.flatMap(target => {
        if (!target.matches(selector) || !target.checkVisibility({ visibilityProperty: true })) {
          return [];
        }
        target.scrollIntoView({ block: 'center' });
        const { left, top, width, height } = target.getBoundingClientRect();
        const hit = document.elementFromPoint(left + width / 2, top + height / 2);
        const name = `${target.outerHTML.slice(0, 100)} "${target.textContent}"`;
        return [
          ...(Math.min(width, height) < minSize ? [`${name}: ${width} x ${height}`] : []),
          // A toast goes by itself.
          ...(target.contains(hit) || hit?.closest('.Toastify')
            ? []
            : [`${name}: below ${hit?.outerHTML.slice(0, 100)}`])
        ];
      });
    },
    { minSize: MIN_SIZE, selector: TARGETS }
  );
}

test.use({
  hasTouch: true,
  isMobile: true,
  mockSettings: { '@jupyterlab/notebook-extension:tracker': { windowingMode: 'defer' } }
});

for (const [device, width, height] of [
  ['a tablet', 1180, 820],
  ['a small tablet', 700, 1000]
] as const) {
  test.describe(device, () => {
    test.use({ viewport: { width, height } });

    test(`a finger can hit every button and link of ours on ${device} @nightly`, async ({
      agent,
      dialogs,
      folder,
      open,
      page
    }) => {
      await page.goto('');
      const isFinger = await page.evaluate(() => matchMedia('(pointer: coarse)').matches);
      expect(isFinger).toBe(true);
      const problems: Record<string, string[]> = {};
      let count = 0;
      await showEverything({ agent, dialogs, folder, open, page }, async (name, elements) => {
        await expect(elements.first(), name).toBeVisible();
        for (const element of await elements.all()) {
          count += await element.locator(TARGETS).count();
          const found = await findBadTargets(element);
          if (found.length > 0) {
            problems[name] = [...(problems[name] ?? []), ...found];
          }
        }
      });
      expect(problems).toEqual({});
      expect(count).toBeGreaterThan(100);
    });
  });
}
