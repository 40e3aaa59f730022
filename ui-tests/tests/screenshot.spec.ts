import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { Demo } from './demo';
import { MovingPicture } from './moving_picture';
import { expect, test } from './fixtures';
import { getToasts, runCommand } from './lab';
import { makeCodeCell, replace } from './notebooks';
import { HistoryPanel } from './panel';

const PICTURE = join(__dirname, '..', '..', 'docs', 'screenshot.png');
const HISTORY = join(__dirname, '..', '..', 'docs', 'history.png');
const REVIEW = join(__dirname, '..', '..', 'docs', 'review.png');
const CONNECT = join(__dirname, '..', '..', 'docs', 'connect.png');

/** Where the frames of the moving picture go; `python ui-tests --screenshot` makes it of them. */
const FRAMES = join(process.env.NBEDIT_RESULTS!, 'frames');

test('The README’s pictures: what a person does in the demo @screenshot', async ({ browser }) => {
  const demo = await Demo.start();
  // As wide as a README is shown, so that the text of the pictures can be read.
  const page = await browser.newPage({ viewport: { width: 1000, height: 680 } });
  try {
    await page.goto(demo.address);
    await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
    const notebook = page.locator('.jp-NotebookPanel');
    await notebook.getByRole('heading', { name: 'Rain in four cities' }).waitFor();
    await notebook.getByText('Python 3 (ipykernel)').waitFor();
    await page.keyboard.press('Control+b');
    // The kernel has added its language: without this save the tab looks changed by a person.
    await expect(notebook).toContainText('Idle');
    await page.keyboard.press('Control+s');
    await page.getByText('Saving completed').waitFor();
    await page.getByText('Saving completed').waitFor({ state: 'detached' });
    const picture = await MovingPicture.start(page, FRAMES);
    await playPerson(page, notebook, demo, picture);
  } finally {
    await page.close();
    await demo.stop();
  }
});

/** Do what the hints of the demo say. */
async function playPerson(
  page: Page,
  notebook: Locator,
  demo: Demo,
  picture: MovingPicture
): Promise<void> {
  const cells = notebook.locator('.jp-Notebook-cell');
  const getCell = (text: string) => cells.filter({ hasText: text });
  const bar = notebook.getByRole('region', { name: 'Changes by agents' });
  const toast = getToasts(page);
  const startStep = async (step: number) => {
    await demo.goOn();
    await picture.setCaption(await demo.waitForStep(step));
  };

  await picture.show(900);
  await startStep(1);
  await expect(bar).toContainText('changed 3 cells');
  await toast.waitFor();
  await picture.show(1500);
  await picture.click(getCell('sorted(').locator('.jp-nbedit-mark'));
  await expect(notebook.locator('.jp-nbedit-change .jp-nbedit-diff')).toContainText('sorted');
  await picture.show(1800);
  await picture.press('N', 'undo');
  await picture.show(600);
  await picture.press('Y', 'keep');
  await expect(bar).toContainText('changed 1 cell');
  await picture.show(900);

  await startStep(2);
  const line = notebook.locator('.jp-nbedit-line');
  await expect(line).toContainText('deleted 1 cell');
  await picture.show(1500);
  await picture.takePicture(PICTURE);
  await picture.click(line.getByRole('button', { name: 'Restore' }));
  await expect(line).toHaveCount(0);
  await picture.show(1200);

  await picture.click(cells.last().locator('.jp-InputArea-editor .cm-line').last());
  await startStep(3);
  await picture.type('sum(rain');
  await demo.goOn();
  await picture.type('.values()');
  await demo.goOn();
  await picture.type(') / len(rain)');
  await expect(getCell('Which cities get more than 1000 mm?')).toBeVisible();
  await picture.show(900);
  await picture.click(bar.getByRole('button', { name: 'Keep all' }));
  await expect(bar).toBeHidden();
  await picture.show(450);
  await expect(toast).toHaveCount(0);

  await startStep(4);
  const blocks = notebook.locator('.jp-nbedit-proposal');
  await expect(blocks).toHaveCount(3);
  await picture.show(1200);
  await picture.takePicture(REVIEW);
  await picture.press('Alt+F5', 'go to the next change');
  await expect(bar).toContainText('1 of 3');
  await picture.show(900);
  for (const [key, meaning] of [
    ['Y', 'accept'],
    ['Y', 'accept'],
    ['N', 'reject']
  ]) {
    const count = await blocks.count();
    await picture.press(key, meaning);
    await expect(blocks).toHaveCount(count - 1);
    await picture.show(750);
  }

  await expect(toast).toHaveCount(0);

  await startStep(5);
  await picture.click(page.getByRole('menuitem', { name: 'View', exact: true }));
  await picture.show(300);
  await picture.click(page.getByRole('menuitem', { name: 'Show Edit History' }));
  const history = new HistoryPanel(page);
  await history.rows.first().waitFor();
  await picture.show(300);
  await picture.drag(
    page.locator('#jp-main-split-panel > .lm-SplitPanel-handle:not(.lm-mod-hidden)').last(),
    -150
  );
  await picture.click(history.toggle(2));
  await history.getCellDiffs(2).first().waitFor();
  await picture.show(900);
  await picture.takePicture(HISTORY);
  await picture.click(history.action(2, 'Undo'));
  await expect(notebook.getByRole('heading', { name: 'Which cities are wet?' })).toBeVisible();
  await picture.show(1200);
}

test('A picture for the docs: how an agent is connected @screenshot', async ({ create, page }) => {
  const notebook = create([makeCodeCell('load', 'weeks = 52')], 'temperatures.ipynb');
  const edit = replace('load', 'weeks = 53');
  await notebook.edit([edit], 'Claude Code');
  await page.setViewportSize({ width: 1280, height: 930 });
  await page.goto('');
  await page.sidebar.close('left');
  // The path of this environment says nothing to readers.
  await page.route('**/nbedit/agents?*', async route => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(process.env.NBEDIT_ENV!, '/home/you/venv');
    await route.fulfill({ response, body });
  });
  await runCommand(page, 'nbedit:connect-agent');
  const panel = page.locator('#nbedit-connect');
  await panel.getByRole('tab', { name: 'Cursor' }).click();
  await panel.getByRole('tab', { name: 'Claude Code' }).click();
  await panel.getByRole('button', { name: 'Test the MCP endpoint' }).click();
  await panel.getByText('It answers').waitFor();
  await panel.getByRole('listitem').filter({ hasText: 'Claude Code' }).waitFor();
  await page.screenshot({ path: CONNECT });
});
