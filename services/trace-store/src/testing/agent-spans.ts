/** One agent run (a question, a call of a tool, an answer) as the dialects of the field write it: spans for tests. */
import type { Attributes, OtlpSpan } from '../otlp/span.ts';

const question = 'How many orders were cancelled?';
const args = '{"status":"cancelled"}';
const result = '{"count":7}';
const answer = 'Seven orders were cancelled.';
const baseNano = 1_780_000_000_000_000_000n;

export type Dialect = 'genai' | 'genai-old' | 'openinference' | 'openllmetry';
export const dialects: readonly Dialect[] = ['genai', 'genai-old', 'openinference', 'openllmetry'];

/** The spans of the run: the agent's, two model calls, one tool call. */
export function agentSpans(dialect: Dialect, traceId: string, startNano = baseNano): OtlpSpan[] {
  const said = attributesIn[dialect];
  const { agent, first, tool, second } = said;
  const events = (which: 'first' | 'second') => (dialect === 'genai-old' ? eventsOf(which) : []);
  const child = (id: string, name: string, at: [number, number]) => span({ traceId, id, name, at, startNano });
  return [
    {
      ...span({ traceId, id: 'a1', name: 'invoke_agent analyst', at: [0, 900], startNano }),
      parentSpanId: null,
      attributes: agent,
    },
    { ...child('b1', 'chat model', [10, 300]), attributes: first, events: events('first') },
    { ...child('c1', 'execute_tool count_orders', [310, 400]), attributes: tool },
    { ...child('b2', 'chat model', [410, 800]), attributes: second, events: events('second') },
  ];
}

type Placed = { traceId: string; id: string; name: string; at: [number, number]; startNano: bigint };

function span({ traceId, id, name, at, startNano }: Placed): OtlpSpan {
  const [fromMs, toMs] = at;
  return {
    traceId,
    spanId: `${traceId.slice(0, 14)}${id}`,
    parentSpanId: `${traceId.slice(0, 14)}a1`,
    name,
    kind: 1,
    flags: 0x100,
    traceState: '',
    startNano: startNano + BigInt(fromMs) * 1_000_000n,
    endNano: startNano + BigInt(toMs) * 1_000_000n,
    attributes: {},
    events: [],
    links: [],
    dropped: { attributes: 0, events: 0, links: 0 },
    statusCode: 0,
    statusMessage: '',
    scope: { name: 'agent', version: '1.0' },
    resource: { 'service.name': 'shop-agent' },
  };
}

function eventsOf(which: 'first' | 'second'): OtlpSpan['events'] {
  const event = (name: string, content: object) => ({
    name,
    atNano: baseNano,
    attributes: { 'gen_ai.system': 'acme', 'gen_ai.event.content': JSON.stringify(content) },
  });
  const call = { id: 'call-1', type: 'function', function: { name: 'count_orders', arguments: args } };
  const asked = event('gen_ai.user.message', { content: question });
  if (which === 'first') {
    return [asked, event('gen_ai.choice', { index: 0, message: { role: 'assistant', tool_calls: [call] } })];
  }
  return [
    asked,
    event('gen_ai.assistant.message', { tool_calls: [call] }),
    event('gen_ai.tool.message', { id: 'call-1', content: result }),
    event('gen_ai.choice', { index: 0, message: { role: 'assistant', content: answer } }),
  ];
}

const usage = { first: [100, 10], second: [200, 20] } as const;

function newUsage([input, output]: readonly [number, number]): Attributes {
  return { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output };
}
function oldUsage([input, output]: readonly [number, number]): Attributes {
  return { 'gen_ai.usage.prompt_tokens': input, 'gen_ai.usage.completion_tokens': output };
}

const asked = { role: 'user', parts: [{ type: 'text', content: question }] };
const called = {
  role: 'assistant',
  parts: [{ type: 'tool_call', id: 'call-1', name: 'count_orders', arguments: JSON.parse(args) as object }],
};
const told = { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', response: result }] };
const spoken = { role: 'assistant', parts: [{ type: 'text', content: answer }], finish_reason: 'stop' };

type Run = { agent: Attributes; first: Attributes; tool: Attributes; second: Attributes };

const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'acme', 'gen_ai.request.model': 'm-1' };

