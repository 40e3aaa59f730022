/**
 * Opens notebooks in Chromium and says when they and edits are visible: `node pages.mjs CHROMIUM`.
 *
 * It reads one command a line from its input, as JSON, and answers each by one line of JSON. It
 * measures no time but the browser's own: the program that sends the edits compares the clocks.
 */
/* global MessageChannel, MutationObserver, PerformanceObserver, performance, process */
/* global requestAnimationFrame, requestIdleCallback, setTimeout, URL */
import { createInterface } from 'node:readline';
import { chromium } from '@playwright/test';

const EDITED = 'edited-cell';
const VIEWPORT = { width: 1280, height: 800 };
const TIMEOUT = 300_000;
/** The page is at rest when nothing was fetched and no task was long for so many milliseconds. */
const REST = 700;

/** An open notebook, in a page and a browser context of its own. */
class OpenPage {
  /**
   * @param {import('@playwright/test').Page} page
   * @param {import('@playwright/test').CDPSession} session
   */
  constructor(page, session) {
    this.page = page;
    this.session = session;
    /** @type {Map<string, { address: string, method: string, bytes: number }>} */
    this.requests = new Map();
    this.socketBytes = 0;
    this.lastTraffic = 0;
    session.on('Network.requestWillBeSent', ({ requestId, request }) => {
      this.lastTraffic = Date.now();
      this.requests.set(requestId, { address: request.url, method: request.method, bytes: 0 });
    });
    session.on('Network.dataReceived', () => {
      this.lastTraffic = Date.now();
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      this.lastTraffic = Date.now();
      const request = this.requests.get(requestId);
      if (request) {
        request.bytes = encodedDataLength;
      }
    });
    session.on('Network.webSocketFrameReceived', ({ response }) => {
      this.socketBytes += response.payloadData.length;
    });
  }

  /**
   * @param {import('@playwright/test').Browser} browser
   * @param {{ url: string, token: string, path: string }} place
   */
  static async open(browser, { url, token, path }) {
    const { page, session } = await openLab(browser, url, token);
    await page.evaluate(openNotebook, { path, cell: EDITED });
    await session.send('Network.enable');
    const open = new OpenPage(page, session);
    await open.rest();
    return open;
  }

  /** Wait until the page does nothing. */
  async rest() {
    this.lastTraffic = Date.now();
    for (let quiet = 0; quiet < REST;) {
      const last = await this.page.evaluate(
        () =>
          new Promise(resolve => requestIdleCallback(() => resolve(globalThis.nbedit.lastTask())))
      );
      quiet = Date.now() - Math.max(this.lastTraffic, Number(last));
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }

  /** @param {string} text what the edit brings in */
  async watch(text) {
    this.requests.clear();
    this.socketBytes = 0;
    await this.page.evaluate(text => globalThis.nbedit.watch(text), text);
  }

  async wait() {
    const paintedAt = await this.page.evaluate(async () => globalThis.nbedit.painted);
    await this.rest();
    const tasks = await this.page.evaluate(() => globalThis.nbedit.tasks.splice(0));
    return {
      paintedAt,
      tasks,
      socketBytes: this.socketBytes,
      requests: [...this.requests.values()].map(({ address, method, bytes }) => ({
        method,
        address: address.replace(/^https?:\/\/[^/]*/, ''),
        bytes
      }))
    };
  }

  async close() {
    await this.page.context().close();
    return null;
  }
}

/** @param {import('@playwright/test').CDPSession} session */
async function startProfile(session) {
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: 500 });
  await session.send('Profiler.start');
}

/** @param {import('@playwright/test').CDPSession} session */
async function stopProfile(session) {
  const { profile } = await session.send('Profiler.stop');
  await session.send('Profiler.disable');
  return profile;
}

/**
 * Open JupyterLab without a document, in a browser context of its own.
 *
 * @param {import('@playwright/test').Browser} browser
 * @param {string} url
 * @param {string} token
 */
async function openLab(browser, url, token) {
  const context = await browser.newContext({ viewport: VIEWPORT });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  await page.goto(`${url}/lab?token=${token}&reset`);
  await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
  return { page, session: await context.newCDPSession(page) };
}

/**
 * Measure how a new page of JupyterLab opens a notebook.
 *
 * @param {import('@playwright/test').Browser} browser
 * @param {{ url: string, token: string, path: string, isMarked: boolean, isProfiled: boolean }}
 *   place
 */
