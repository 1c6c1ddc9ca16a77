/** Who may see and do what, over HTTP, on real servers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buckets, objectStream, streams, subjects, type Fact } from '@pawl/contracts';
import { createKvReader } from '../testing/kv-reader.ts';
import { eventually, useTestServers } from '@pawl/testkit';
import { adminKey, startStore, type StartedStore } from '../testing/start-store.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';

const servers = useTestServers();
let store: StartedStore;

beforeAll(async () => {
  store = await startStore(servers, { PAWL_TRACE_RETENTION: 'standard,short=7d', PAWL_TRACE_MAINTENANCE_MS: '200' });
  await store.putKey('demo');
  await store.putKey('demo.explainer', ['traces:explain']);
  await store.putKey('demo.operator', ['traces:operate']);
  await store.putKey('other');
  const knows = async (key: string) => (await store.ask('GET', '/v1/traces', { key })).status !== 401;
  for (const key of ['key-of-demo', 'key-of-demo.explainer', 'key-of-demo.operator', 'key-of-other']) {
    await eventually(() => knows(key), { what: `${key} is known` });
  }
});
afterAll(() => store.stop());

async function storedRun(seed: string, change: (facts: Fact[]) => Fact[] = (facts) => facts): Promise<string> {
  const startedAt = new Date(Date.now() - 3_600_000).toISOString();
  const runId = runIdAt(startedAt, seed);
  const facts = change(salesRunFacts({ app: 'demo', runId, startedAt }));
  await store.publish(facts);
  await eventually(async () => (await store.countOf(runId)) === facts.length);
  return runId;
}

const explainer = { key: 'key-of-demo.explainer' };
const operator = { key: 'key-of-demo.operator' };

describe('roles', () => {
  test.for([
    ['GET', '/v1/traces?limit=x', operator, undefined],
    ['GET', '/v1/traces/compare?a=1', operator, undefined],
    ['POST', '/v1/traces/holds', explainer, { reson: 'misspelt' }],
    ['PUT', '/v1/traces/settings', explainer, { class: 7 }],
    ['GET', '/v1/traces/reads?limit=x', explainer, undefined],
  ] as const)('%s %s is refused before what was sent is looked at', async ([method, path, who, body]) => {
    expect((await store.ask(method, path, { ...who, body })).status).toBe(403);
    expect((await store.ask(method, path, { key: 'nobody', body })).status).toBe(401);
  });

  test('who explains runs to people sees what was done and the answer, but no thoughts and no raw errors', async () => {
    const runId = await storedRun('roles');
    const whole = (await store.ask('GET', `/v1/traces/${runId}`)).text;
    const { text, json } = await store.ask('GET', `/v1/traces/${runId}`, explainer);
    expect(whole).toContain('nothing about the figures yet');
    expect(whole).toContain('rawError');
    expect(text).not.toContain('nothing about the figures yet');
    expect(text).not.toContain('rawError');
    expect(text).toContain('delivery date could not be met');
    expect([JSON.parse(whole), json()]).toMatchObject([{ lens: 'whole' }, { lens: 'explained' }]);
    expect(json()['run']?.['answer']).toContain('Completed sales revenue fell');
    const body = await store.ask('GET', `/v1/traces/${runId}/records/thought.0`, explainer);
    expect(body.json()['text']).toBe('');
  });

  test('who operates the store sees nothing that users said, and nobody else operates it', async () => {
    expect((await store.ask('GET', '/v1/traces', operator)).status).toBe(403);
    for (const key of ['key-of-demo', 'key-of-demo.explainer']) {
      for (const path of ['holds', 'erasures', 'reads', 'settings']) {
        expect((await store.ask('GET', `/v1/traces/${path}`, { key })).status).toBe(403);
      }
    }
    expect((await store.ask('GET', '/v1/traces/holds?app=other', operator)).status).toBe(403);
    expect((await store.ask('GET', '/v1/traces/holds?app=demo', { key: adminKey })).status).toBe(200);
    expect((await store.ask('GET', '/v1/traces/holds', { key: adminKey })).status).toBe(400);
  });

  test('every read of a run is noted: who, what, how often, before it is answered', async () => {
    const runId = await storedRun('noted');
    await store.ask('GET', `/v1/traces/${runId}`);
    await store.ask('GET', `/v1/traces/${runId}`);
    await store.ask('GET', `/v1/traces/${runId}/records/ended`, explainer);
    const { json } = await store.ask('GET', `/v1/traces/reads?runId=${runId}`, operator);
    const items = json()['items'] as unknown as Record<string, unknown>[];
    const total = (keyId: string, action: string) =>
      items
        .filter((read) => read['keyId'] === keyId && read['action'] === action)
        .reduce((sum, read) => sum + Number(read['count']), 0);
    expect([total('demo', 'trace'), total('demo.explainer', 'body')]).toEqual([2, 1]);
    await store.database.query('alter table traces.reads rename to reads_away');
    expect((await store.ask('GET', `/v1/traces/${runId}`)).status).toBe(500);
    await store.database.query('alter table traces.reads_away rename to reads');
  });
});

describe('what an app wants', () => {
  test('T13: is taken out before it is stored; secrets are without asking', async () => {
    const redaction = { fields: ['ticket_text'], personal: ['email'], patterns: ['ORD-[0-9]+'] };
    const put = await store.ask('PUT', '/v1/traces/settings', {
      ...operator,
      body: { redaction, traceUrl: 'https://tempo.example.com/trace/{traceId}' },
    });
    expect([put.status, put.json()]).toEqual([
      200,
      { class: 'standard', redaction, traceUrl: 'https://tempo.example.com/trace/{traceId}' },
    ]);
    const told = await createKvReader(store.bus);
    expect(JSON.parse((await told('redaction.demo')) ?? '')).toEqual(redaction);
    const secrets = ['sk-test-abcdef123456', 'ana@example.com', 'ORD-77', 'my secret story'];
    const runId = await storedRun('redacted', ([started, ...rest]) => [
      {
        ...(started as Extract<Fact, { kind: 'started' }>),
        input: `key sk-test-abcdef123456 of ana@example.com for ORD-77`,
        environment: { ticket_text: 'my secret story', url: 'https://x.example/?key=sk-test-abcdef123456' },
      },
      ...rest.map((fact) =>
        fact.kind === 'observed' ? { ...fact, rawError: 'Authorization: Basic c2VjcmV0OnNlY3JldA==' } : fact,
      ),
    ]);
    const rows = await store.database.query(
      `select (select string_agg(records::text, ' ') from traces.records where run_id = $1)
           || (select string_agg(runs::text, ' ') from traces.runs where run_id = $1)
           || coalesce((select string_agg(contents::text, ' ') from traces.contents where run_id = $1), '') as everything`,
      [runId],
    );
    const everything = JSON.stringify(rows);
    for (const secret of [...secrets, 'c2VjcmV0']) expect(everything).not.toContain(secret);
    const trace = (await store.ask('GET', `/v1/traces/${runId}`)).json();
    expect(trace['run']?.['question']).toBe('key [redacted] of [redacted] for [redacted]');
    expect(trace['links']?.['trace']).toBe(`https://tempo.example.com/trace/${textOf(trace['run']?.['traceId'])}`);
  });

  test.each([
    [{ class: 'unknown' }, 'class'],
    [{ redaction: { patterns: ['(a'] } }, 'RE2'],
    [{ redaction: { personal: ['shoe size'] } }, 'personal'],
    [{ traceUrl: 'javascript:{traceId}' }, 'traceId'],
  ])('%j is refused with a sentence', async (body, word) => {
    const { status, text } = await store.ask('PUT', '/v1/traces/settings', { ...operator, body });
    expect([status, text.includes(word)]).toEqual([400, true]);
  });
});

test('holds and erasures over HTTP, with progress and proof', async () => {
  const runId = await storedRun('erased', ([started, ...rest]) => [
    { ...(started as Extract<Fact, { kind: 'started' }>), user: { id: 'bruna' } },
    ...rest,
  ]);
  const hold = await store.ask('POST', '/v1/traces/holds', { ...operator, body: { user: 'bruna', reason: 'case 7' } });
  expect(hold.status).toBe(201);
  const asked = await store.ask('POST', '/v1/traces/erasures', { ...operator, body: { user: 'bruna' } });
  expect(asked.status).toBe(202);
  const path = `/v1/traces/erasures/${textOf(asked.json()['id'])}`;
  const until = (status: string) =>
    eventually(async () => {
      const erasure = (await store.ask('GET', path, operator)).json();
      return textOf(erasure['status']) === status ? erasure : undefined;
    });
  expect((await until('held'))['runsHeld']).toBe(1);
  expect((await store.ask('DELETE', `/v1/traces/holds/${textOf(hold.json()['id'])}`, operator)).status).toBe(204);
  const { runsErased, recordsErased, proof } = await until('finished');
  expect([runsErased, recordsErased]).toEqual([1, 17]);
  expect(proof).toMatchObject({ runs: 1, rowsLeft: 0, factsLeft: 0 });
  expect((await store.ask('GET', `/v1/traces/${runId}`)).status).toBe(404);
});

test('publishes how far facts are stored, and measures the way there', async () => {
  await storedRun('measured');
  const last = (await store.bus.jsm.streams.info(streams.runs)).state.last_seq;
  const stored = await createKvReader(store.bus);
  await eventually(async () => Number(JSON.parse((await stored('traces_stored')) ?? '{}').sequence) >= last);
  const metrics = await (await fetch(`${store.url}/metrics`)).text();
  expect(metrics).toContain('pawl_traces_lag_facts 0');
  expect(metrics).toContain('pawl_traces_lag_seconds 0');
  expect(metrics).toMatch(/gen_ai_client_inference_duration_seconds_count\{purpose="think",outcome="reply"\} \d+/);
  expect(metrics).toMatch(/gen_ai_client_inference_usage_input_tokens_total\{purpose="think"\} \d+/);
  expect(metrics).toMatch(/pawl_runs_ended_total\{stop_reason="final_answer"\} \d+/);
  expect(metrics).not.toContain('sales-analyst');
});

describe('the archive', () => {
  const startArchiving = () =>
    startStore(servers, { PAWL_TRACE_ARCHIVE_AFTER_MINUTES: '1', PAWL_TRACE_MAINTENANCE_MS: '200' });
  const inLog = async (runId: string) => {
    const filter = subjects.factsOfRun('demo', runId);
    const { state } = await store.bus.jsm.streams.info(streams.runs, { subjects_filter: filter });
    return Object.keys(state.subjects ?? {}).length;
  };

  const bodies = async () => (await store.bus.jsm.streams.info(objectStream(buckets.claims))).state.messages;

  test('takes stored, ended runs out of the log with the bodies of their facts, and only those', async () => {
    const archiving = await startArchiving();
    try {
      const running = await storedRun('goes on', (facts) => facts.slice(0, -1));
      const before = await bodies();
      const ended = await storedRun('ended long ago', ([started, ...facts]) => [
        { ...started, input: 'Why? '.repeat(400_000) } as Fact,
        ...facts,
      ]);
      await eventually(async () => (await inLog(ended)) === 0, { what: 'the ended run leaves the log' });
      await eventually(async () => (await bodies()) === before, { what: 'the body of its first fact goes, too' });
      expect(await inLog(running)).toBe(16);
      expect((await store.ask('GET', `/v1/traces/${ended}`)).json()['records']).toHaveLength(17);
    } finally {
      await archiving.stop();
    }
  });

  test('deletes nothing of another run where the log has lost its tail, and what waits for an ended run', async () => {
    const running = await storedRun('goes on', (facts) => facts.slice(0, -1));
    const ended = await storedRun('was written again, behind');
    // As if this run had been stored from where the other one stands now.
    await store.database.query(
      `update traces.records as ended set sequence = running.sequence from traces.records as running
       where ended.run_id = $1 and running.run_id = $2 and running.slot = ended.slot`,
      [ended, running],
    );
    const [work, other] = [ended, running].map((runId) => `pawl.act.default.demo.${runId}.0.0`);
    await Promise.all([work, other].map((subject) => store.bus.js.publish(subject ?? '', '{}')));
    const archiving = await startArchiving();
    try {
      await eventually(async () => (await inLog(ended)) === 0, { what: 'the ended run leaves the log' });
      expect(await inLog(running)).toBe(16);
      const { state } = await store.bus.jsm.streams.info(streams.act, { subjects_filter: '>' });
      expect(Object.keys(state.subjects ?? {})).toEqual([other]);
    } finally {
      await archiving.stop();
    }
  });
});

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
