import type { LabShell } from '@jupyterlab/application';
import type { FileBrowser } from '@jupyterlab/filebrowser';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import { galata, test as galataTest } from '@jupyterlab/galata';
import type { APIRequestContext, BrowserContext, Page } from '@playwright/test';
import { expect } from '@playwright/test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from './agent';
import { Folder } from './folder';
import { Notebook } from './notebook';
import type { CellJson } from './notebooks';
import { Tab } from './tab';

export { expect };

const url = process.env.TARGET_URL!;
const token = process.env.NBEDIT_TOKEN!;
const root = process.env.NBEDIT_ROOT!;

export interface TestArgs {
  /** Edits from outside: HTTP with the token, in the process of the test. */
  agent: Agent;
  /** The folder of the test below the server's root. */
  folder: Folder;
  /** Open a notebook of that folder, by default without a kernel. */
  open: (name: string, options?: { kernel?: boolean; page?: Page }) => Promise<Tab>;
  /** Write a notebook to that folder, by default with a name of its own. */
  create: (content: string | CellJson[], name?: string) => Notebook;
  /** Write a notebook and open it. */
  openWith: (
    content: string | CellJson[],
    options?: { name?: string; kernel?: boolean }
  ) => Promise<{ notebook: Notebook; tab: Tab }>;
  /** Open another browser with its own JupyterLab. */
  anotherWindow: () => Promise<IJupyterLabPageFixture>;
  /**
   * Whether a test of the day uses one page with others, in turns, which saves the starts of
   * JupyterLab. What it has opened is closed after it. Tests that reload the page, change its
   * clock or follow its start have one of their own, as have those with settings or `@nightly`.
   */
  sharesPage: boolean;
  /** Whether pages load the extension of `example`, once it is installed. */
  withExample: boolean;
  /** The texts of all dialogs so far, in any window. A test fails if it leaves one. */
  dialogs: string[];
}

interface WorkerArgs {
  login: { name: string; value: string; url: string }[];
  sharedWindow: SharedWindow;
}

/** The browser window of tests that share a page, and the test that uses it now. */
interface SharedWindow {
  context: BrowserContext | null;
  /**
   * What its file browser shows between tests. A listing of the root fails with 404, and a dialog,
   * if the folder of another test is deleted at the same time.
   */
  idleFolder: string;
  currentTest: CurrentTest;
}

/** What the handlers of a window need to know of the test that uses it. */
interface CurrentTest {
  dialogs: string[];
  folder: string;
}

const VIEWPORT = { width: 1280, height: 800 };

/** Replaces the example: a module without plugins. */
const NO_PLUGINS = `
  (window._JUPYTERLAB ??= {})['nbedit-example'] = {
    init: () => undefined,
    get: async () => () => ({ __esModule: true, default: [] })
  };
`;

