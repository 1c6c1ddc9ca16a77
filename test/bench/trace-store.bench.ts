/**
 * What trace-store takes in and how fast it answers. Ingest: facts of 2 KB wait in the run log, one trace-store drains them,
 * each acknowledged after its commit to a Postgres that syncs. Goal: 5,000 a second on 2 cores; processor times say how far
 * a busy machine is from that. Reading: runs made by a generator, then the list with several filters and single runs, one
 * request at a time. Goal: p95 under 50 ms with 1 M runs and 10 M records.
 * Sizes by environment, small by default: PAWL_BENCH_FACTS, PAWL_BENCH_RUNS, PAWL_BENCH_WEEKS. Reports only; asserts nothing about time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus, connectKeys, publishFact, type Bus } from '@pawl/bus';
import { partitionOf, sha256, slotOf, streams, type Ended, type Fact } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { startPostgres } from '@pawl/devstack';
import { eventually, startTestNats } from '@pawl/testkit';
import { newTraceContext } from '@pawl/telemetry';
import { loadConfig } from '@pawl/trace-store/config';
import { schema } from '@pawl/trace-store/schema';
import { createTraceStore } from '@pawl/trace-store/service';
import { processorSecondsOf } from './processor-time.ts';
import { median, printTable, quantile } from './report.ts';

const facts = Number(process.env['PAWL_BENCH_FACTS'] ?? 20_000);
const runs = Number(process.env['PAWL_BENCH_RUNS'] ?? 20_000);
const recordsPerRun = 10;
const requests = 200;
const weekMs = 604_800_000;
/** Over how many weeks the runs are spread. */
const weeks = Number(process.env['PAWL_BENCH_WEEKS'] ?? 4);
const templates = 20;
const runsAtOnce = 20_000;
const key = 'bench-key';
const words =
  'revenue of the south fell since customer A cancelled an order of 3.5 M; 0.5 M is left, which explains most'.split(
    ' ',
  );

const dataDir = await mkdtemp(join(tmpdir(), 'pawl-bench-'));
const [nats, postgres] = await Promise.all([startTestNats(), startPostgres({ dataDir })]);
await migrate({ url: postgres.url, ...schema });
const bus = await connectBus({ url: nats.url, name: 'bench' });
const keys = await connectKeys(bus);
await keys.put(sha256(key), { id: 'bench', app: 'bench', scopes: ['traces'], expiresAt: null });
const database = connectDatabase({ url: postgres.url, applicationName: 'bench' });
const config = loadConfig({
  PAWL_NATS_URL: nats.url,
  PAWL_DATABASE_URL: postgres.url,
  PAWL_PORT: '0',
  PAWL_HOST: '127.0.0.1',
  PAWL_LOG_LEVEL: 'error',
});
try {
  await publishRuns(bus);
  const store = await createTraceStore(config, createLog('trace-store', 'error'));
  const startedAtMs = performance.now();
  const usedBefore = await processorTimes();
  await startParts(store.parts);
  const last = (await bus.jsm.streams.info(streams.runs)).state.last_seq;
  const isDrained = async () =>
    (await bus.jsm.consumers.info(streams.runs, 'trace-store')).ack_floor.stream_seq >= last;
  await eventually(isDrained, { withinMs: 600_000, what: 'all facts are stored' });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const used = await processorTimes();
  const [stored] = await database.query<{ count: string }>(`select count(*) from traces.records where app = 'ingest'`);
  if (stored?.count !== String(last)) throw new Error(`${last} facts were written, ${stored?.count} are stored`);
  printTable(`Ingest of ${last} facts of 2 KB by one trace-store`, [
    ['facts a second', Math.round(last / seconds).toString(), 'goal: 5,000'],
    ...Object.entries(used).map(([name, ms]) => [
      `processor time of 1,000 facts, ${name}`,
      `${(((ms - (usedBefore[name] ?? 0)) * 1_000) / last).toFixed(0)} ms`,
      '',
    ]),
  ]);
  await storeTemplates(bus, database);
  await copyRuns(database);
  await readTimes(store.url());
  await stopParts(store.parts);
} finally {
  await database.close();
  keys.close();
  await bus.close();
  await Promise.all([nats.stop(), postgres.stop({ remove: true })]);
  await rm(dataDir, { recursive: true, force: true });
}

