/** What becomes of the traces of other agents: when they are over, where they lie, how they go, what is not taken. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { agentSpans } from '../testing/agent-spans.ts';
import { otlpJsonOf } from '../testing/otlp-json.ts';
import { startStore, type Json, type StartedStore } from '../testing/start-store.ts';
import type { OtlpSpan } from './span.ts';

const servers = useTestServers();
const startNano = BigInt(Date.now() - 60_000) * 1_000_000n;
let store: StartedStore;

beforeAll(async () => {
  store = await startStore(servers);
  await store.putKey('demo');
  await store.putKey('demo.operator', ['traces:operate']);
  await eventually(async () => (await store.ask('GET', '/v1/traces')).status === 200);
});
afterAll(() => store?.stop());

async function send(spans: readonly OtlpSpan[]): Promise<Json> {
  const response = await store.ask('POST', '/v1/traces', { body: JSON.parse(otlpJsonOf(spans)) });
  expect(response.status).toBe(200);
  return response.json();
}

/** The run that a trace became, or nothing. */
async function runOf(traceId: string): Promise<string> {
  const rows = await store.database.query<{ run_id: string }>('select run_id from traces.runs where trace_id = $1', [
    traceId,
  ]);
  return rows[0]?.run_id ?? '';
}

const traceOf = async (runId: string) => (await store.ask('GET', `/v1/traces/${runId}`)).json();

const agentOf = (traceId: string) => agentSpans('genai', traceId, startNano);

test('T8: goes on while anything around its agent has not come, and is over with it', async () => {
  const traceId = '81'.repeat(16);
  const [agent, ...rest] = agentOf(traceId) as [OtlpSpan, ...OtlpSpan[]];
  const outer = { ...agent, spanId: '8'.repeat(16), parentSpanId: null, name: 'POST /ask', attributes: {} };
  await send([{ ...agent, parentSpanId: outer.spanId }, ...rest]);
  const runId = await runOf(traceId);
  expect((await traceOf(runId))['run']).toMatchObject({
    status: 'running',
    stopReason: null,
    endedAt: null,
    answer: null,
    agent: 'analyst',
  });
  await send([outer]);
  expect((await traceOf(runId))['run']).toMatchObject({
    status: 'ended',
    stopReason: 'final_answer',
    answer: 'Seven orders were cancelled.',
    agent: 'analyst',
  });
});

test('is over with its agent where the parent is known to be elsewhere', async () => {
  const traceId = '82'.repeat(16);
  const [agent, ...rest] = agentOf(traceId) as [OtlpSpan, ...OtlpSpan[]];
  await send([{ ...agent, parentSpanId: '8'.repeat(16), flags: 0x300 }, ...rest]);
  expect((await traceOf(await runOf(traceId)))['run']).toMatchObject({ status: 'ended', tokens: 330 });
  // Who called it reports as well, and goes on.
  const caller = { ...agent, spanId: '8'.repeat(16), parentSpanId: '7'.repeat(16), name: 'POST', attributes: {} };
  await send([caller]);
  expect((await traceOf(await runOf(traceId)))['run']).toMatchObject({ status: 'running', stopReason: null });
  await send([{ ...caller, spanId: '7'.repeat(16), parentSpanId: null, name: 'GET /' }]);
  expect((await traceOf(await runOf(traceId)))['run']).toMatchObject({ status: 'ended', stopReason: 'final_answer' });
});

test('T9: of any age and from any clock is found by its time, and makes no tables of its own', async () => {
  const weeks = async () =>
    (await store.database.query(`select 1 from pg_class where relname ~ '^runs_standard_w' and relkind = 'r'`)).length;
  const before = await weeks();
  const times = ['1999-01-02T03:04:05.000Z', '2018-12-13T14:51:00.000Z', '2044-05-05T05:05:05.000Z'];
  for (const [number, time] of times.entries()) {
    const traceId = `9${number}`.repeat(16);
    await send(agentSpans('genai', traceId, BigInt(Date.parse(time)) * 1_000_000n));
    const near = `from=${time}&to=${new Date(Date.parse(time) + 1_000).toISOString()}`;
    const { items } = (await store.ask('GET', `/v1/traces?source=otlp&${near}`)).json() as never as {
      items: { traceId: string }[];
    };
    expect([time, items.map((item) => item.traceId)]).toEqual([time, [traceId]]);
  }
  expect((await weeks()) - before).toBeLessThanOrEqual(2);
});

test('is erased whether it has ended or not, and late spans of it stay out', async () => {
  const traceId = '83'.repeat(16);
  const [agent, ...rest] = agentOf(traceId) as [OtlpSpan, ...OtlpSpan[]];
  const attributes = { ...agent.attributes, 'user.id': 'leaver' };
  await send([{ ...agent, attributes, parentSpanId: '8'.repeat(16) }]);
  const runId = await runOf(traceId);
  const path = '/v1/traces/erasures';
  expect((await store.ask('GET', '/v1/traces/export?user=leaver')).text).toContain(runId);
  const asked = () => store.ask('POST', path, { key: 'key-of-demo.operator', body: { user: 'leaver' } });
  const { id } = (await eventually(async () => {
    const answer = await asked();
    return answer.status === 202 ? answer.json() : undefined;
  })) as never as { id: string };
  await eventually(async () => {
    const { text } = await store.ask('GET', `${path}/${id}`, { key: 'key-of-demo.operator' });
    return text.includes('"finished"');
  });
  await send(rest.map((span) => ({ ...span, startNano: span.startNano - 5_000_000_000n })));
  expect([await store.countOf(runId), await runOf(traceId)]).toEqual([0, '']);
  const notes = await store.database.query(`select detail from traces.reads where action = 'export'`);
  expect(notes).toEqual([{ detail: expect.stringMatching(/^\{"user":"sha256:[0-9a-f]{64}"\}$/) }]);
});

test('T1: a span that Postgres refuses is counted, and its neighbours are kept', async () => {
  await store.database.query(
    `create function refuse() returns trigger language plpgsql as
     $$begin raise exception 'no' using errcode = '22023'; end$$`,
  );
  await store.database.query(
    `create trigger refuse before insert on traces.records for each row when (new.tool = 'refused') execute function refuse()`,
  );
  const traceId = '84'.repeat(16);
  const spans = agentOf(traceId).map((span) =>
    'gen_ai.tool.name' in span.attributes
      ? { ...span, attributes: { ...span.attributes, 'gen_ai.tool.name': 'refused' } }
      : span,
  );
  const answer = await send(spans);
  await store.database.query('drop trigger refuse on traces.records');
  expect(answer['partialSuccess']).toEqual({ rejectedSpans: '1', errorMessage: 'a span could not be stored' });
  expect((await store.ask('GET', '/metrics')).text).toContain('pawl_otlp_spans_total{outcome="refused"} 1');
  expect((await traceOf(await runOf(traceId)))['run']).toMatchObject({ tokens: 330, toolCalls: 0 });
});
