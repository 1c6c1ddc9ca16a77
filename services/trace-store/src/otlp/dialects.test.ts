/** What strangers send, beside the four dialects in their pure form. */
import { describe, expect, test } from 'vitest';
import { RejectedError } from '@pawl/contracts';
import { agentSpans } from '../testing/agent-spans.ts';
import { callOf, finishReasonOf, kindOf, usageOf, withoutContent } from './conventions.ts';
import { readJsonSpans } from './json.ts';
import { messagesOf } from './messages.ts';
import { readProtobufSpans } from './protobuf.ts';
import { entryOfSpan } from './span-entry.ts';
import { isEntry, type Attributes, type OtlpSpan, type SpanEvent } from './span.ts';

const traceId = 'ab'.repeat(16);
const [base] = agentSpans('genai', traceId) as [OtlpSpan];
const spanOf = (attributes: Attributes, events: SpanEvent[] = []): OtlpSpan => ({ ...base, attributes, events });
const event = (name: string, attributes: Attributes): SpanEvent => ({ name, atNano: 1n, attributes });
const bytes = (text: string) => new TextEncoder().encode(text);

describe('JSON', () => {
  const good = {
    traceId,
    spanId: 'ab'.repeat(8),
    name: 'x',
    startTimeUnixNano: '1780000000000000001',
    endTimeUnixNano: '1780000000000000002',
  };
  const request = (spans: object[], resource: object = {}) =>
    bytes(JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }));

  test('takes the names of protobuf, enums by name, and what old senders call a scope', () => {
    const span = {
      trace_id: traceId.toUpperCase(),
      span_id: good.spanId,
      parent_span_id: 'CD'.repeat(8),
      start_time_unix_nano: good.startTimeUnixNano,
      end_time_unix_nano: good.endTimeUnixNano,
      trace_state: 'a=b',
      kind: 'SPAN_KIND_SERVER',
      flags: 0x301,
      dropped_events_count: 3,
      attributes: [{ key: 'k', value: { array_value: { values: [{ string_value: 'a' }, { int_value: '7' }] } } }],
      events: [{ name: 'e', time_unix_nano: '5', attributes: [{ key: 'b', value: { bool_value: true } }] }],
      links: [{ trace_id: traceId, span_id: good.spanId }],
      status: { code: 'STATUS_CODE_ERROR', message: 'no' },
    };
    const old = { instrumentation_library: { name: 'lib', version: '1' }, spans: [span] };
    const body = bytes(JSON.stringify({ resource_spans: [{ instrumentation_library_spans: [old] }] }));
    expect(readJsonSpans(body).spans).toEqual([
      {
        traceId,
        spanId: good.spanId,
        parentSpanId: 'cd'.repeat(8),
        name: '',
        kind: 2,
        flags: 0x301,
        traceState: 'a=b',
        startNano: 1_780_000_000_000_000_001n,
        endNano: 1_780_000_000_000_000_002n,
        attributes: { k: ['a', 7] },
        events: [{ name: 'e', atNano: 5n, attributes: { b: true } }],
        links: [{ traceId, spanId: good.spanId, attributes: {} }],
        dropped: { attributes: 0, events: 3, links: 0 },
        statusCode: 2,
        statusMessage: 'no',
        scope: { name: 'lib', version: '1' },
        resource: {},
      },
    ]);
  });

  test('keeps 64 bits also where they come as numbers', () => {
    const text = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...good, attributes: ['here'] }] }] }] })
      .replace('"1780000000000000001"', '1780000000000000001')
      .replace('"here"', '{"key":"order","value":{"intValue":9007199254740993}}');
    const [span] = readJsonSpans(bytes(text)).spans;
    expect([span?.startNano, span?.attributes]).toEqual([1_780_000_000_000_000_001n, { order: '9007199254740993' }]);
  });

  test.each(['7', '[7,8]', '{"resourceSpans":7}', '{"resourceSpans":[{"scopeSpans":7}]}', '"x"', 'null'])(
    'that is no request is refused: %s',
    (text) => expect(() => readJsonSpans(bytes(text))).toThrow(RejectedError),
  );

  test('a resource that can not be read takes its own spans with it and no others', () => {
    const broken = { attributes: [{ key: 'n', value: { intValue: 'many' } }] };
    const both = { resourceSpans: [broken, {}].map((resource) => ({ resource, scopeSpans: [{ spans: [good] }] })) };
    expect(readJsonSpans(bytes(JSON.stringify(both)))).toMatchObject({ spans: [{ resource: {} }], rejected: 1 });
  });

  test('T1: what nests too deep is cut where it stands, text that is no UTF-8 is replaced, and all spans are kept', () => {
    const deep = `${'{"arrayValue":{"values":['.repeat(20_000)}{"boolValue":true}${']}}'.repeat(20_000)}`;
    const text = new TextDecoder().decode(request([{ ...good, attributes: [{ key: 'k', value: 0 }] }, good]));
    const { spans, rejected } = readJsonSpans(bytes(text.replace('"value":0', `"value":${deep}`)));
    expect([spans.length, rejected]).toEqual([2, 0]);
    expect(JSON.stringify(spans[0]?.attributes)).toContain('nested too deep');
    const broken = Uint8Array.from(request([{ ...good, name: 'a~b' }]), (byte) => (byte === 0x7e ? 0xff : byte));
    expect(readJsonSpans(broken).spans[0]?.name).toBe('a\ufffdb');
  });

  test('a clock that was set back in the middle of a span makes it short, not wrong', () => {
    const back = { ...good, endTimeUnixNano: '1779999999000000000' };
    const [span] = readJsonSpans(request([back])).spans;
    expect(span).toMatchObject({ endNano: 1_780_000_000_000_000_001n });
    const future = { ...good, endTimeUnixNano: '18446744073709551615' };
    expect(readJsonSpans(request([future])).reason).toBe('end_time_unix_nano is no time');
  });
});