const attributesIn: Record<Dialect, Run> = {
  genai: {
    agent: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'analyst',
      'gen_ai.conversation.id': 's-9',
      'user.id': 'ana',
      'gen_ai.input.messages': JSON.stringify([asked]),
      'gen_ai.output.messages': JSON.stringify([spoken]),
      // What the parts sum up to, told once more.
      ...newUsage([300, 30]),
    },
    first: {
      ...chat,
      'gen_ai.input.messages': JSON.stringify([asked]),
      'gen_ai.output.messages': JSON.stringify([called]),
      ...newUsage(usage.first),
    },
    tool: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'count_orders',
      'gen_ai.tool.call.id': 'call-1',
      'gen_ai.tool.call.arguments': args,
      'gen_ai.tool.call.result': result,
    },
    second: {
      ...chat,
      'gen_ai.input.messages': JSON.stringify([asked, called, told]),
      'gen_ai.output.messages': JSON.stringify([spoken]),
      ...newUsage(usage.second),
    },
  },
  'genai-old': {
    agent: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'analyst',
      'input.value': question,
      'output.value': answer,
      'gen_ai.conversation.id': 's-9',
      'user.id': 'ana',
    },
    first: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.system': 'acme',
      'gen_ai.request.model': 'm-1',
      ...oldUsage(usage.first),
    },
    tool: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'count_orders',
      'gen_ai.tool.call.id': 'call-1',
      'input.value': args,
      'output.value': result,
    },
    second: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.system': 'acme',
      'gen_ai.request.model': 'm-1',
      ...oldUsage(usage.second),
    },
  },
  openinference: {
    agent: {
      'openinference.span.kind': 'AGENT',
      'agent.name': 'analyst',
      'input.value': question,
      'output.value': answer,
      'session.id': 's-9',
      'user.id': 'ana',
    },
    first: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'm-1',
      'llm.system': 'acme',
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': question,
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.tool_calls.0.tool_call.id': 'call-1',
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'count_orders',
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': args,
      'llm.token_count.prompt': 100,
      'llm.token_count.completion': 10,
      'llm.token_count.total': 110,
    },
    tool: {
      'openinference.span.kind': 'TOOL',
      'tool.name': 'count_orders',
      'tool_call.id': 'call-1',
      'input.value': args,
      'output.value': result,
    },
    second: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'm-1',
      'llm.system': 'acme',
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': question,
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': answer,
      'llm.token_count.prompt': 200,
      'llm.token_count.completion': 20,
    },
  },
  openllmetry: {
    agent: {
      'traceloop.span.kind': 'workflow',
      'traceloop.entity.name': 'analyst',
      'traceloop.entity.input': JSON.stringify({ question }),
      'traceloop.entity.output': JSON.stringify(answer),
      'traceloop.association.properties.session_id': 's-9',
      'traceloop.association.properties.user_id': 'ana',
    },
    first: {
      'llm.request.type': 'chat',
      'gen_ai.system': 'acme',
      'gen_ai.request.model': 'm-1',
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': question,
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.tool_calls.0.id': 'call-1',
      'gen_ai.completion.0.tool_calls.0.name': 'count_orders',
      'gen_ai.completion.0.tool_calls.0.arguments': args,
      ...oldUsage(usage.first),
    },
    tool: {
      'traceloop.span.kind': 'tool',
      'traceloop.entity.name': 'count_orders',
      'traceloop.entity.input': args,
      'traceloop.entity.output': result,
    },
    second: {
      'llm.request.type': 'chat',
      'gen_ai.system': 'acme',
      'gen_ai.request.model': 'm-1',
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': question,
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.content': answer,
      ...oldUsage(usage.second),
    },
  },
};
