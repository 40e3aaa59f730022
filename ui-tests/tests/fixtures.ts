import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import { galata, test as galataTest } from '@jupyterlab/galata';
import type { APIRequestContext, BrowserContext, Page } from '@playwright/test';
import { expect } from '@playwright/test';
import { Agent } from './agent';
import { Folder } from './folder';
import { Tab } from './tab';

export { expect };

const url = process.env.TARGET_URL!;
const token = process.env.NBEDIT_TOKEN!;
const root = process.env.NBEDIT_ROOT!;

export interface TestArgs {
  /** Whoever edits from outside: HTTP with the token, in the test's process. */
  agent: Agent;
  /** The test's own folder below the server's root. */
  folder: Folder;
  /** Open a notebook of that folder; without a kernel, unless asked for one. */
  open: (name: string, options?: { kernel?: boolean; page?: Page }) => Promise<Tab>;
  /** Another browser with a JupyterLab of its own. */
  anotherWindow: () => Promise<IJupyterLabPageFixture>;
  /** Whether pages have the extension of `example`, once it is installed. */
  withExample: boolean;
  /** What the dialogs said that have opened so far, in any window. A test fails if it leaves one. */
  dialogs: string[];
}

interface WorkerArgs {
  login: { name: string; value: string; url: string }[];
}

/** In the place of the example: a module without plugins, about which nobody complains. */
const NO_PLUGINS = `
  (window._JUPYTERLAB ??= {})['nbedit-example'] = {
    init: () => undefined,
    get: async () => () => ({ __esModule: true, default: [] })
  };
`;

/** Galata's test, but logged in by cookies as a user is, so that XSRF checks can stay on. */
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
  withExample: [false, { option: true }],
  context: async ({ context, login, dialogs, withExample }, use) => {
    await prepare(context, login, dialogs);
    if (!withExample) {
      // Another worker may have installed it by now, and it tells of edits as well.
      await context.route('**/extensions/nbedit-example/**', async route =>
        route.fulfill({ contentType: 'text/javascript', body: NO_PLUGINS })
      );
    }
    await use(context);
  },
  // Galata makes folders and stops kernels with this one; it has no browser's cookies.
  request: async ({ playwright }, use) => {
    const headers = { Authorization: `token ${token}` };
    const request = await playwright.request.newContext({
      baseURL: url,
      extraHTTPHeaders: headers
    });
    await use(below(url, request));
    await request.dispose();
  },
  autoGoto: false,
  // Galata waits for the launcher to be in front; after a reload a notebook is.
  waitForApplication: async ({}, use) => {
    await use(ready);
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
      if (window.url() === 'about:blank') {
        await window.goto('');
      }
      return Tab.open(window, folder.path(name), kernel);
    });
  },
  anotherWindow: async ({ browser, login, dialogs, tmpPath }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async () => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
      contexts.push(context);
      await prepare(context, login, dialogs);
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
        ready
      );
    });
    await Promise.all(contexts.map(async context => context.close()));
  }
});

/** Galata asks for `/api/…`, wherever the server's addresses begin. */
function below(url: string, request: APIRequestContext): APIRequestContext {
  return new Proxy(request, {
    get: (target, name) =>
      name === 'fetch'
        ? async (address: string, options?: object) => target.fetch(url + address, options)
        : (Reflect.get(target, name, target) as unknown)
  });
}

async function ready(page: Page): Promise<void> {
  await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
  await page.evaluate(async () => window.jupyterapp.restored);
}

async function prepare(
  context: BrowserContext,
  login: WorkerArgs['login'],
  dialogs: string[]
): Promise<void> {
  await context.addCookies(login);
  await context.exposeBinding('nbeditDialogOpened', (_, text: string) => dialogs.push(text));
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