describe('protobuf', () => {
  const field = (number: number, ...content: number[]): number[] => [
    number * 8 + 2,
    ...varint(content.length),
    ...content,
  ];
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
  const fixed = (number: number, value: bigint): number[] => {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, value, true);
    return [number * 8 + 1, ...new Uint8Array(view.buffer)];
  };
  const text = (number: number, value: string) => field(number, ...bytes(value));
  const ids = [
    ...field(1, ...Array.from({ length: 16 }, () => 0xab)),
    ...field(2, ...Array.from({ length: 8 }, () => 0xcd)),
  ];
  const requestOf = (...span: number[]) =>
    Uint8Array.from(field(1, ...field(2, ...text(3, 'unused'), ...field(2, ...span))));

  test('brings kind, flags, links, scope and what the sender left out', () => {
    const times = [...fixed(7, 1_780_000_000_000_000_001n), ...fixed(8, 1_780_000_000_000_000_002n)];
    const flags = [0x85, 0x01, 0x00, 0x03, 0x00, 0x00];
    const rest = [6 * 8, 5, 10 * 8, 4, 12 * 8, 5, 14 * 8, 6, ...text(3, 'a=b'), ...field(13, ...ids, ...text(3, 'x'))];
    const { spans } = readProtobufSpans(requestOf(...ids, ...times, ...rest, ...flags));
    expect(spans).toMatchObject([
      {
        kind: 5,
        flags: 0x300,
        traceState: 'a=b',
        dropped: { attributes: 4, events: 5, links: 6 },
        links: [{ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) }],
      },
    ]);
  });

  test('T1: a value that nests too deep is cut', () => {
    let value = text(1, 'x');
    for (let depth = 0; depth < 200; depth++) value = field(5, ...field(1, ...value));
    const attribute = field(9, ...text(1, 'k'), ...field(2, ...value));
    const { spans } = readProtobufSpans(
      requestOf(...ids, ...fixed(7, 1_780_000_000_000_000_001n), ...fixed(8, 1_780_000_000_000_000_001n), ...attribute),
    );
    expect(JSON.stringify(spans[0]?.attributes)).toContain('nested too deep');
  });

  test('without anything is a request without spans', () => {
    expect(readProtobufSpans(new Uint8Array())).toEqual({ spans: [], rejected: 0, reason: null });
  });
});

test.each<[Attributes, string]>([
  [{ 'openinference.span.kind': 'CHAIN', 'gen_ai.operation.name': 'chat' }, 'thought'],
  [{ 'openinference.span.kind': 'LLM', 'gen_ai.operation.name': 'something_new' }, 'thought'],
  [{ 'gen_ai.operation.name': 'embeddings', 'gen_ai.request.model': 'e-1' }, 'other'],
  [{ 'llm.request.type': 'unknown', 'gen_ai.request.model': 'm-1' }, 'thought'],
  [{ 'llm.request.type': 'rerank', 'gen_ai.request.model': 'm-1' }, 'other'],
  [{ 'gen_ai.span.kind': 'TOOL' }, 'call'],
  [{ 'mcp.method.name': 'tools/call' }, 'call'],
  [{ 'ai.toolCall.name': 'count' }, 'call'],
  [{ 'ai.model.id': 'm-1', 'ai.prompt': '{}' }, 'other'],
  [{ 'http.request.method': 'GET' }, 'other'],
])('%j is a %s', (attributes, kind) => expect(kindOf({ attributes, name: 'x' })).toBe(kind));

