import { join } from 'node:path';
import type { Operation } from './agent';
import { expect, test } from './fixtures';
import { makeCodeCell, makeHtmlOutput, makeMarkdownCell, formatNotebook } from './notebooks';
import { HistoryPanel } from './panel';

const PICTURE = join(__dirname, '..', '..', 'docs', 'screenshot.png');
const HISTORY = join(__dirname, '..', '..', 'docs', 'history.png');
const REVIEW = join(__dirname, '..', '..', 'docs', 'review.png');
const CONNECT = join(__dirname, '..', '..', 'docs', 'connect.png');

const TABLE = makeHtmlOutput(
  `<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th>
<th>mean</th><th>min</th><th>max</th></tr></thead><tbody>${[
    ['spring', '11.4', '2.1', '21.9'],
    ['summer', '19.8', '11.0', '33.2'],
    ['autumn', '10.2', '1.7', '20.4']
  ]
    .map(([season, ...values]) => `<tr><th>${season}</th><td>${values.join('</td><td>')}</td></tr>`)
    .join('\n')}</tbody></table>`
);

function makePlot() {
  const width = 560;
  const height = 190;
  const line = (phase: number, colour: string) => {
    const points = Array.from({ length: 57 }, (_, i) => {
      const y = height / 2 - 55 * Math.sin(i / 9 + phase) - 12 * Math.sin(i / 1.7);
      return `${30 + i * 9.3},${y.toFixed(1)}`;
    });
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`;
  };
  const grid = Array.from({ length: 5 }, (_, i) => {
    const y = 15 + i * 40;
    return `<line x1="30" y1="${y}" x2="${width - 8}" y2="${y}" stroke="#ddd"/>
<text x="24" y="${y + 4}" font-size="11" text-anchor="end" fill="#666">${30 - i * 10}</text>`;
  });
  return makeHtmlOutput(
    `<svg width="${width}" height="${height}" xmlns="http://www.w3.org/2000/svg">${grid.join('')}
${line(-1.4, '#1f77b4')}${line(-1.1, '#ff7f0e')}</svg>`
  );
}

test.use({
  mockSettings: {
    '@jupyterlab/apputils-extension:notification': { checkForUpdates: false, fetchNews: 'false' }
  }
});

test('The README’s picture: an edit that has just arrived @screenshot', async ({
  agent,
  folder,
  open,
  page
}) => {
  const cells = [
    makeMarkdownCell('title', '# Temperatures\nTwo stations, one year, a mean per week.'),
    makeCodeCell('load', 'weeks = load("stations.csv").resample("W").mean()', [], 1),
    makeCodeCell('plot', 'weeks.plot(figsize=(7, 2.4))', [makePlot()], 2),
    makeCodeCell(
      'seasons',
      'seasons = weeks.groupby(season_of)\nseasons.agg(["mean", "min", "max"])',
      [TABLE],
      3
    ),
    makeMarkdownCell('next', '## What is missing\nThe winter, and the wind.')
  ].map(cell => (cell.cell_type === 'code' ? { ...cell, metadata: { trusted: true } } : cell));
  const path = folder.getPath('temperatures.ipynb');
  await agent.writeContents(path, {
    type: 'notebook',
    format: 'json',
    content: JSON.parse(formatNotebook(cells))
  });
  const tab = await open('temperatures.ipynb');
  await page.sidebar.close('left');
  await page.evaluate(() => {
    for (const widget of window.jupyterapp.shell.widgets('main')) {
      if (widget.title.label === 'Launcher') {
        widget.close();
      }
    }
  });
  await tab.typeText(1, '  # as CSV');

  await agent.edit(
    path,
    [
      {
        op: 'insert',
        after: 'load',
        cell_type: 'code',
        source: 'weeks = weeks.interpolate(limit=2)  # two stations miss some days'
      },
      { op: 'replace', cell: 'next', source: '## What is missing\nThe winter. Days are filled in.' }
    ],
    'Data agent'
  );
  const toast = page.locator('.Toastify__toast');
  await expect(toast).toContainText('Data agent');
  await expect(tab.cell(2)).toHaveClass(/jp-nbedit-flash/);
  // The toast slides in, and the flash fades out: between the two.
  await page.waitForTimeout(500);
  await page.screenshot({ path: PICTURE });
});

test('The README’s picture: changes that are proposed @screenshot', async ({
  agent,
  folder,
  open,
  page
}) => {
  const cells = [
    makeMarkdownCell('title', '# Temperatures\nTwo stations, one year, a mean per week.'),
    makeCodeCell('load', 'weeks = load("stations.csv").resample("W").mean()', [], 1),
    makeCodeCell('cold', 'cold = weeks[weeks < 2]\nprint(len(cold), "cold weeks")', [], 2),
    makeMarkdownCell('next', '## What is missing\nThe winter, and the wind.')
  ];
  const path = folder.getPath('temperatures.ipynb');
  folder.write('temperatures.ipynb', formatNotebook(cells));
  const tab = await open('temperatures.ipynb');
  await page.sidebar.close('left');
  await page.evaluate(() => {
    for (const widget of window.jupyterapp.shell.widgets('main')) {
      if (widget.title.label === 'Launcher') {
        widget.close();
      }
    }
  });
  await agent.setMode(path, 'review');
  await agent.propose(
    path,
    [
      {
        op: 'insert',
        after: 'load',
        id: 'fill',
        cell_type: 'code',
        source: 'weeks = weeks.interpolate(limit=2)  # two stations miss some days'
      },
      {
        op: 'replace',
        cell: 'cold',
        source: 'cold = weeks[weeks < 0]  # frost\nprint(len(cold), "cold weeks")'
      },
      { op: 'replace', cell: 'next', source: '## What is missing\nThe wind.' }
    ],
    { message: 'Fill in missing days, and count frost only' }
  );
  await expect(tab.root.locator('.jp-nbedit-proposal')).toHaveCount(3);
  await tab.waitFrames(40);
  await tab.scrollTo(0);
  await page.screenshot({ path: REVIEW });
});

test('The README’s picture: who edited what @screenshot', async ({ agent, folder, open, page }) => {
  const path = folder.getPath('temperatures.ipynb');
  folder.write(
    'temperatures.ipynb',
    formatNotebook([
      makeMarkdownCell('title', '# Temperatures\nTwo stations, one year, a mean per week.'),
      makeCodeCell('load', 'import pandas as pd\nweeks = pd.read_csv("stations.csv")'),
      makeCodeCell('mean', 'weeks.temp.mean()'),
      makeMarkdownCell('next', '## What is missing\nThe winter, and the wind.')
    ])
  );
  const edit = async (operations: Operation[], client: string, message: string) =>
    agent.edit(path, operations, client, { message });
  await edit(
    [{ op: 'insert', after: 'mean', cell_type: 'code', source: 'weeks.plot(figsize=(7, 2))' }],
    'Plotting agent',
    'Show the year at a glance'
  );
  await edit(
    [{ op: 'replace', cell: 'next', source: '## What is missing\nNothing.' }],
    'Data agent',
    'The wind is there now'
  );
  await edit(
    [
      {
        op: 'replace',
        cell: 'load',
        source: 'import pandas as pd\nweeks = pd.read_csv("stations.csv", parse_dates=["week"])'
      },
      { op: 'replace', cell: 'mean', source: 'weeks.temperature.mean()' }
    ],
    'Data agent',
    'Go by the names that the file has now'
  );
  const tab = await open('temperatures.ipynb');
  await page.sidebar.close('left');
  const panel = new HistoryPanel(page);
  await panel.open();
  await page.sidebar.setWidth(480, 'right');
  await panel.rows.nth(1).hover();
  await panel.action(1, 'Undo').click();
  await expect(panel.rows).toHaveCount(4);
  await panel.toggle(1).click();
  await expect(panel.getCellDiffs(1).locator('.cm-content')).toHaveCount(2);
  await expect(tab.cell(4)).toContainText('The winter, and the wind.');
  await expect(tab.cell(4)).not.toHaveClass(/jp-nbedit-flash/);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: HISTORY });
});

test('A picture for the docs: how an agent is connected @screenshot', async ({
  agent,
  folder,
  page
}) => {
  folder.write('temperatures.ipynb', formatNotebook([makeCodeCell('load', 'weeks = 52')]));
  const edit = { op: 'replace', cell: 'load', source: 'weeks = 53' };
  await agent.edit(folder.getPath('temperatures.ipynb'), [edit], 'Claude Code');
  await page.setViewportSize({ width: 1280, height: 930 });
  await page.goto('');
  await page.sidebar.close('left');
  // The path of this environment says nothing to readers.
  await page.route('**/nbedit/agents?*', async route => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(process.env.NBEDIT_ENV!, '/home/you/venv');
    await route.fulfill({ response, body });
  });
  await page.evaluate(async () => {
    await window.jupyterapp.commands.execute('nbedit:connect-agent');
  });
  const panel = page.locator('#nbedit-connect');
  await panel.getByRole('tab', { name: 'Cursor' }).click();
  await panel.getByRole('tab', { name: 'Claude Code' }).click();
  await panel.getByRole('button', { name: 'Test the MCP endpoint' }).click();
  await panel.getByText('It answers').waitFor();
  await panel.getByRole('listitem').filter({ hasText: 'Claude Code' }).waitFor();
  await page.screenshot({ path: CONNECT });
});
