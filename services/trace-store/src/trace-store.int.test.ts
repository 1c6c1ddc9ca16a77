/** trace-store as a whole, on real NATS and Postgres. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectBus, connectKeys, publishFact, type Bus, type Keys } from '@pawl/bus';
import { sha256, streams, type Fact, type Scope } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { buildPage } from '../web/build.mjs';
import { loadConfig } from './config.ts';
import { consumerName } from './facts.ts';
import { schema } from './schema.ts';
import { createTraceStore, type TraceStore } from './service.ts';
import { runIdAt, salesRunFacts } from './testing/sales-run.ts';

const servers = useTestServers();
const startedAt = '2026-03-02T08:00:00.000Z';
const adminKey = 'admin-key';
let store: TraceStore;
let bus: Bus;
let keys: Keys;
let database: Database;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  const environment = {
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_PORT: '0',
    PAWL_HOST: '127.0.0.1',
    PAWL_ADMIN_KEY: adminKey,
  };
  store = await createTraceStore(loadConfig(environment), createLog('trace-store', 'silent'));
  await startParts(store.parts);
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  keys = await connectKeys(bus);
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  await Promise.all([putKey('demo'), putKey('other'), putKey('poor', ['runs:read'])]);
  await eventually(async () => (await get('/v1/traces', 'poor')).status === 403, { what: 'the keys are known' });
});
afterAll(async () => {
  await database.close();
  keys.close();
  await bus.close();
  await stopParts(store.parts);
});

const putKey = (app: string, scopes: Scope[] = ['traces']) =>
  keys.put(sha256(`key-of-${app}`), { id: app, app, scopes, expiresAt: null });

async function get(path: string, app: string | undefined = 'demo', headers: Record<string, string> = {}) {
  const authorization =
    app === undefined ? {} : { authorization: `Bearer ${app === adminKey ? app : `key-of-${app}`}` };
  const response = await fetch(store.url() + path, { headers: { ...authorization, ...headers } });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
}

async function publish(facts: Fact[]): Promise<void> {
  for (const fact of facts) await publishFact(bus, fact, newTraceContext());
}

function salesRun(seed: string, app = 'demo') {
  const runId = runIdAt(startedAt, seed);
  return { runId, facts: salesRunFacts({ app, runId, startedAt }) };
}

const stored = async (runId: string) => {
  const rows = await database.query<{ slot: string }>('select slot from traces.records where run_id = $1', [runId]);
  return rows.map(({ slot }) => slot);
};
const untilStored = (runId: string, count: number) =>
  eventually(async () => (await stored(runId)).length === count, { what: `${count} records of ${runId}` });
const consumerInfo = () => bus.jsm.consumers.info(streams.runs, consumerName);

describe('the run log becomes rows', () => {
  test('a run is there as it was written, in story order, with its roll-up', async () => {
    const { runId, facts } = salesRun('whole');
    await publish(facts);
    await untilStored(runId, facts.length);
    const { run, records, missing, unreadable } = (await get(`/v1/traces/${runId}`)).json();
    expect(run).toMatchObject({
      id: runId,
      app: 'demo',
      agent: 'sales-analyst',
      status: 'ended',
      stopReason: 'final_answer',
    });
    expect(run).toMatchObject({ steps: 5, toolCalls: 6, tokens: 9_381, user: 'lin.wei', durationMs: 3_220 });
    expect(run.cost).toEqual({ nanoUsd: '11061000', amount: '0.011061', currency: 'USD' });
    expect(records.map(({ body }: { body: Fact }) => body)).toEqual(facts);
    expect(records[7]).toMatchObject({
      slot: 'observed.1.1',
      step: 2,
      tool: 'aggregate_metric',
      status: 'ok',
      durationMs: 51,
    });
    expect(records[1]).toMatchObject({ tokens: { input: 912, output: 64 }, costNanoUsd: '1168000', purpose: 'think' });
    expect([missing, unreadable]).toEqual([[], []]);
  });

  test('T4: nothing is acknowledged before its commit, and a failed write is made good exactly once', async () => {
    const { runId, facts } = salesRun('locked');
    const before = await consumerInfo();
    await database.transaction(async (client) => {
      await client.query('lock table traces.records in access exclusive mode');
      await publish(facts.slice(0, 6));
      const waiting = `from pg_stat_activity where application_name = 'pawl-trace-store' and wait_event_type = 'Lock'`;
      await eventually(async () => (await database.query(`select pid ${waiting}`)).length > 0);
      expect((await consumerInfo()).ack_floor.stream_seq).toBe(before.ack_floor.stream_seq);
      // Others than the writer may wait, too; a transaction sees one state of activity only, so it is asked outside of this one.
      await eventually(
        async () => {
          await database.query(`select pg_terminate_backend(pid) ${waiting}`);
          return !(await isReady()).facts;
        },
        { what: 'readiness tells of the failed write' },
      );
    });
    await untilStored(runId, 6);
    await eventually(async () => (await consumerInfo()).ack_floor.stream_seq >= before.ack_floor.stream_seq + 6);
    expect((await get(`/v1/traces/${runId}`)).json().run).toMatchObject({ status: 'running', tokens: 976 + 1_345 });
  });

  test('T5: a deleted consumer is made again, and reading everything twice changes nothing', async () => {
    const { runId, facts } = salesRun('twice');
    await publish(facts);
    await untilStored(runId, facts.length);
    const before = await get(`/v1/traces/${runId}`);
    const last = (await bus.jsm.streams.info(streams.runs)).state.last_seq;
    await eventually(async () => (await consumerInfo()).ack_floor.stream_seq === last);
    await bus.jsm.consumers.delete(streams.runs, consumerName);
    await eventually(async () => (await consumerInfo()).ack_floor.stream_seq === last, { what: 'all is read again' });
    expect((await get(`/v1/traces/${runId}`)).text).toBe(before.text);
    await eventually(async () => (await isReady()).facts, { what: 'it says that it is ready again' });
  });

  test('T1: poison is set aside with its reason, and what follows flows', async () => {
    const { runId, facts } = salesRun('poison');
    const subject = (slot: string) => `pawl.run.0.demo.${runId}.${slot}`;
    const text = JSON.stringify(facts[1]);
    await publish(facts.slice(0, 1));
    await bus.js.publish(subject('thought.0'), text.replace('Known', 'Kn\u0000wn'));
    await bus.js.publish(subject('acted.0'), Uint8Array.of(0x7b, 0xff));
    await bus.js.publish(subject('observed.0.0'), '['.repeat(50_000) + ']'.repeat(50_000));
    await bus.js.publish(subject('thought.9'), text);
    await publish(facts.slice(4));
    await untilStored(runId, facts.length - 3);
    const trace = (await get(`/v1/traces/${runId}`)).json();
    expect(trace.unreadable).toEqual([
      { slot: 'acted.0', reason: 'invalid_utf8', sizeBytes: 2 },
      { slot: 'observed.0.0', reason: 'too_deep', sizeBytes: 100_000 },
      { slot: 'thought.0', reason: 'invalid_json', sizeBytes: Buffer.byteLength(text) - 1 + 1 },
      { slot: 'thought.9', reason: 'wrong_address', sizeBytes: Buffer.byteLength(text) },
    ]);
    expect(trace.missing).toEqual([]);
    const rows = await database.query('select * from traces.rejected');
    expect(JSON.stringify(rows)).not.toContain('figures');
    expect((await get('/metrics', undefined)).text).toContain('pawl_traces_set_aside{reason="too_deep"} 1');
  });

  test('T1: text that Postgres can not hold is kept in the body and marked', async () => {
    const { runId, facts } = salesRun('odd');
    const odd = { ...facts[0], input: 'a\u0000b\ud800', metadata: { 'k\u0000y': 'v' } } as Fact;
    await publish([odd]);
    await untilStored(runId, 1);
    const { run, records } = (await get(`/v1/traces/${runId}`)).json();
    expect(run.question).toBe('a\ufffdb\ufffd');
    expect(records[0]).toMatchObject({ marks: ['lone_surrogate', 'nul'], body: { input: 'a\u0000b\ud800' } });
  });

  test('T1: a body above the payload limit comes through, by reference and digit for digit', async () => {
    const { runId, facts } = salesRun('large');
    const [started] = facts as [Extract<Fact, { kind: 'started' }>];
    const environment = { rows: 'x'.repeat(1_500_000), order: 7 };
    await publish([{ ...started, environment }]);
    await untilStored(runId, 1);
    const { records } = (await get(`/v1/traces/${runId}`)).json();
    expect(records[0]).not.toHaveProperty('body');
    expect(records[0].bodyRef).toBe(`/v1/traces/${runId}/records/started`);
    expect((await get(records[0].bodyRef)).json().environment).toEqual(environment);
    expect((await get(records[0].bodyRef, 'other')).status).toBe(404);
  });

  test('numbers keep every digit', async () => {
    const { runId, facts } = salesRun('digits');
    const text = JSON.stringify(facts[0]).replace(/\}$/, ',"environment":{"big":9007199254740993,"rate":1.10}}');
    await bus.js.publish(`pawl.run.0.demo.${runId}.started`, text);
    await untilStored(runId, 1);
    expect((await get(`/v1/traces/${runId}`)).text).toContain(`"body":${text}`);
  });
});

describe('the traces API', () => {
  test('shows a run to its own app only, and betrays nothing to others', async () => {
    const { runId, facts } = salesRun('own', 'other');
    await publish(facts);
    await untilStored(runId, facts.length);
    const foreign = await get(`/v1/traces/${runId}`);
    const unknown = await get(`/v1/traces/${runIdAt(startedAt, 'never was')}`);
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    expect((await get('/v1/traces/a%00b')).text).toBe(unknown.text);
    const list = (await get('/v1/traces?limit=200')).json();
    expect(list.items.every(({ app }: { app: string }) => app === 'demo')).toBe(true);
    expect((await get(`/v1/traces/${runId}`, 'other')).status).toBe(200);
  });

  test('needs a key of an app with the scope', async () => {
    const statuses = [undefined, 'nobody', 'poor', adminKey].map(async (app) => (await get('/v1/traces', app)).status);
    expect(await Promise.all(statuses)).toEqual([200, 401, 403, 403]);
    expect((await fetch(`${store.url()}/v1/traces`)).status).toBe(401);
  });

  test('T10: lists newest first, in pages without gap or repeat, and filters', async () => {
    const runs = Array.from({ length: 7 }, (_, at) => {
      const day = `2026-04-0${at + 1}T00:00:00.000Z`;
      const facts = salesRunFacts({ app: 'other', runId: runIdAt(day, 'page'), startedAt: day });
      return at % 2 === 0 ? facts : facts.slice(0, 3);
    });
    for (const facts of runs) await publish(facts);
    for (const facts of runs) await untilStored(facts[0]?.runId ?? '', facts.length);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = (await get(`/v1/traces?limit=2${cursor && `&cursor=${cursor}`}`, 'other')).json();
      seen.push(...page.items.map(({ startedAt: at }: { startedAt: string }) => at));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(seen.slice(0, 7)).toEqual(runs.map((facts) => facts[0]?.at).toReversed());
    expect(new Set(seen).size).toBe(8);
    const running = (await get('/v1/traces?status=running', 'other')).json();
    expect(running.items).toHaveLength(3);
    const answered = (await get('/v1/traces?stopReason=final_answer&agent=sales-analyst', 'other')).json();
    expect(answered.items).toHaveLength(5);
    expect((await get('/v1/traces?agent=nobody', 'other')).json()).toEqual({ items: [], next: null });
  });

  test.each(['limit=0', 'limit=x', 'cursor=abc', 'cursor=WyIxIiwiMiJd', 'status=dead', 'agent=%00', 'page=2'])(
    'refuses ?%s with a sentence',
    async (query) => {
      const { status, json } = await get(`/v1/traces?${query}`);
      expect([status, json().code]).toEqual([400, 'invalid_request']);
    },
  );

  test('answers an unchanged run without a body', async () => {
    const { runId, facts } = salesRun('etag');
    await publish(facts.slice(0, 2));
    await untilStored(runId, 2);
    const first = await get(`/v1/traces/${runId}`);
    const validator = { 'if-none-match': first.headers.get('etag') ?? '' };
    expect((await get(`/v1/traces/${runId}`, 'demo', validator)).status).toBe(304);
    await publish(facts.slice(2, 3));
    await untilStored(runId, 3);
    expect((await get(`/v1/traces/${runId}`, 'demo', validator)).status).toBe(200);
  });
});

test('the page is served at its addresses, and may load nothing from elsewhere', async () => {
  expect(await buildPage()).toBe(true);
  const index = (await get('/', undefined)).text;
  const files = [...index.matchAll(/(?:src|href)="(\/page\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const path of ['/', '/runs', '/runs/run_1', '/budgets', ...files]) {
    const { status, headers } = await get(path, undefined);
    expect([path, status]).toEqual([path, 200]);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
  }
  expect(index).not.toMatch(/https?:\/\//);
  expect((await get('/page/..%2fsrc%2fservice.ts', undefined)).status).toBe(404);
});

async function isReady(): Promise<Record<string, boolean>> {
  return (await get('/healthz/ready', undefined)).json().checks;
}
