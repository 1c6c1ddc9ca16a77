import { expect, test } from 'vitest';
import type { ChatRequest } from '../conversation/chat-request.ts';
import { chunkBodies, unaryBody } from './bodies.ts';
import { createCompletion } from './completion.ts';
import type { SimReply } from './reply.ts';

const REQUEST: ChatRequest = { model: 'm', messages: [{ role: 'user', content: 'Why?' }] };
const HEAD = { id: 'chatcmpl-1', createdS: 1, model: 'm' };
const REPLY: SimReply = {
  say: 'Two calls.  Now.\n',
  calls: [{ tool: 'a', args: { text: 'é'.repeat(40) } }, { tool: 'b' }],
};

test('usage is a quarter of the characters, rounded up', () => {
  const { usage } = createCompletion(REQUEST, { answer: '12345' }, 'call');
  expect(usage).toEqual({
    promptTokens: Math.ceil('[[{"role":"user","content":"Why?"}],[]]'.length / 4),
    completionTokens: 2,
  });
});

test('a request limit cuts text, then arguments, then whole calls', () => {
  const limited = (max: number) => createCompletion({ ...REQUEST, max_tokens: max }, REPLY, 'call');
  expect(limited(2)).toMatchObject({
    content: 'Two call',
    calls: [],
    finishReason: 'length',
    usage: { completionTokens: 2 },
  });
  expect(limited(7)).toMatchObject({ finishReason: 'length', calls: [{ id: 'call_0', argumentsText: '{"text":"é' }] });
  expect(limited(17).calls.map((call) => call.tool)).toEqual(['a']);
  expect(limited(100)).toMatchObject({ finishReason: 'tool_calls', calls: [{ id: 'call_0' }, { id: 'call_1' }] });
});

test('text as arguments is sent as it is', () => {
  expect(createCompletion(REQUEST, { calls: [{ tool: 'a', args: '{"a":' }] }, 'c').calls[0]?.argumentsText).toBe(
    '{"a":',
  );
});

test('chunks put together say what the unary body says', () => {
  const completion = createCompletion(REQUEST, REPLY, 'call');
  const chunks = chunkBodies(HEAD, completion, true) as Chunk[];
  const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
  const calls = [0, 1].map((index) => {
    const parts = deltas.flatMap((delta) => delta.tool_calls ?? []).filter((part) => part.index === index);
    const text = parts.map((part) => part.function.arguments ?? '').join('');
    return { id: parts[0]?.id, type: 'function', function: { name: parts[0]?.function.name, arguments: text } };
  });
  const unary = unaryBody(HEAD, completion);
  expect({ content: deltas.map((delta) => delta.content ?? '').join(''), calls }).toEqual({
    content: unary.choices[0]?.message.content,
    calls: unary.choices[0]?.message.tool_calls,
  });
  expect(chunks.at(-2)?.choices[0]).toMatchObject({ finish_reason: 'tool_calls' });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: unary.usage });
  expect(deltas.flatMap((delta) => delta.tool_calls ?? []).length).toBeGreaterThan(4);
});

interface Chunk {
  usage?: unknown;
  choices: {
    finish_reason: string | null;
    delta: {
      content?: string | null;
      tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
    };
  }[];
}
