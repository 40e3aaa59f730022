import { defineConfig } from '@playwright/test';

// `python ui-tests` sets these: it starts the server the tests talk to.
function setting(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set. Start the browser tests by: python ui-tests --env VENV`);
  }
  return value;
}

// Of several such lists Chromium takes the last, so Playwright's own features stand here as well.
const disabledFeatures = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'BoundaryEventDispatchTracksNodeRemoval',
  'DestroyProfileOnBrowserClose',
  'DialMediaRouteProvider',
  'GlobalMediaControls',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'Translate',
  'AutoDeElevate',
  'RenderDocument',
  'OptimizationHints',
  // Pages of the address bar, which nobody sees; each window would load them, a quarter of its work.
  'PreloadTopChromeWebUI',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'WebUIOmniboxPopup'
];

export default defineConfig({
  testDir: 'tests',
  outputDir: `${setting('NBEDIT_RESULTS')}/artifacts`,
  snapshotPathTemplate: '{testDir}/references/{arg}{ext}',
  // Only end what hangs: a busy machine takes many times what a quiet one does.
  timeout: 180_000,
  expect: { timeout: 60_000 },
  // Most of a test's time goes into bringing up a page, which is the work of one core.
  workers: 2,
  fullyParallel: false,
  // A test that passes the second time has failed.
  retries: 0,
  forbidOnly: true,
  reporter: [['list'], ['junit', { outputFile: setting('NBEDIT_REPORT') }]],
  // Which one a server can show depends on what is installed there; `python ui-tests` knows.
  projects: [
    { name: 'tabs', testMatch: 'tests/*.spec.ts' },
    { name: 'rooms', testMatch: 'tests/rooms/*.spec.ts' },
    { name: 'notebook7', testMatch: 'tests/notebook7/*.spec.ts' }
  ],
  use: {
    baseURL: setting('TARGET_URL'),
    viewport: { width: 1280, height: 800 },
    screenshot: 'only-on-failure',
    trace: 'off',
    video: 'off',
    launchOptions: {
      executablePath: setting('NBEDIT_CHROMIUM'),
      args: [
        `--disable-features=${disabledFeatures.join()}`,
        // On a busy machine its compositor tells too early that an animation has ended, and toasts
        // go when their bar does.
        '--disable-threaded-animation'
      ]
    }
  }
});
