import { expect, test } from 'vitest';
import type { ChatMessage } from './chat-request.ts';
import { conversation } from './conversation.ts';
import { findOrderBreach } from './message-order.ts';

function call(id: string, tool: string, args: unknown) {
  return {
    id,
    type: 'function',
    function: { name: tool, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  };
}

function toolMessage(id: string, content: unknown): ChatMessage {
  return { role: 'tool', tool_call_id: id, content: typeof content === 'string' ? content : JSON.stringify(content) };
}

const MESSAGES: ChatMessage[] = [
  { role: 'system', content: 'You are an analyst.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Why did' },
      { type: 'text', text: 'sales drop?' },
    ],
  },
  { role: 'assistant', content: 'First the trend.', tool_calls: [call('c0', 'query_metric', { from: '2026-01' })] },
  toolMessage('c0', { status: 'ok', data: '{"rows":[{"month":"2026-01"}]}', error_code: null, truncated: false }),
  {
    role: 'assistant',
    content: null,
    tool_calls: [call('c0', 'aggregate', { by: 'line' }), call('c1', 'broken', '{"a":')],
  },
  toolMessage('c0', `<observation>${JSON.stringify({ status: 'ok', data: { rows: [1] } })}</observation>`),
  toolMessage('c1', { status: 'error', error_code: 'invalid_json', message: 'no JSON', suggestion: 'repeat it' }),
  { role: 'user', content: 'Change your strategy.' },
];

test('a conversation is folded into question, tools and observations in order', () => {
  const context = conversation(MESSAGES, [{ type: 'function', function: { name: 'aggregate' } }]);
  expect(context).toMatchObject({
    question: 'Why did\nsales drop?',
    latest: 'Change your strategy.',
    system: 'You are an analyst.',
    turn: 2,
    tools: ['aggregate'],
  });
  expect(context.observations.map((one) => [one.tool, one.status, one.args])).toEqual([
    ['query_metric', 'ok', { from: '2026-01' }],
    ['aggregate', 'ok', { by: 'line' }],
    ['broken', 'error', null],
  ]);
  expect(context.last.map((one) => one.callId)).toEqual(['c0', 'c1']);
});

test('data is normalised: JSON text, an object and plain text', () => {
  const context = conversation(MESSAGES, []);
  expect(context.observations.map((one) => one.data)).toEqual([{ rows: [{ month: '2026-01' }] }, { rows: [1] }, null]);
  const plain = conversation([MESSAGES[2] as ChatMessage, toolMessage('c0', 'cut {"rows": [1, 2 … cut')], []);
  expect(plain.observations[0]).toMatchObject({ status: 'ok', data: 'cut {"rows": [1, 2 … cut', error_code: null });
});

test('a result without a call keeps its id and has no tool', () => {
  expect(conversation([toolMessage('ghost', { status: 'ok' })], []).observations[0]).toMatchObject({
    callId: 'ghost',
    tool: '',
    args: null,
  });
});

test('message order is checked as strict providers check it', () => {
  expect(findOrderBreach(MESSAGES)).toBeUndefined();
  expect(findOrderBreach(MESSAGES.slice(0, 3))).toMatch(/messages\[3\].*c0/);
  expect(findOrderBreach([...MESSAGES.slice(0, 6), ...MESSAGES.slice(7)])).toMatch(/messages\[6\].*c1/);
  expect(findOrderBreach([toolMessage('c9', {})])).toMatch(/messages\[0\]/);
  const twins = [call('c', 'a', {}), call('c', 'b', {})];
  expect(findOrderBreach([{ role: 'assistant', tool_calls: twins }])).toMatch(/repeat/);
});
