/** OTLP over HTTP with the exporters of the OpenTelemetry SDK as they are, and an instrumentation from npm. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { trace, context, ROOT_CONTEXT, SpanStatusCode } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import OpenAI, * as openaiModule from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runSpanId, thoughtSpanId } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { agentSpans } from '../testing/agent-spans.ts';
import { otlpJsonOf } from '../testing/otlp-json.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { startStore, type Json, type StartedStore } from '../testing/start-store.ts';
import { readJsonSpans } from './json.ts';
import type { OtlpSpan } from './span.ts';

const servers = useTestServers();
let store: StartedStore;
let model: Server;

beforeAll(async () => {
  store = await startStore(servers);
  await store.putKey('demo');
  await store.putKey('other');
  for (const key of ['key-of-demo', 'key-of-other']) {
    await eventually(async () => (await store.ask('GET', '/v1/traces', { key })).status === 200);
  }
  model = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: 'Seven.', refusal: null };
    const usage = { prompt_tokens: 40, completion_tokens: 4, total_tokens: 44 };
    const choices = [{ index: 0, finish_reason: 'stop', message }];
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm-1', choices, usage }));
  }).listen(0, '127.0.0.1');
  await eventually(() => model.listening);
});
afterAll(async () => {
  model.close();
  await store.stop();
});

type TraceJson = { run: Json; records: { slot: string; kind: string; isOrphan?: boolean; body: Json }[] };
const traceOf = async (runId: string) => (await store.ask('GET', `/v1/traces/${runId}`)).json() as unknown as TraceJson;

/** The run that a trace became. */
async function runOf(traceId: string, key = 'key-of-demo'): Promise<string> {
  const items = (await store.ask('GET', '/v1/traces?source=otlp&limit=200', { key })).json()['items'] as unknown as {
    id: string;
    traceId: string;
  }[];
  return items.find((item) => item.traceId === traceId)?.id ?? '';
}

function providerWith(exporter: ProtobufExporter | JsonExporter): TracerProvider {
  return new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop-agent' }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
}
const settings = (more: object = {}) => ({
  url: `${store.url}/v1/traces`,
  headers: { authorization: 'Bearer key-of-demo' },
  ...more,
});

