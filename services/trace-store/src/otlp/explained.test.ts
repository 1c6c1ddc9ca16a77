import { expect, test } from 'vitest';
import { agentSpans } from '../testing/agent-spans.ts';
import { explainSpan } from './explain-span.ts';
import { entryOfSpan } from './span-entry.ts';

test('who may not read thoughts gets neither the reasoning nor the raw errors of another agent', () => {
  const [, chat] = agentSpans('genai', 'ab'.repeat(16));
  if (!chat) throw new Error('no span');
  const parts = [{ type: 'reasoning', content: 'secret thought' }];
  const attributes = { ...chat.attributes, 'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]) };
  const events = [{ name: 'exception', atNano: 1n, attributes: { 'exception.stacktrace': 'secret stack' } }];
  const { record } = entryOfSpan({ ...chat, attributes, events }, { app: 'demo', runId: 'run_1' });
  expect(record.body).toContain('secret thought');
  expect(explainSpan(record.body)).not.toContain('secret');
  const [, , tool] = agentSpans('genai', 'ab'.repeat(16)).map((span) =>
    entryOfSpan({ ...span, statusCode: 2, statusMessage: 'secret words' }, { app: 'demo', runId: 'run_1' }),
  );
  expect(tool?.record.body).toContain('secret words');
  expect(explainSpan(tool?.record.body ?? '')).not.toContain('secret');
  expect(JSON.parse(explainSpan(tool?.record.body ?? ''))).toMatchObject({ observation: { status: 'error' } });
});
