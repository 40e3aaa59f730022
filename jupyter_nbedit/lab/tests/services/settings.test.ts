import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS, parseSettings } from '../../src/services/settings';

interface Schema {
  properties: Record<
    string,
    { default: unknown; oneOf?: { const: unknown; title: string }[]; description: string }
  >;
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
    for (const value of property.oneOf?.map(choice => choice.const) ?? [true, false]) {
      expect(parseSettings({ [name]: value })).toEqual({ ...DEFAULT_SETTINGS, [name]: value });
    }
  }
});

test('what the schema does not allow counts as not set', () => {
  const values = { toasts: 'some', flash: 'yes', marks: 1, follow: null, conflict: ['ask'] };
  expect(parseSettings(values)).toEqual(DEFAULT_SETTINGS);
});

test('each choice has a label of its own, and no text shows a raw value', () => {
  for (const { oneOf = [], description } of Object.values(schema.properties)) {
    const labels = oneOf.map(({ title }) => title);
    expect(new Set(labels).size).toBe(oneOf.length);
    for (const { const: value, title } of oneOf) {
      expect(title).toMatch(/^\p{Lu}.* /u);
      expect(title).not.toBe(value);
      expect(description.split(/\W+/)).not.toContain(value);
    }
  }
});