describe('the exporters of the OpenTelemetry SDK, as they are', () => {
  test.each([
    ['protobuf', () => new ProtobufExporter(settings())],
    ['protobuf with gzip', () => new ProtobufExporter(settings({ compression: 'gzip' }))],
    ['JSON', () => new JsonExporter(settings())],
    ['JSON with gzip', () => new JsonExporter(settings({ compression: 'gzip' }))],
  ])('in %s: an agent run is there as turns', async (_name, exporter) => {
    const provider = providerWith(exporter());
    const tracer = provider.getTracer('agent');
    const root = tracer.startSpan(
      'invoke_agent analyst',
      {
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'analyst',
          'input.value': 'How many?',
        },
      },
      ROOT_CONTEXT,
    );
    const inRoot = trace.setSpan(ROOT_CONTEXT, root);
    const chat = tracer.startSpan(
      'chat m-1',
      {
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'm-1',
          'gen_ai.usage.input_tokens': 100,
          'gen_ai.usage.output_tokens': 10,
          'gen_ai.output.messages': JSON.stringify([
            { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'count', arguments: {} }] },
          ]),
        },
      },
      inRoot,
    );
    chat.end();
    const tool = tracer.startSpan(
      'execute_tool count',
      {
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'count',
          'gen_ai.tool.call.id': 'c1',
        },
      },
      inRoot,
    );
    tool.recordException(new Error('no such table'));
    tool.setStatus({ code: SpanStatusCode.ERROR, message: 'no such table' });
    tool.end();
    root.end();
    await provider.forceFlush();
    await provider.shutdown();
    const { run, records } = await traceOf(await runOf(root.spanContext().traceId));
    expect(run).toMatchObject({ agent: 'analyst', status: 'ended', question: 'How many?', tokens: 110, toolCalls: 1 });
    const slots = ['started', 'span', 'thought.0', 'acted.0', 'observed.0.0', 'ended'];
    expect(records.map(({ slot }) => slot.replace(/^span.*/, 'span'))).toEqual(slots);
    expect(records[4]?.body).toMatchObject({ observation: { status: 'error', message: 'no such table' } });
  });

  test('with a GenAI instrumentation from npm: the model call of somebody else is a thought', async () => {
    const provider = providerWith(new ProtobufExporter(settings()));
    const instrumentation = new OpenAIInstrumentation({ tracerProvider: provider });
    instrumentation.manuallyInstrument(openaiModule as never);
    const baseURL = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
    const client = new OpenAI({ baseURL, apiKey: 'sk-test-abcdefgh12345678' });
    const tracer = provider.getTracer('agent');
    const root = tracer.startSpan(
      'agent',
      { attributes: { 'openinference.span.kind': 'AGENT', 'agent.name': 'helper' } },
      ROOT_CONTEXT,
    );
    await context.with(trace.setSpan(ROOT_CONTEXT, root), () =>
      client.chat.completions.create({ model: 'm-1', messages: [{ role: 'user', content: 'How many?' }] }),
    );
    root.end();
    await provider.forceFlush();
    await provider.shutdown();
    instrumentation.disable();
    const items = (await store.ask('GET', '/v1/traces?source=otlp&limit=200')).json()['items'] as unknown as {
      id: string;
      tokens: number;
    }[];
    const found = items.find(({ tokens }) => tokens === 44);
    const { records } = await traceOf(found?.id ?? '');
    const thought = records.find(({ kind }) => kind === 'thought');
    expect(thought?.body).toMatchObject({ text: 'Seven.', route: { model: 'm-1' } });
    expect(JSON.stringify(thought?.body['messages'])).toContain('How many?');
  });
});

