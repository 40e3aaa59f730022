import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS, parseSettings } from '../../src/notify/settingsSchema';

interface Schema {
  properties: Record<string, { default: unknown; enum?: unknown[] }>;
}

const schema = JSON.parse(readFileSync('schema/plugin.json', 'utf-8')) as Schema;

test('the defaults are those of the schema', () => {
  const inSchema = Object.entries(schema.properties).map(([name, { default: value }]) => [
    name,
    value
  ]);
  expect(DEFAULT_SETTINGS).toEqual(Object.fromEntries(inSchema));
});

test('each value that the schema allows is taken over', () => {
  for (const [name, property] of Object.entries(schema.properties)) {
    for (const value of property.enum ?? [true, false]) {
      expect(parseSettings({ [name]: value })).toEqual({ ...DEFAULT_SETTINGS, [name]: value });
    }
  }
});

test('what the schema does not allow counts as not set', () => {
  const values = { toasts: 'some', flash: 'yes', marks: 1, follow: null, conflict: ['ask'] };
  expect(parseSettings(values)).toEqual(DEFAULT_SETTINGS);
});
