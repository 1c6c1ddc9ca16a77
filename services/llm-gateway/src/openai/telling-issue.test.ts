import { expect, it } from 'vitest';
import { z } from 'zod';
import { tellingIssue } from './telling-issue.ts';

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), url: z.string() }),
]);
const schema = z.strictObject({
  input: z.union([z.string(), z.array(z.object({ content: z.union([z.string(), z.array(part)]) }))]),
});

it.each([
  [{ input: [{ content: [{ type: 'text', text: 1 }] }] }, 'input.0.content.0.text', 'expected string'],
  [{ input: [{ content: 'x' }, { content: [{ type: 'sound' }] }] }, 'input.1.content.0.type', 'Invalid'],
  [{ input: 7 }, 'input', 'Invalid input'],
  [{ input: 'x', colour: 'red' }, 'colour', 'not known here'],
])('%j is told at %s', (body, path, words) => {
  const [first] = schema.safeParse(body).error?.issues ?? [];
  const told = first && tellingIssue(first);
  expect([told?.path.join('.'), told?.message]).toEqual([path, expect.stringContaining(words)]);
});