async function send(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const response = await fetch(`${store.url}/v1/traces`, {
    method: 'POST',
    headers: { authorization: 'Bearer key-of-demo', 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: response.status, body: (await response.json()) as Record<string, Json> };
}

const startNano = BigInt(Date.now() - 60_000) * 1_000_000n;

test('T3: the same 200 spans in any order and cut, sent twice, give the same rows', async () => {
  const rowsOf = async (traceId: string) => {
    const rows = await store.database.query<{ row: string }>(
      `select (to_jsonb(runs) - 'run_id' - 'trace_id' - 'start_rank' - 'end_rank')::text as row from traces.runs where trace_id = $1
       union all
       select (to_jsonb(records) - 'run_id' - 'trace_id' - 'span_id' - 'parent_span_id' - 'slot' - 'stored_at')::text
       from traces.records where trace_id = $1 order by 1`,
      [traceId],
    );
    return rows.map(({ row }) => row).join('\n');
  };
  const texts: string[] = [];
  const [seeds] = fc.sample(fc.array(fc.integer(), { minLength: 5, maxLength: 5 }), 1);
  for (const [number, seed] of (seeds ?? []).entries()) {
    const traceId = `${number + 1}`.repeat(32);
    const spans = Array.from({ length: 50 }, (_, at) =>
      agentSpans('openinference', traceId, startNano + BigInt(at) * 1_000_000_000n).map((span, which) => ({
        ...span,
        spanId: `${(at + 16).toString(16)}${span.spanId.slice(2)}`,
        parentSpanId: at === 0 && which === 0 ? null : `10${span.spanId.slice(2, 14)}a1`,
      })),
    ).flat();
    const [order] = fc.sample(fc.shuffledSubarray([...spans, ...spans], { minLength: 400 }), { numRuns: 1, seed });
    for (let from = 0; from < 400; from += 60)
      expect((await send(otlpJsonOf(order?.slice(from, from + 60) ?? []))).status).toBe(200);
    texts.push(await rowsOf(traceId));
  }
  expect(texts[0]?.split('\n')).toHaveLength(201);
  expect(new Set(texts).size).toBe(1);
});

test('T7: a parent that comes hours later joins the run of its children', async () => {
  const traceId = 'c7'.repeat(16);
  const [agent, ...rest] = agentSpans('genai', traceId, startNano);
  await send(otlpJsonOf(rest));
  const runId = await runOf(traceId);
  const before = await traceOf(runId);
  expect(before.run['status']).toBe('running');
  expect(before.records.filter(({ isOrphan }) => isOrphan).map(({ slot }) => slot)).toEqual([
    'thought.0',
    'observed.0.0',
    'thought.1',
  ]);
  const late = { ...(agent as OtlpSpan), startNano: startNano - 13n * 3_600_000_000_000n };
  await send(otlpJsonOf([late]));
  const afterwards = await traceOf(runId);
  expect(await runOf(traceId)).toBe(runId);
  expect(afterwards.run).toMatchObject({ status: 'ended', agent: 'analyst', tokens: 330, user: 'ana' });
  expect(afterwards.records.some(({ isOrphan }) => isOrphan)).toBe(false);
});

test('what can not be kept is counted, and the rest of the request is', async () => {
  const traceId = 'd1'.repeat(16);
  const spans = agentSpans('genai', traceId, startNano);
  const { status, body } = await send(otlpJsonOf([...spans, { ...(spans[0] as OtlpSpan), spanId: '0'.repeat(16) }]));
  expect([status, body['partialSuccess']]).toEqual([
    200,
    { rejectedSpans: '1', errorMessage: 'span_id must be 8 bytes, not all zero' },
  ]);
  expect((await traceOf(await runOf(traceId))).records).toHaveLength(7);
});

test('T1: hostile text is stored with a mark, and the next spans flow', async () => {
  const traceId = 'e1'.repeat(16);
  const [agent, ...rest] = agentSpans('genai', traceId, startNano);
  const hostile = {
    ...(agent as OtlpSpan),
    attributes: { ...agent?.attributes, 'gen_ai.agent.name': 'a\u0000b', 'k\u0000': '\ud800' },
  };
  expect((await send(otlpJsonOf([hostile, ...rest]))).status).toBe(200);
  expect((await traceOf(await runOf(traceId))).run['agent']).toBe('a\ufffdb');
});

test('T13: secrets are out before a span is stored', async () => {
  const traceId = 'f1'.repeat(16);
  const [agent, ...rest] = agentSpans('genai', traceId, startNano);
  const leaky = {
    ...(agent as OtlpSpan),
    attributes: {
      ...agent?.attributes,
      'input.value': '{"api_key":"sk-test-zzz999zzz999"}',
      authorization: 'Basic dTpzZWNyZXQ=',
    },
  };
  await send(otlpJsonOf([leaky, ...rest]));
  const rows = await store.database.query('select body from traces.records where trace_id = $1', [traceId]);
  const texts = await store.database.query('select text from traces.contents');
  expect(JSON.stringify([rows, texts])).not.toMatch(/zzz999|dTpzZWNyZXQ/);
});

describe('requests that are refused', () => {
  test('above 64 MiB once unpacked, and without a key before anything is read', async () => {
    const bomb = gzipSync(Buffer.alloc(65 * 1_048_576, 0x20));
    expect((await send(new Uint8Array(bomb), { 'content-encoding': 'gzip' })).status).toBe(413);
    expect(
      (await send(new Uint8Array(bomb), { 'content-encoding': 'gzip', authorization: 'Bearer nobody' })).status,
    ).toBe(401);
  });

  test.each([
    ['{"resourceSpans":', {}, 400],
    ['no gzip', { 'content-encoding': 'gzip' }, 400],
    ['{}', { 'content-encoding': 'br' }, 415],
    ['{}', { 'content-type': 'text/plain' }, 415],
    ['\u0001\u0002', { 'content-type': 'application/x-protobuf' }, 400],
  ])('%j with %j: %i', async (body, headers, status) => {
    expect((await send(body, headers)).status).toBe(status);
  });
});

test('a trace belongs to the app whose key sent it', async () => {
  const traceId = 'a9'.repeat(16);
  await send(otlpJsonOf(agentSpans('genai', traceId, startNano)));
  const runId = await runOf(traceId);
  expect((await store.ask('GET', `/v1/traces/${runId}`, { key: 'key-of-other' })).status).toBe(404);
  await send(otlpJsonOf(agentSpans('genai', traceId, startNano)), { authorization: 'Bearer key-of-other' });
  const otherRun = await runOf(traceId, 'key-of-other');
  expect(otherRun).not.toBe(runId);
  expect((await traceOf(runId)).records).toHaveLength(7);
});

describe('a run goes out as spans', () => {
  test('of Pawl, under the names of the conventions and the ids of its own telemetry, without content unless asked', async () => {
    const startedAt = new Date(Date.now() - 60_000).toISOString();
    const runId = runIdAt(startedAt, 'goes out');
    const facts = salesRunFacts({ app: 'demo', runId, startedAt });
    await store.publish(facts);
    await eventually(async () => (await store.countOf(runId)) === facts.length);
    const plain = await store.ask('GET', `/v1/traces/${runId}/otlp`);
    const { spans, rejected } = readJsonSpans(new TextEncoder().encode(plain.text));
    expect([spans.length, rejected]).toEqual([1 + 5 + 6, 0]);
    expect(spans[0]).toMatchObject({
      name: 'invoke_agent sales-analyst',
      spanId: runSpanId(runId),
      parentSpanId: null,
    });
    expect(spans[1]).toMatchObject({
      name: 'chat sim-smart',
      spanId: thoughtSpanId(runId, 0),
      parentSpanId: runSpanId(runId),
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.usage.input_tokens': 912,
        'pawl.cost.nano_usd': '1168000',
      },
    });
    const failed = spans.find(({ statusCode }) => statusCode === 2);
    expect(failed).toMatchObject({ name: 'execute_tool execute_sql', attributes: { 'error.type': 'tool_failed' } });
    expect(plain.text).not.toContain('figures');
    expect((await store.ask('GET', `/v1/traces/${runId}/otlp?content=true`)).text).toContain('figures');
    expect((await store.ask('GET', `/v1/traces/${runId}/otlp`, { key: 'key-of-other' })).status).toBe(404);
  });

  test('of another agent, as they came, and without content unless asked', async () => {
    const traceId = 'b3'.repeat(16);
    const came = agentSpans('openinference', traceId, startNano).map((span) => ({
      ...span,
      kind: 3,
      scope: { name: 'their-sdk', version: '2' },
      startNano: span.startNano + 7n,
      endNano: span.endNano + 8n,
    }));
    await send(otlpJsonOf(came));
    const sent = async (query = '') => {
      const { text } = await store.ask('GET', `/v1/traces/${await runOf(traceId)}/otlp${query}`);
      return readJsonSpans(new TextEncoder().encode(text)).spans.toSorted((a, b) => Number(a.startNano - b.startNano));
    };
    const whole = await sent('?content=true');
    const plain = (span: OtlpSpan) => ({ ...span, attributes: {} });
    expect(whole.map(plain)).toEqual(came.map(plain));
    expect(whole[0]?.attributes).toEqual(came[0]?.attributes);
    expect(whole[1]?.attributes['gen_ai.output.messages']).toContain('count_orders');
    const bare = await sent();
    expect(bare[0]?.attributes).toMatchObject({ 'agent.name': 'analyst' });
    expect(JSON.stringify(bare.map(({ attributes }) => attributes))).not.toMatch(/cancelled|"count"/);
  });
});

test('a request without spans is taken, in protobuf without so much as a byte', async () => {
  const headers = { authorization: 'Bearer key-of-demo', 'content-type': 'application/x-protobuf' };
  const response = await fetch(`${store.url}/v1/traces`, { method: 'POST', headers, body: new Uint8Array() });
  expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, 0]);
  expect((await send('{}')).status).toBe(200);
});