/** Milliseconds of processor time that were used so far; on Linux of Postgres, too. */
async function processorTimes(): Promise<Record<string, number>> {
  const { user, system } = process.cpuUsage();
  const ofPostgres = postgres.pid === undefined ? undefined : await processorSecondsOf(postgres.pid);
  return { 'trace-store': (user + system) / 1_000, ...(ofPostgres && { Postgres: ofPostgres * 1_000 }) };
}

/** Runs of ten facts, each of about 2 KB, as they would wait after a pause of the store. */
async function publishRuns(to: Bus): Promise<void> {
  const under: Promise<unknown>[] = [];
  for (let number = 0; number < facts / recordsPerRun; number++) {
    for (const fact of factsOf(number, { app: 'ingest', wordCount: 280, stopReason: 'final_answer' })) {
      const run = { partition: partitionOf(fact.runId, to.partitions), app: fact.app, runId: fact.runId };
      const subject = `pawl.run.${run.partition}.${run.app}.${run.runId}.${slotOf(fact)}`;
      under.push(to.js.publish(subject, JSON.stringify(fact)));
    }
    if (under.length >= 500) await Promise.all(under.splice(0));
  }
  await Promise.all(under);
}

/** Words in an order that follows from the number, so that texts differ and can't be compressed to nothing. */
function textOf(number: number, wordCount: number): string {
  let state = number + 1;
  const next = () => (state = (state * 48_271) % 2_147_483_647);
  return Array.from({ length: wordCount }, () => words[next() % words.length]).join(' ');
}

type Shape = { app: string; wordCount: number; stopReason: Ended['stopReason'] };

function factsOf(number: number, { app, wordCount, stopReason }: Shape): Fact[] {
  const at = new Date(Date.now() - number).toISOString();
  const runId = `run_${(Date.now() - number).toString(16).padStart(12, '0')}7${sha256(`${app} ${number}`).slice(0, 19)}`;
  const base = { v: 1 as const, app, runId, at };
  const limits = { steps: 10, toolCalls: 20, wallClockMs: 120_000, tokens: 50_000, spendNanoUsd: '400000000' };
  const usage = { inputTokens: 900, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 60, reasoningTokens: 0 };
  const totals = { steps: 8, toolCalls: 0, tokens: 7_680, costNanoUsd: '8000000', durationMs: 900 };
  const thoughts = Array.from({ length: recordsPerRun - 2 }, (_unused, m): Fact => ({
    ...base,
    kind: 'thought',
    m,
    purpose: 'think',
    outcome: 'reply',
    text: textOf(number * recordsPerRun + m, wordCount),
    calls: [],
    route: { provider: 'sim', model: 'sim-smart', routeReason: 'the only one' },
    usage,
    costNanoUsd: '1000000',
    costBasis: 'measured',
    startedAt: at,
    durationMs: 100,
  }));
  return [
    {
      ...base,
      kind: 'started',
      agent: { name: 'analyst', revision: sha256('analyst') },
      definition: sha256('definition'),
      input: textOf(number, wordCount),
      lane: 'interactive',
      limits,
      deadlineAt: at,
      traceId: sha256(runId).slice(0, 32),
    },
    ...thoughts,
    {
      ...base,
      kind: 'ended',
      stopReason,
      answer: textOf(number, wordCount),
      partial: false,
      detail: 'Done.',
      ...totals,
    },
  ];
}

/** Runs of all kinds, stored by the service itself, to be copied. */
async function storeTemplates(to: Bus, into: Database): Promise<void> {
  const reasons = ['final_answer', 'final_answer', 'max_steps', 'deadline'] as const;
  for (let number = 0; number < templates; number++) {
    // One of them is kept by content, since its texts are long; one has not ended.
    const wordCount = number === 0 ? 400 : 20 + number * 4;
    const stopReason = reasons[number % reasons.length] ?? 'final_answer';
    const story = factsOf(number, { app: 'template', wordCount, stopReason });
    for (const fact of number === 1 ? story.slice(0, -1) : story) await publishFact(to, fact, newTraceContext());
  }
  await eventually(async () => {
    const [row] = await into.query<{ count: string }>(`select count(*) from traces.records where app = 'template'`);
    return Number(row?.count) === templates * recordsPerRun - 1;
  });
}