/** Galata's test, but logged in by cookies as users are, so that XSRF checks stay on. */
export const test = galataTest.extend<TestArgs, WorkerArgs>({
  login: [
    async ({}, use) => {
      const answer = await fetch(`${url}/lab?token=${token}`, { redirect: 'manual' });
      await answer.body?.cancel();
      const cookies = answer.headers.getSetCookie().map(line => {
        const pair = line.split(';')[0];
        const at = pair.indexOf('=');
        return { name: pair.slice(0, at), value: pair.slice(at + 1), url: `${url}/` };
      });
      expect(cookies, 'the token logs in').not.toHaveLength(0);
      await use(cookies);
    },
    { scope: 'worker' }
  ],
  sharedWindow: [
    async ({}, use, { workerIndex }) => {
      const idleFolder = `idle-${workerIndex}`;
      mkdirSync(join(root, idleFolder), { recursive: true });
      const currentTest = { dialogs: [], folder: '' };
      const window: SharedWindow = { context: null, idleFolder, currentTest };
      await use(window);
      await window.context?.unrouteAll({ behavior: 'ignoreErrors' });
      await window.context?.close();
    },
    { scope: 'worker' }
  ],
  withExample: [false, { option: true }],
  sharesPage: [true, { option: true }],
  context: async (
    {
      browser,
      context,
      login,
      dialogs,
      mockSettings,
      sharedWindow,
      sharesPage,
      tmpPath,
      viewport,
      withExample
    },
    use,
    testInfo
  ) => {
    const hasOptions =
      withExample ||
      mockSettings !== galata.DEFAULT_SETTINGS ||
      viewport?.width !== VIEWPORT.width ||
      viewport.height !== VIEWPORT.height;
    if (sharesPage && !hasOptions && !testInfo.tags.includes('@nightly')) {
      Object.assign(sharedWindow.currentTest, { dialogs, folder: tmpPath });
      if (sharedWindow.context === null) {
        sharedWindow.context = await browser.newContext({ viewport: VIEWPORT });
        await prepareContext(sharedWindow.context, login, sharedWindow.currentTest, false);
      }
      await use(sharedWindow.context);
      return;
    }
    await prepareContext(context, login, { dialogs, folder: tmpPath }, withExample);
    await use(context);
    await context.unrouteAll({ behavior: 'ignoreErrors' });
  },
  page: async (
    {
      context,
      kernels,
      mockConfig,
      mockSettings,
      mockState,
      mockUser,
      resetWorkspace,
      sessions,
      sharedWindow,
      terminals,
      tmpPath,
      waitForApplication
    },
    use,
    testInfo
  ) => {
    const [openPage] = context.pages() as (Page | undefined)[];
    const isShared = context === sharedWindow.context;
    const { idleFolder } = sharedWindow;
    const preparePage = async (page: Page) =>
      galata.initTestPage(
        '/lab',
        false,
        url,
        mockConfig,
        mockSettings,
        isShared ? { 'file-browser-filebrowser:cwd': { path: idleFolder } } : mockState,
        mockUser,
        page,
        sessions,
        terminals,
        tmpPath,
        waitForApplication,
        kernels,
        resetWorkspace
      );
    const page = await preparePage(openPage ?? (await context.newPage()));
    await use(page);
    if (page.isClosed()) {
      return;
    }
    // Those of the test as well.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    // After a failure Playwright goes on with another process, and so another window.
    if (isShared && testInfo.status === testInfo.expectedStatus) {
      await closeAll(await preparePage(page), idleFolder);
    }
  },
  // Galata makes folders and stops kernels with this request context, which has no cookies.
  request: async ({ playwright }, use) => {
    const headers = { Authorization: `token ${token}` };
    const request = await playwright.request.newContext({
      baseURL: url,
      extraHTTPHeaders: headers
    });
    await use(withBaseUrl(url, request));
    await request.dispose();
  },
  autoGoto: false,
  // Galata waits for the launcher; after a reload, a notebook is the current widget.
  waitForApplication: async ({}, use) => {
    await use(waitForLab);
  },
  dialogs: [
    async ({}, use) => {
      const dialogs: string[] = [];
      await use(dialogs);
      expect(dialogs, 'dialogs nobody asked for').toEqual([]);
    },
    { auto: true }
  ],
  agent: async ({}, use) => {
    await use(new Agent(url, token));
  },
  folder: async ({ tmpPath }, use) => {
    await use(new Folder(root, tmpPath));
  },
  open: async ({ page, folder }, use) => {
    await use(async (name, { kernel = false, page: window = page } = {}) => {
      await loadLab(window);
      return Tab.open(window, folder.getPath(name), kernel);
    });
  },
  create: async ({ agent, folder }, use) => {
    let count = 0;
    await use((content, name = `notebook-${++count}.ipynb`) => {
      const notebook = new Notebook(agent, folder, name);
      notebook.write(content);
      return notebook;
    });
  },
  openWith: async ({ create, open }, use) => {
    await use(async (content, { name, kernel } = {}) => {
      const notebook = create(content, name);
      return { notebook, tab: await open(notebook.name, { kernel }) };
    });
  },
  anotherWindow: async ({ browser, login, dialogs, tmpPath, withExample }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async () => {
      const context = await browser.newContext({ viewport: VIEWPORT });
      contexts.push(context);
      await prepareContext(context, login, { dialogs, folder: tmpPath }, withExample);
      return galata.initTestPage(
        '/lab',
        false,
        url,
        true,
        galata.DEFAULT_SETTINGS,
        true,
        true,
        await context.newPage(),
        null,
        null,
        tmpPath,
        waitForLab
      );
    });
    for (const context of contexts) {
      await context.unrouteAll({ behavior: 'ignoreErrors' });
      await context.close();
    }
  }
});

