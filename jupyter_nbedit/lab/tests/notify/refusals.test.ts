import { readFileSync } from 'node:fs';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, test } from 'vitest';
import { describeError } from '../../src/notify/wording';
import { NbEditError } from '../../src/server/client';

const trans = nullTranslator.load('jupyter_nbedit');

/** Everything that the server says when it refuses a request. */
const MESSAGES = readFileSync(
  new URL('../../../../tests/handlers/messages.txt', import.meta.url),
  'utf8'
);

interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

/** Return the refusals of the REST API; those of tools are for agents only. */
function listRefusals(): Refusal[] {
  return MESSAGES.split(/^## .*\n/mu).flatMap(block => {
    const [head = '', ...lines] = block.split('\n');
    const [status = '', reason = '-'] = head.split(' ');
    const message = lines.join('\n').trim();
    return /^\d{3}$/u.test(status) && reason !== '-'
      ? [{ status: Number(status), reason, message }]
      : [];
  });
}

test('no refusal tells a person which request to send', () => {
  const refusals = listRefusals();
  expect(refusals.length).toBeGreaterThan(100);
  for (const { status, reason, message } of refusals) {
    const text = describeError(new NbEditError(status, reason, message, {}), trans);
    expect(text, message).toMatch(/^.{5,}[.…]$/su);
    expect(text, message).not.toMatch(/`|nbedit\/|\b(?:GET|PUT|POST|PATCH)\b|edit_id/u);
  }
});

test('an edit that was undone elsewhere is no edit that nobody can undo', () => {
  const message = 'Edit 5 is already undone, by edit 6. To redo it, send edit 5 to `redo`.';
  const describe = (details: Record<string, unknown>): string =>
    describeError(new NbEditError(409, 'nothing_to_undo', message, details), trans);
  expect(describe({ edit_id: 5, undone_by: 6 })).toBe('This is undone already.');
  expect(describe({})).toBe('There is nothing to undo.');
});
