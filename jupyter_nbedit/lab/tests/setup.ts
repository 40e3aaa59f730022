import fc from 'fast-check';

declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

fc.configureGlobal({ numRuns: process.env.NBEDIT_NIGHTLY === undefined ? 400 : 20_000 });
