import { expect, it } from 'vitest';
import { answerFormatOf, answerSchemaOf } from './answer-format.ts';

const text = { type: 'string' };
const strict = { type: 'object', properties: { cause: text }, required: ['cause'], additionalProperties: false };

it('asks for strictness only where the schema fits the strict subset', () => {
  const isStrict = (schema: object) => answerFormatOf(schema).json_schema.strict;
  expect(isStrict(strict)).toBe(true);
  expect(isStrict({ ...strict, properties: { cause: { type: 'array', items: strict } } })).toBe(true);
  expect(isStrict({ type: 'object' })).toBe(false);
  expect(isStrict({ ...strict, required: [] })).toBe(false);
  expect(isStrict({ ...strict, additionalProperties: true })).toBe(false);
  expect(isStrict({ ...strict, properties: { cause: { ...text, pattern: '^a' } } })).toBe(false);
  expect(isStrict({ ...strict, properties: { cause: { anyOf: [text, { type: 'object' }] } } })).toBe(false);
  expect(isStrict({ type: 'array', items: text })).toBe(false);
  expect(answerFormatOf({ type: 'object' }).json_schema).toMatchObject({ name: 'answer', schema: { type: 'object' } });
});

it('sends no schema beside tools', () => {
  expect(answerSchemaOf({ tools: [], answerSchema: strict })).toBe(strict);
  expect(answerSchemaOf({ tools: [{}], answerSchema: strict })).toBeUndefined();
});
