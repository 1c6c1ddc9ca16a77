/**
 * What trace-store takes in and how fast it answers. Ingest: facts of 2 KB wait in the run log, one trace-store drains them,
 * each acknowledged after its commit to a Postgres that syncs. Goal: 5,000 a second on 2 cores; processor times say how far
 * a busy machine is from that. Reading: runs made by a generator, then the list with several filters and single runs, one
 * request at a time. Goal: p95 under 50 ms with 1 M runs and 10 M records.
 * Sizes by environment, small by default: PAWL_BENCH_FACTS, PAWL_BENCH_RUNS. Reports only; asserts nothing about time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus, connectKeys, type Bus } from '@pawl/bus';
import { partitionOf, sha256, slotOf, streams, type Fact } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { startPostgres } from '@pawl/devstack';
import { eventually, startTestNats } from '@pawl/testkit';
import { loadConfig } from '@pawl/trace-store/config';
import { schema } from '@pawl/trace-store/schema';
import { createTraceStore } from '@pawl/trace-store/service';
import { processorSecondsOf } from './processor-time.ts';
import { median, printTable, quantile } from './report.ts';

const facts = Number(process.env['PAWL_BENCH_FACTS'] ?? 20_000);
const runs = Number(process.env['PAWL_BENCH_RUNS'] ?? 20_000);
const recordsPerRun = 10;
const requests = 200;
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
  await generateRuns(database);
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
    for (const fact of factsOf(number)) {
      const run = { partition: partitionOf(fact.runId, to.partitions), app: fact.app, runId: fact.runId };
      const subject = `pawl.run.${run.partition}.${run.app}.${run.runId}.${slotOf(fact)}`;
      under.push(to.js.publish(subject, JSON.stringify(fact)));
    }
    if (under.length >= 500) await Promise.all(under.splice(0));
  }
  await Promise.all(under);
}

/** Words in an order that follows from the number, so that texts differ and can't be compressed to nothing. */
function textOf(number: number): string {
  let state = number + 1;
  const next = () => (state = (state * 48_271) % 2_147_483_647);
  return Array.from({ length: 280 }, () => words[next() % words.length]).join(' ');
}

function factsOf(number: number): Fact[] {
  const at = new Date(Date.now() - number).toISOString();
  const runId = `run_${(Date.now() - number).toString(16).padStart(12, '0')}7${sha256(`run ${number}`).slice(0, 19)}`;
  const base = { v: 1 as const, app: 'ingest', runId, at };
  const limits = { steps: 10, toolCalls: 20, wallClockMs: 120_000, tokens: 50_000, spendNanoUsd: '400000000' };
  const usage = { inputTokens: 900, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 60, reasoningTokens: 0 };
  const totals = { steps: 8, toolCalls: 0, tokens: 7_680, costNanoUsd: '8000000', durationMs: 900 };
  const thoughts = Array.from({ length: recordsPerRun - 2 }, (_unused, m): Fact => ({
    ...base,
    kind: 'thought',
    m,
    purpose: 'think',
    outcome: 'reply',
    text: textOf(number * recordsPerRun + m),
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
      input: textOf(number),
      lane: 'interactive',
      limits,
      deadlineAt: at,
      traceId: sha256(runId).slice(0, 32),
    },
    ...thoughts,
    {
      ...base,
      kind: 'ended',
      stopReason: 'final_answer',
      answer: textOf(number),
      partial: false,
      detail: 'Done.',
      ...totals,
    },
  ];
}

/** Many runs with their records over the last four weeks, written by Postgres itself. */
async function generateRuns(to: Database): Promise<void> {
  const newestMs = Date.now() - 3_600_000;
  const stepMs = Math.max(1, Math.floor((28 * 86_400_000) / runs));
  const weekMs = 604_800_000;
  const [newest, oldest] = [Math.floor(newestMs / weekMs), Math.floor((newestMs - runs * stepMs) / weekMs)];
  for (let week = oldest; week <= newest; week++) {
    const bound = (of: number) => `run_${(of * weekMs).toString(16).padStart(12, '0')}`;
    await to.query('select traces.make_week($1, $2, $3, $4)', ['standard', `w${week}`, bound(week), bound(week + 1)]);
  }
  const runId = `'run_' || lpad(to_hex($1::bigint - number * $2::bigint), 12, '0') || '7' || lpad(to_hex(number), 19, '0')`;
  const at = `to_timestamp(($1::bigint - number * $2::bigint) / 1000.0)`;
  const reason = `(array['final_answer', 'final_answer', 'max_steps', 'deadline'])[1 + number % 4]`;
  await to.query(
    `insert into traces.runs (class, app, run_id, status, stop_reason, start_rank, agent, revision, question, user_id, session,
       started_at, ended_at, ended_reason, answer, partial, first_at, last_at, records, counted_steps, counted_tool_calls,
       counted_tokens, counted_cost_nano_usd, tools)
     select 'standard', 'bench', ${runId}, 'ended', ${reason}, '', 'agent-' || number % 20, '', 'Question ' || number,
       'user-' || number % 1000, 'session-' || number % 5000, ${at}, ${at} + interval '3 s', ${reason}, 'Answer ' || number, false,
       ${at}, ${at} + interval '3 s', ${recordsPerRun}, 4, 3, 4000, 4000000, 'query_metric'
     from generate_series(1, $3::bigint) as number`,
    [newestMs, stepMs, runs],
  );
  await to.query(
    `insert into traces.records (class, app, run_id, slot, sequence, kind, m, purpose, tool, status, input_tokens, output_tokens,
       cost_nano_usd, at, started_at, duration_ms, body, body_bytes)
     select 'standard', 'bench', ${runId}, case when m % 2 = 0 then 'thought.' || m else 'observed.' || m || '.0' end, number * 10 + m,
       case when m % 2 = 0 then 'thought' else 'observed' end, m, 'think', case when m % 2 = 1 then 'query_metric' end, 'reply',
       900, 60, 1000000, ${at}, ${at}, 100, '{"text":"' || repeat('word ', 40) || '"}', 211
     from generate_series(1, $3::bigint) as number, generate_series(0, ${recordsPerRun - 1}) as m`,
    [newestMs, stepMs, runs],
  );
  await to.query('analyze traces.runs');
  await to.query('analyze traces.records');
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
    'list by text that nothing has': () => '/v1/traces?text=needle',
    'one run with its records': (number) => `/v1/traces/${items[number % items.length]?.id}`,
  };
  const rows: string[][] = [
    [`reading among ${runs} runs, ${runs * recordsPerRun} records`, 'median', 'p95', 'goal: p95 < 50 ms'],
  ];
  for (const [name, pathOf] of Object.entries(kinds)) {
    const times: number[] = [];
    for (let number = 0; number < requests; number++) {
      const startedAtMs = performance.now();
      await get(pathOf(number));
      times.push(performance.now() - startedAtMs);
    }
    rows.push([name, `${median(times).toFixed(1)} ms`, `${quantile(times, 0.95).toFixed(1)} ms`, '']);
  }
  printTable('Reading over HTTP, one request at a time', rows);
}