/** Galata requests `/api/…` regardless of the server's base URL. */
function withBaseUrl(url: string, request: APIRequestContext): APIRequestContext {
  return new Proxy(request, {
    get: (target, name) =>
      name === 'fetch'
        ? async (address: string, options?: object) => target.fetch(url + address, options)
        : (Reflect.get(target, name, target) as unknown)
  });
}

async function waitForLab(page: Page): Promise<void> {
  await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
  await page.evaluate(async () => {
    const { restored, shell } = window.jupyterapp;
    await restored;
    // When it has found its folder again, the file browser of JupyterLab 4.2 takes the focus.
    const browser = [...shell.widgets('left')].find(({ id }) => id === 'filebrowser');
    await (browser as FileBrowser | undefined)?.model.restored;
    await new Promise(resolve => requestAnimationFrame(resolve));
  });
}

/** Load JupyterLab unless the page has it already. */
export async function loadLab(page: Page): Promise<void> {
  if (page.url() === 'about:blank') {
    await page.goto('');
  }
}

/** Bring a page back to what JupyterLab shows at its start. */
async function closeAll(page: Page, idleFolder: string): Promise<void> {
  if (page.url() === 'about:blank') {
    return;
  }
  await page.setViewportSize(VIEWPORT);
  await page.mouse.move(0, 0);
  await page.evaluate(async path => {
    const { commands, shell } = window.jupyterapp;
    const list = (area: string) => {
      try {
        return [...shell.widgets(area)];
      } catch {
        // JupyterLab 4.2 has the area 'down', but does not list its widgets.
        return [];
      }
    };
    for (const widget of [...list('main'), ...list('down')]) {
      widget.dispose();
    }
    (shell as LabShell).collapseRight();
    await commands.execute('filebrowser:activate');
    await commands.execute('filebrowser:go-to-path', { path });
    await commands.execute('apputils:dismiss-notification');
  }, idleFolder);
  await expect(page.locator('.Toastify__toast')).toHaveCount(0);
}

async function prepareContext(
  context: BrowserContext,
  login: WorkerArgs['login'],
  currentTest: CurrentTest,
  withExample: boolean
): Promise<void> {
  await context.addCookies(login);
  if (!withExample) {
    // Another worker may have installed it, and it shows notifications of edits, too.
    await context.route('**/extensions/nbedit-example/**', async route =>
      route.fulfill({ contentType: 'text/javascript', body: NO_PLUGINS })
    );
  }
  // Proposals of other tests on this server would be announced here, too.
  await context.route('**/nbedit/proposals?*', async route => {
    const response = await route.fetch();
    const reply = (await response.json()) as { proposals?: { path: string }[] };
    const proposals = reply.proposals?.filter(({ path }) =>
      path.startsWith(`${currentTest.folder}/`)
    );
    await route.fulfill({ response, json: { ...reply, ...(proposals && { proposals }) } });
  });
  if (process.env.NBEDIT_FULL_READS) {
    await context.route('**/nbedit/notebooks/**view=nbformat*', async route =>
      route.fulfill({ status: 410, json: { message: 'Gone.', reason: 'version_unknown' } })
    );
  }
  await context.exposeBinding('nbeditDialogOpened', (_, text: string) =>
    currentTest.dialogs.push(text)
  );
  await context.addInitScript(() => {
    const seen = new WeakSet<Element>();
    const look = () => {
      for (const dialog of document.querySelectorAll('.jp-Dialog')) {
        if (!seen.has(dialog)) {
          seen.add(dialog);
          const { nbeditDialogOpened } = window as unknown as {
            nbeditDialogOpened: (text: string) => void;
          };
          nbeditDialogOpened(dialog.textContent);
        }
      }
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true });
  });
}
