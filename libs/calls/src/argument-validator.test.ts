import { describe, expect, test } from 'vitest';
import { createArgumentValidator, type JsonSchema } from './argument-validator.ts';

const validator = createArgumentValidator();

function verdict(schema: JsonSchema, value: unknown) {
  return validator.validate(schema, { value, charCount: JSON.stringify(value).length });
}

const dialectUris = {
  undeclared: undefined,
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema#',
} as const;

describe('dialects', () => {
  const tool = {
    type: 'object',
    properties: {
      from: { type: 'string', format: 'date', 'x-hint': 'first day' },
      amount: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    },
    required: ['from'],
    additionalProperties: false,
  };

  test.each(Object.entries(dialectUris))('C3: the same tool has the same verdicts in %s', (_name, uri) => {
    const schema = uri === undefined ? tool : { $schema: uri, ...tool };
    expect(verdict(schema, { from: '2026-02-01', amount: '01234' })).toEqual({ isValid: true });
    expect(verdict(schema, { from: '2026-02-30' })).toMatchObject({
      message: '/from: expected a text in the format date; got "2026-02-30".',
    });
    expect(verdict(schema, { from: '2026-02-01', other: 1 })).toMatchObject({
      message: expect.stringContaining('expected no property "other"'),
    });
    expect(verdict(schema, {})).toMatchObject({
      message: expect.stringContaining('the property "from", which is missing'),
    });
  });

  test('what a dialect means by its own keywords is kept', () => {
    const pair = {
      type: 'object',
      properties: { pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } },
    };
    expect(verdict({ $schema: dialectUris['draft-07'], ...pair }, { pair: ['a', 'b'] }).isValid).toBe(false);
    const prefix = { properties: { pair: { prefixItems: [{ type: 'string' }] } } };
    expect(verdict(prefix, { pair: [1] }).isValid).toBe(false);
    expect(verdict({ $schema: dialectUris['draft-07'], ...prefix }, { pair: [1] }).isValid).toBe(true);
  });

  test('C3: an unknown dialect is refused with a sentence', () => {
    expect(validator.schemaProblem({ $schema: 'constructor' })).toMatch(/is not known/);
    expect(validator.schemaProblem({ $schema: 'http://json-schema.org/draft-04/schema#' })).toMatch(
      /draft-04.*is not known/,
    );
  });
});

describe('verdicts', () => {
  test('C2: nothing is coerced, filled in or removed', () => {
    const schema = { properties: { n: { type: 'integer', default: 3 }, b: { type: 'boolean' } } };
    const value = { b: 'true', extra: 1 };
    expect(verdict(schema, value).isValid).toBe(false);
    expect(value).toEqual({ b: 'true', extra: 1 });
  });

  test('what an object inherits is not a property of it', () => {
    expect(verdict({ required: ['toString'] }, {}).isValid).toBe(false);
  });

  test('several mistakes are told at once, and a flood is cut', () => {
    const schema = { properties: { list: { items: { type: 'string' } } } };
    const { message } = verdict(schema, { list: [1, 2, 3, 4, 5, 6, 7] }) as { message: string };
    expect(message).toContain('/list/0: expected type string; got 1.');
    expect(message).toContain('2 more problems.');
  });

  test.each([
    [{ properties: { a: { enum: ['x', 'y'] } } }, { a: 'z' }, '/a: expected one of ["x","y"]; got "z".'],
    [{ properties: { a: { minimum: 3 } } }, { a: 1 }, '/a: expected a number >= 3; got 1.'],
    [{ properties: { a: { pattern: '^[0-9]+$' } } }, { a: 'q' }, '/a: expected a text that matches ^[0-9]+$; got "q".'],
    [
      { properties: { a: { minItems: 2 } } },
      { a: [1] },
      '/a: expected not to have fewer than 2 items; got an array of 1.',
    ],
    [{ properties: { a: { const: 5 } } }, { a: 4 }, '/a: expected 5; got 4.'],
    [{ type: 'object', unevaluatedProperties: false }, { q: 1 }, '/: expected no property "q"'],
  ])('%j', (schema, value, message) => {
    expect(verdict(schema, value)).toMatchObject({ message: expect.stringContaining(message) });
  });
});

describe('hostile schemas', () => {
  const nested = (depth: number): unknown => (depth === 0 ? [] : [nested(depth - 1)]);
  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_unused, at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  );

  test.each<[string, JsonSchema, unknown]>([
    ['a reference to itself', { $ref: '#' }, {}],
    ['two references to itself', { allOf: [{ $ref: '#' }, { $ref: '#' }] }, {}],
    [
      'references that double with each level of the value',
      { allOf: [{ items: { $ref: '#' } }, { items: { $ref: '#' } }] },
      nested(60),
    ],
    [
      'references that double by themselves',
      { $defs: { ...doubling, d40: { type: 'object' } }, $ref: '#/$defs/d0' },
      {},
    ],
    ['a pattern that backtracks', { properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(5_000)}!` }],
    ['a reference over the network', { $ref: 'http://127.0.0.1:9/schema' }, {}],
    ['a reference to a file', { $ref: 'file:///etc/passwd' }, {}],
    ['a pattern with look-ahead', { properties: { a: { pattern: '(?=a)b' } } }, { a: 'b' }],
    ['a schema that is too large', { description: 'x'.repeat(200_000) }, {}],
    ['a schema that is nested too deeply', { not: nested(100) }, {}],
  ])('%s fails closed and leaves the process working', (_name, schema, value) => {
    expect(verdict(schema, value).isValid).toBe(false);
    expect(verdict({ type: 'object' }, {}).isValid).toBe(true);
  });

  test('compiled schemas are kept up to a bound', () => {
    const small = createArgumentValidator({ schemasMax: 5 });
    for (let at = 0; at < 20; at += 1) {
      const schema = { properties: { [`p${at}`]: { type: 'string' } } };
      expect(small.validate(schema, { value: { [`p${at}`]: 1 }, charCount: 10 }).isValid).toBe(false);
    }
  });
});