describe('messages', () => {
  const asked = { role: 'user', text: 'How many?' };
  const told = { role: 'assistant', text: 'Seven.' };
  test.each<[string, Attributes, SpanEvent[]]>([
    [
      'events of 1.27',
      {},
      [
        event('gen_ai.content.prompt', { 'gen_ai.prompt': '[{"role":"user","content":"How many?"}]' }),
        event('gen_ai.content.completion', { 'gen_ai.completion': '[{"role":"assistant","content":"Seven."}]' }),
      ],
    ],
    ['attributes of before', { 'gen_ai.prompt': 'How many?', 'gen_ai.completion': 'Seven.' }, []],
    [
      'one event with all details',
      {},
      [
        event('gen_ai.client.inference.operation.details', {
          'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'How many?' }] }],
          'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'text', content: 'Seven.' }] }],
        }),
      ],
    ],
    ['values of OpenInference alone', { 'input.value': 'How many?', 'output.value': 'Seven.' }, []],
    [
      'values that wrap a conversation',
      {
        'input.value': '{"messages":[[{"role":"system","content":"Count."},{"role":"user","content":"How many?"}]]}',
        'output.value': '{"generations":1,"output":{"messages":[{"kwargs":{"content":"Seven."}}]}}',
      },
      [],
    ],
    [
      'prompts and choices of OpenInference',
      { 'llm.prompts.0.prompt.text': 'How many?', 'llm.choices.0.completion.text': 'Seven.' },
      [],
    ],
    [
      'OpenLLMetry of before, with parts as JSON',
      {
        'llm.prompts.0.role': 'user',
        'llm.prompts.0.content': '[{"type":"text","text":"How many?"}]',
        'llm.completions.0.content': 'Seven.',
      },
      [],
    ],
    [
      'the AI SDK',
      {
        'ai.prompt.messages': '[{"role":"user","content":[{"type":"text","text":"How many?"}]}]',
        'ai.response.text': 'Seven.',
      },
      [],
    ],
  ])('of %s', (_name, attributes, events) => {
    const { input, output } = messagesOf(spanOf(attributes, events));
    expect([input.at(-1), output.at(-1)]).toMatchObject([
      attributes['llm.prompts.0.prompt.text'] ? { text: asked.text } : asked,
      told,
    ]);
  });

  test('calls, results and reasoning are found as each provider writes them', () => {
    const call = { id: 'c1', tool: 'count', args: '{"of":"orders"}' };
    const outputs: Attributes[] = [
      {
        'gen_ai.output.messages':
          '[{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"tool_use","id":"c1","name":"count","input":{"of":"orders"}}]}]',
      },
      { 'ai.response.toolCalls': '[{"toolCallId":"c1","toolName":"count","input":{"of":"orders"}}]' },
      {
        'gen_ai.completion.0.tool_calls.0.id': 'c1',
        'gen_ai.completion.0.tool_calls.0.name': 'count',
        'gen_ai.completion.0.tool_calls.0.arguments': '{"of":"orders"}',
      },
    ];
    for (const attributes of outputs) expect(messagesOf(spanOf(attributes)).output[0]?.calls).toEqual([call]);
    expect(messagesOf(spanOf(outputs[0] as Attributes)).output[0]?.reasoning).toBe('Hm.');
    const results: Attributes[] = [
      {
        'gen_ai.input.messages':
          '[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"7"}]}]',
      },
      { 'ai.prompt.messages': '[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","output":"7"}]}]' },
    ];
    for (const attributes of results)
      expect(messagesOf(spanOf(attributes)).input[0]).toMatchObject({ callId: 'c1', text: '7' });
  });

  test('what nobody understands is shown as it came', () => {
    expect(messagesOf(spanOf({ 'gen_ai.prompt': '{"odd":1}' })).input[0]?.text).toBe('{"odd":1}');
  });
});

test('arguments are what was asked for, not the schema that the tool declares', () => {
  const said = { 'tool.name': 'count', 'tool.parameters': '{"of":"string"}', 'input.value': '{"of":"orders"}' };
  expect(callOf(spanOf(said))).toMatchObject({ tool: 'count', args: '{"of":"orders"}' });
});

test('counts beyond all reason are none, and reasons to stop are words', () => {
  expect(usageOf(spanOf({ 'gen_ai.usage.input_tokens': 9e15, 'gen_ai.usage.output_tokens': '12' }))).toMatchObject({
    inputTokens: null,
    outputTokens: 12,
  });
  expect(finishReasonOf(spanOf({ 'gen_ai.response.finish_reasons': ['stop', 'length'] }))).toBe('stop, length');
});

test('what was said is told from what is known about it', () => {
  const attributes = { 'input.value': 'secret', 'gen_ai.prompt.0.content': 'secret', 'gen_ai.request.model': 'm-1' };
  expect(withoutContent(attributes)).toEqual({ 'gen_ai.request.model': 'm-1' });
});

test.each([
  [{ parentSpanId: null, flags: 0, kind: 1 }, true],
  [{ parentSpanId: 'x', flags: 0x301, kind: 1 }, true],
  [{ parentSpanId: 'x', flags: 0x101, kind: 2 }, false],
  [{ parentSpanId: 'x', flags: 0, kind: 2 }, true],
  [{ parentSpanId: 'x', flags: 0, kind: 1 }, false],
])('%j enters a process: %s', (span, expected) => expect(isEntry(span)).toBe(expected));

test('A7: what the sender left out, and what a span is beside its words, is kept', () => {
  const { record } = entryOfSpan(
    { ...base, dropped: { attributes: 2, events: 0, links: 0 } },
    { app: 'a', runId: 'r' },
  );
  expect(JSON.parse(record.body)).toMatchObject({
    dropped: { attributes: 2 },
    span: { kind: 1, scope: { name: 'agent' }, startNano: base.startNano.toString() },
  });
});