async function measureOpening(browser, { url, token, path, isMarked, isProfiled }) {
  const { page, session } = await openLab(browser, url, token);
  try {
    // What JupyterLab loads by itself is over.
    await page.waitForTimeout(2 * REST);
    await session.send('Performance.enable');
    /** @type {string[]} */
    const requests = [];
    page.on('request', request => {
      requests.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    const getWork = async () => {
      const { metrics } = await session.send('Performance.getMetrics');
      return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
    };
    if (isProfiled) {
      await startProfile(session);
    }
    const workBefore = await getWork();
    const { drawn, marked } = await page.evaluate(drawNotebook, { path, isMarked });
    const workUntilMarked = (await getWork()) - workBefore;
    // JupyterLab makes the editors of cells out of sight when it finds time.
    await page.evaluate(waitForEditors);
    await page.waitForTimeout(REST);
    const work = (await getWork()) - workBefore;
    const profile = isProfiled ? await stopProfile(session) : null;
    return { drawn, marked, workUntilMarked, work, requests, profile };
  } finally {
    await page.context().close();
  }
}

/**
 * Open a notebook without a kernel.
 *
 * @param {{ path: string, isMarked: boolean }} place
 * @returns {Promise<{ drawn: number, marked: number }>} How long it took until the cells in sight
 *   were painted with their editors and, if there are changes to mark, until they had marks (or the
 *   differences of proposals) and the notebook its bar; in milliseconds.
 */
async function drawNotebook({ path, isMarked }) {
  const app = globalThis.jupyterapp;
  await app.restored;
  const factory = app.docRegistry.getWidgetFactory('Notebook');
  Object.defineProperty(factory, 'preferKernel', { value: false, configurable: true });
  const start = performance.now();
  const panel = await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
  await panel.context.ready;
  await panel.revealed;
  const isInSight = (/** @type {Element} */ node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return bottom > 0 && top < globalThis.innerHeight && bottom > top;
  };
  const isDrawn = () => {
    const cells = [...panel.node.querySelectorAll('.jp-Cell')].filter(isInSight);
    return (
      cells.length > 0 &&
      cells.every(cell => cell.querySelector('.cm-content, .jp-MarkdownOutput') !== null)
    );
  };
  const hasMarks = () => {
    const selector = '.jp-nbedit-mark, .jp-nbedit-proposal .cm-content, .jp-nbedit-bar';
    const marks = [...panel.node.querySelectorAll(selector)];
    return marks.filter(isInSight).length > 1;
  };
  const waitUntil = async (/** @type {() => boolean} */ isReached) => {
    while (!isReached()) {
      await new Promise(resolve => requestAnimationFrame(resolve));
    }
    await new Promise(resolve => requestAnimationFrame(resolve));
    return performance.now() - start;
  };
  const drawn = await waitUntil(isDrawn);
  return { drawn, marked: await waitUntil(() => isDrawn() && (!isMarked || hasMarks())) };
}

/** Wait until all cells of the open notebook have their editors. */
async function waitForEditors() {
  const { content } = globalThis.jupyterapp.shell.currentWidget;
  while (
    content.widgets.some((/** @type {{ isPlaceholder: () => boolean }} */ cell) =>
      cell.isPlaceholder()
    )
  ) {
    await new Promise(resolve => setTimeout(resolve, 200));
  }
}

/**
 * Open a notebook without a kernel, scroll to the cell, and start to watch the page.
 *
 * @param {{ path: string, cell: string }} place
 */
async function openNotebook({ path, cell }) {
  const app = globalThis.jupyterapp;
  await app.restored;
  const factory = app.docRegistry.getWidgetFactory('Notebook');
  Object.defineProperty(factory, 'preferKernel', { value: false, configurable: true });
  const panel = await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
  await panel.context.ready;
  await panel.revealed;
  const { content } = panel;
  const index = content.widgets.findIndex(
    (/** @type {{ model: { id: string } }} */ { model }) => model.id === cell
  );
  // JupyterLab makes the editors of cells out of sight when it finds time, also in the mode "full".
  while (
    content.widgets.some((/** @type {{ isPlaceholder: () => boolean }} */ cell) =>
      cell.isPlaceholder()
    )
  ) {
    await new Promise(resolve => setTimeout(resolve, 200));
  }
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
  // JupyterLab lays cells out over many frames, and scrolls meanwhile.
  for (let still = 0, before = -1; still < 30;) {
    await content.scrollToItem(index, 'center');
    await frame();
    const { top } = content.widgets[index].node.getBoundingClientRect();
    still = top === before && content.widgets[index].node.isConnected ? still + 1 : 0;
    before = top;
  }
  content.activeCellIndex = index;

  /** @type {{ start: number, duration: number }[]} */
  const tasks = [];
  new PerformanceObserver(list => {
    for (const { startTime, duration } of list.getEntries()) {
      tasks.push({ start: performance.timeOrigin + startTime, duration });
    }
  }).observe({ type: 'longtask' });
  globalThis.nbedit = {
    tasks,
    painted: null,
    lastTask: () => (tasks.length === 0 ? 0 : tasks.at(-1).start + tasks.at(-1).duration),
    /** @param {string} text */
    watch(text) {
      tasks.length = 0;
      this.painted = new Promise(resolve => {
        const observer = new MutationObserver(() => {
          if (
            content.widgets[index].node.querySelector('.cm-content')?.textContent.includes(text)
          ) {
            observer.disconnect();
            // The next frame shows it; what comes right after that frame knows that it was made.
            requestAnimationFrame(() => {
              const { port1, port2 } = new MessageChannel();
              port1.onmessage = () => resolve(performance.timeOrigin + performance.now());
              port2.postMessage(null);
            });
          }
        });
        observer.observe(content.node, { childList: true, characterData: true, subtree: true });
      });
    }
  };
}

const browser = await chromium.launch({
  executablePath: process.argv[2],
  args: ['--enable-precise-memory-info']
});
/** @type {Map<string, OpenPage>} */
const pages = new Map();

/** @param {any} command */
async function execute({ name, page: key, ...rest }) {
  if (name === 'open') {
    pages.set(key, await OpenPage.open(browser, rest));
    return null;
  }
  if (name === 'measureOpening') {
    return measureOpening(browser, rest);
  }
  const page = /** @type {OpenPage} */ (pages.get(key));
  switch (name) {
    case 'watch':
      return page.watch(rest.text);
    case 'wait':
      return page.wait();
    case 'startProfile':
      return startProfile(page.session);
    case 'stopProfile':
      return stopProfile(page.session);
    case 'close':
      pages.delete(key);
      return page.close();
    default:
      throw new Error(`There is no command ${name}.`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await execute(JSON.parse(line)).then(
    result => ({ result: result ?? null }),
    error => ({ error: String(error.stack ?? error) })
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
