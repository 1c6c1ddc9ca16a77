/**
 * Messages and declared objects as they were once written (`fixtures/v1`) can be read for ever. A fixture is added, never
 * changed: one that no longer parses means that stored runs and published files no longer do.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  createRunSchema,
  definitionSchema,
  deltaSchema,
  factSchema,
  observationSchema,
  parseFactSubject,
  problemSchema,
  registryObjectSchema,
  runViewSchema,
  slotOf,
  subjects,
  toolKindOf,
  toolKinds,
  workSchema,
} from './index.ts';
import { jsonSchemas } from './json-schemas.ts';

const folder = new URL('../fixtures/v1/', import.meta.url);
const fixtures = readdirSync(folder).map((file) => {
  const value = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Record<string, unknown>;
  return { name: file.replace('.json', ''), value };
});
const ofFamily = (family: string) => fixtures.filter(({ name }) => name.startsWith(family));

const families: Record<string, z.ZodType> = {
  'fact-': factSchema,
  'work-': workSchema,
  'registry-': registryObjectSchema,
  definition: definitionSchema,
  delta: deltaSchema,
  'create-run': createRunSchema,
  'run-view': runViewSchema,
  problem: problemSchema,
  observation: observationSchema,
};

function schemaOf(name: string): z.ZodType {
  const family = Object.keys(families).find((prefix) => name.startsWith(prefix));
  const schema = family && families[family];
  if (!schema) throw new Error(`no schema for fixture ${name}`);
  return schema;
}

test.each(fixtures)('$name is read, and nothing of it is lost', ({ name, value }) => {
  expect(schemaOf(name).parse(value)).toEqual(value);
});

const strictFamilies = /^(registry-|create-run|definition)/;

test.each(fixtures.filter(({ name }) => !strictFamilies.test(name)))(
  '$name is read by a reader that is older than its sender',
  ({ name, value }) => {
    expect(schemaOf(name).parse(withNewFields(value))).toEqual(value);
  },
);

test.each(fixtures.filter(({ name }) => /^(registry-|create-run)/.test(name)))(
  '$name with a field that nobody knows is refused, so that a misspelt one is noticed',
  ({ name, value }) => {
    expect(schemaOf(name).safeParse({ ...value, limitz: 1 }).success).toBe(false);
  },
);

/** The value with a field more in every object whose fields the contract names. */
function withNewFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNewFields);
  if (typeof value !== 'object' || value === null) return value;
  const openMaps = ['environment', 'metadata', 'parameters'];
  const fields = Object.entries(value).map(([key, child]) => [
    key,
    openMaps.includes(key) ? child : withNewFields(child),
  ]);
  return { ...Object.fromEntries(fields), addedLater: { by: 'a newer sender' } };
}

describe('every kind has a fixture', () => {
  const kindsOf = (family: string) => new Set(ofFamily(family).map(({ value }) => value.kind));

  test('of facts', () => {
    expect(kindsOf('fact-')).toEqual(new Set(factSchema.options.map(({ shape }) => shape.kind.value)));
  });

  test('of work', () => {
    expect(kindsOf('work-')).toEqual(new Set(workSchema.options.map(({ shape }) => shape.kind.value)));
  });

  test('of declared objects', () => {
    expect(kindsOf('registry-')).toEqual(new Set(registryObjectSchema.options.map(({ shape }) => shape.kind.value)));
  });

  test('of tools', () => {
    const tools = ofFamily('registry-tool-').map(({ value }) => registryObjectSchema.parse(value));
    const kinds = tools.map((object) => (object.kind === 'Tool' ? toolKindOf(object.spec) : object.kind));
    expect(new Set(kinds)).toEqual(new Set(toolKinds));
  });
});

const slots = {
  'fact-started': 'started',
  'fact-thought': 'thought.0',
  'fact-thought-failed': 'thought.6',
  'fact-acted': 'acted.0',
  'fact-observed': 'observed.0.0',
  'fact-observed-failed': 'observed.1.0',
  'fact-approval': 'approval.1.0',
  'fact-signal': 'signal.note-1',
  'fact-cancel': 'cancel',
  'fact-paused': 'paused.0',
  'fact-resumed': 'resumed.0',
  'fact-ended': 'ended',
};

test('every fact has its slot, and its subject leads back to it', () => {
  const found = ofFamily('fact-').map(({ name, value }) => {
    const fact = factSchema.parse(value);
    const address = { partition: 3, app: fact.app, runId: fact.runId };
    const slot = slotOf(fact);
    expect(parseFactSubject(subjects.fact(address, slot))).toEqual({ ...address, slot });
    return [name, slot];
  });
  expect(Object.fromEntries(found)).toEqual(slots);
});

test('work is addressed by its queue, app, run and number', () => {
  const found = ofFamily('work-').map(({ value }) => subjects.work(workSchema.parse(value)));
  expect(found.toSorted()).toEqual([
    'pawl.act.default.demo.run_01938f2a6c7e7c31a4b1d0e5f7a96b42.0.0',
    'pawl.think.interactive.demo.run_01938f2a6c7e7c31a4b1d0e5f7a96b42.1',
  ]);
});

describe('the JSON Schemas judge like zod', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validators = [...jsonSchemas()].map(
    ([file, text]) => [file.replace('.v1.json', ''), ajv.compile(JSON.parse(text))] as const,
  );
  // The longest name wins: `tool` must not take what is of `tool-…`.
  const validatorOf = (name: string) =>
    validators
      .filter(([schema]) => name.replace('registry-', '').startsWith(schema))
      .toSorted(([a], [b]) => b.length - a.length)[0]?.[1];

  test.each(fixtures)('$name', ({ name, value }) => {
    const validate = validatorOf(name);
    expect(validate?.(value), JSON.stringify(validate?.errors)).toBe(true);
    expect(validate?.({ ...value, kind: 'Nothing', v: 2, status: 'odd', input: 1 })).toBe(false);
  });
});
