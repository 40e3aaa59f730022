import type { BrowserContext } from '@playwright/test';

/** The cookie by which the authorizer of the server knows users who may only read. */
const NAME = 'nbedit-reads-only';

/** Take the right to change anything from the user of a browser, or grant it again. */
export async function setReadOnly(context: BrowserContext, isReadOnly: boolean): Promise<void> {
  await (isReadOnly
    ? context.addCookies([{ name: NAME, value: 'yes', url: `${process.env.TARGET_URL!}/` }])
    : context.clearCookies({ name: NAME }));
}
