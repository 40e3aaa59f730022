import type { Page } from '@playwright/test';

/**
 * Texts that are harmful as markup: they set `window.__pwned`, or make an element with the
 * attribute `data-pwned`. None is longer than a client name may be.
 */
export const PAYLOADS = [
  '<script data-pwned>window.__pwned = 1</script>',
  '<img data-pwned src="data:,x" onerror="window.__pwned = 2">',
  '"><svg data-pwned onload="window.__pwned = 3"></svg>',
  '\'><iframe data-pwned srcdoc="<script>parent.__pwned = 4</script>"></iframe>',
  '<a data-pwned href="javascript:window.__pwned = 5">click</a>',
  '[click](javascript:window.__pwned=6)',
  '![x](data:,x"onerror="window.__pwned=7)',
  '<math data-pwned><mtext><table><mglyph><style><!--</style><img src onerror=window.__pwned=8>',
  '</pre></textarea><form data-pwned><button formaction="javascript:window.__pwned = 9">',
  '<img data-pwned name="getElementById"><form data-pwned id="body">',
  "{{constructor.constructor('window.__pwned = 10')()}}${window.__pwned = 11}",
  '&lt;img data-pwned src="data:,x" onerror="window.__pwned = 12"&gt;',
  '__proto__',
  'constructor.prototype',
  'txt.\u202Eexe\u2066<img data-pwned>\u2069\u200B\uFEFF',
  'ring\u0007 \u001B[31mred\u001B[0m \u0085 \u2028 line',
  'A'.repeat(200)
];

/** The effects of the payloads on a page. */
export interface InjectionReport {
  /** Elements that were made of payloads, scripts that ran, violations of the CSP. */
  found: string[];
  /** Errors in the console about our code, payloads or the CSP. */
  errors: string[];
}

/** Watch a page before it is opened. */
export async function watchForInjection(page: Page): Promise<InjectionReport> {
  const harm: InjectionReport = { found: [], errors: [] };
  await page.exposeFunction('nbeditHarm', (what: string) => harm.found.push(what));
  await page.addInitScript(() => {
    const { nbeditHarm: tell } = window as unknown as { nbeditHarm: (what: string) => void };
    Object.defineProperty(window, '__pwned', {
      set: (by: unknown) => tell(`script ${String(by)}`)
    });
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      tell(`${violatedDirective}: ${blockedURI}`)
    );
    new MutationObserver(() => {
      for (const element of document.querySelectorAll('[data-pwned]')) {
        tell(element.outerHTML);
      }
    }).observe(document, { childList: true, subtree: true, attributes: true });
  });
  // JupyterLab logs errors of its own, too.
  const note = (error: string) => {
    if (/nbedit|pwned|Refused|Content Security/.test(error)) {
      harm.errors.push(error);
    }
  };
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) {
      note(message.text());
    }
  });
  page.on('pageerror', error => note(error.stack ?? error.message));
  return harm;
}
