import type { TranslationBundle } from '@jupyterlab/translation';
import type { InTheWay } from '../answers';
import { cleanText } from '../names';
import { Refusal } from '../server';
import { hindrancesOf } from './wording';

/** Longest text of the server that is shown. */
const LONGEST_MESSAGE = 500;

/** Why something failed, in words. */
export function explain(error: unknown, trans: TranslationBundle): string {
  if (error instanceof Refusal) {
    switch (error.reason) {
      case 'unreachable':
        return trans.__('The server does not answer.');
      case 'no_answer':
        return error.status === 404
          ? trans.__('This server keeps no history: its jupyter_nbedit is missing or too old.')
          : trans.__('The server’s answer cannot be read (HTTP %1).', error.status);
    }
    return cleanText(error.message, LONGEST_MESSAGE);
  }
  console.error('jupyter-nbedit:', error);
  return trans.__('Something failed in the page; its console says more.');
}

/** What stands in the way of taking an edit back, line by line. */
export function hindrances(error: unknown, trans: TranslationBundle): string[] {
  if (error instanceof Refusal && error.reason === 'undo_conflict') {
    const { cells, metadata } = error.details as {
      readonly cells?: readonly InTheWay[];
      readonly metadata?: readonly string[];
    };
    return [
      trans.__('Nothing was taken back.'),
      ...hindrancesOf(cells ?? [], metadata ?? [], trans)
    ];
  }
  return [explain(error, trans)];
}