/** Many runs over the last weeks: the rows of the templates again, with other ids, times, agents, users and sessions. */
async function copyRuns(to: Database): Promise<void> {
  const newestMs = Date.now() - 3_600_000;
  const stepMs = Math.max(1, Math.floor((weeks * weekMs) / runs));
  for (let week = Math.floor((newestMs - runs * stepMs) / weekMs); week * weekMs <= newestMs; week++) {
    const bound = (of: number) => `run_${(of * weekMs).toString(16).padStart(12, '0')}`;
    await to.query('select traces.make_week($1, $2, $3, $4)', ['standard', `w${week}`, bound(week), bound(week + 1)]);
  }
  for (let from = 1; from <= runs; from += runsAtOnce) {
    const numbers = [newestMs, stepMs, from, Math.min(runs, from + runsAtOnce - 1)];
    for (const table of ['runs', 'records', 'contents']) await to.query(await copyOf(to, table), numbers);
  }
  await to.query('vacuum analyze traces.runs');
  await to.query('vacuum analyze traces.records');
}

/** SQL that copies the rows of one table, whatever columns it has. */
async function copyOf(to: Database, table: string): Promise<string> {
  const columns = await to.query<{ name: string; type: string }>(
    `select attname as name, atttypid::regtype::text as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [`traces.${table}`],
  );
  const copies = new Map([
    ['app', `'bench'`],
    ['run_id', 'copy.run_id'],
    ['agent', `'agent-' || copy.number % 20`],
    ['user_id', `'user-' || copy.number % 1000`],
    ['session', `'session-' || copy.number % 5000`],
    ['question', `'Question ' || copy.number || ': ' || source.question`],
    ['trace_id', 'md5(copy.run_id)'],
    ['body', 'replace(source.body, source.run_id, copy.run_id)'],
  ]);
  const values = columns.map(({ name, type }) => {
    const moved = type === 'timestamp with time zone' ? `source.${name} + (copy.at - template.first_at)` : undefined;
    return copies.get(name) ?? moved ?? `source.${name}`;
  });
  return `
    with template as (
      select run_id, first_at, row_number() over (order by run_id) - 1 as place from traces.runs where app = 'template'),
    copy as (
      select number, to_timestamp(ms / 1000.0) as at,
             'run_' || lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(number), 19, '0') as run_id
      from (select number, $1::bigint - number * $2::bigint as ms from generate_series($3::bigint, $4::bigint) as number) as times)
    insert into traces.${table} (${columns.map(({ name }) => name).join(', ')})
    select ${values.join(', ')} from copy join template on template.place = copy.number % ${templates}
    join traces.${table} as source on source.app = 'template' and source.run_id = template.run_id`;
}

function sumOf(times: Record<string, number>): number {
  return Object.values(times).reduce((sum, ms) => sum + ms, 0);
}

async function readTimes(url: string): Promise<void> {
  const get = async (path: string) => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { items: { id: string }[]; next: string | null };
  };
  const { items } = await get('/v1/traces?limit=200');
  const page = await get('/v1/traces?limit=200&agent=agent-3');
  const kinds: Record<string, (number: number) => string> = {
    'list, newest': () => '/v1/traces',
    'list, next page': () => `/v1/traces?agent=agent-3${page.next ? `&cursor=${page.next}` : ''}`,
    'list by agent and stop reason': (number) => `/v1/traces?agent=agent-${number % 20}&stopReason=max_steps`,
    'list by user': (number) => `/v1/traces?user=user-${number % 1000}`,
    'list by session': (number) => `/v1/traces?session=session-${number % 1000}`,
    'list by status': () => '/v1/traces?status=running',
    'list by text that nothing has': () => '/v1/traces?text=needle',
    'one run with its records': (number) => `/v1/traces/${items[number % items.length]?.id}`,
  };
  const rows: string[][] = [
    [`reading among ${runs} runs, ${runs * recordsPerRun} records`, 'median', 'p95', 'processor', 'goal: p95 < 50 ms'],
  ];
  for (const [name, pathOf] of Object.entries(kinds)) {
    const times: number[] = [];
    const usedBefore = sumOf(await processorTimes());
    for (let number = 0; number < requests; number++) {
      const startedAtMs = performance.now();
      await get(pathOf(number));
      times.push(performance.now() - startedAtMs);
    }
    const used = (sumOf(await processorTimes()) - usedBefore) / requests;
    rows.push([name, ...[median(times), quantile(times, 0.95), used].map((ms) => `${ms.toFixed(1)} ms`), '']);
  }
  printTable('Reading over HTTP, one request at a time', rows);
}
