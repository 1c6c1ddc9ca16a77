/** Nothing is lost and nothing is there twice, whatever dies while facts are stored. The service is a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectBus, publishFact, type Bus } from '@pawl/bus';
import { streams } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { newTraceContext } from '@pawl/telemetry';
import { createTestDatabase, eventually, useTestServers } from '@pawl/testkit';
import { consumerName } from './facts.ts';
import { schema } from './schema.ts';
import { runIdAt, salesRunFacts } from './testing/sales-run.ts';

const servers = useTestServers();
const runs = 60;
let bus: Bus;
let database: Database;
let maintenance: Database;
let store: { url: string; drop(): Promise<void> };
let child: ChildProcess | undefined;

beforeAll(async () => {
  store = await createTestDatabase(inject('postgresUrl'));
  await migrate({ url: store.url, ...schema });
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  maintenance = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  database = connectDatabase({ url: store.url, applicationName: 'test' });
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await database.close();
  await maintenance.close();
  await bus.close();
  await store.drop();
});

function start(): ChildProcess {
  const started = spawn(process.execPath, [fileURLToPath(new URL('main.ts', import.meta.url))], {
    stdio: 'ignore',
    env: {
      ...process.env,
      PAWL_NATS_URL: servers.natsUrl,
      PAWL_DATABASE_URL: store.url,
      PAWL_PORT: '0',
      PAWL_HOST: '127.0.0.1',
      PAWL_LOG_LEVEL: 'error',
      // Small batches, so that there are many moments to die in.
      PAWL_TRACE_BATCH_MAX: '20',
    },
  });
  child = started;
  return started;
}

async function kill(process: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => process.once('exit', resolve));
  process.kill('SIGKILL');
  await gone;
}

const name = () => new URL(store.url).pathname.slice(1);
const stored = async () => {
  const [row] = await database.query<{ count: string }>('select count(*) from traces.records');
  return Number(row?.count);
};

test(
  'T4: kill -9 in the middle, several times, and Postgres away: every fact is there exactly once',
  { timeout: 120_000 },
  async () => {
    const all = Array.from({ length: runs }, (_, number) => {
      const startedAt = new Date(Date.now() - number * 1_000).toISOString();
      return salesRunFacts({ runId: runIdAt(startedAt, `kill ${number}`), startedAt });
    });
    for (const facts of all) await Promise.all(facts.map((fact) => publishFact(bus, fact, newTraceContext())));
    const total = all.flat().length;

    for (const part of [0.1, 0.4]) {
      const running = start();
      await eventually(async () => (await stored()) > total * part, { withinMs: 60_000 });
      await kill(running);
    }
    expect(await stored()).toBeLessThan(total);

    start();
    await maintenance.query(`alter database ${name()} with allow_connections false`);
    await maintenance.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name()}'`);
    const floor = async () => (await bus.jsm.consumers.info(streams.runs, consumerName)).ack_floor.stream_seq;
    const before = await floor();
    await eventually(async () => (await bus.jsm.consumers.info(streams.runs, consumerName)).num_ack_pending > 0, {
      withinMs: 60_000,
      what: 'the dead one holds facts that nobody has acknowledged',
    });
    expect(await floor()).toBe(before);
    await maintenance.query(`alter database ${name()} with allow_connections true`);

    const last = (await bus.jsm.streams.info(streams.runs)).state.last_seq;
    await eventually(async () => (await floor()) >= last, { withinMs: 90_000, what: 'all is acknowledged' });
    const [row] = await database.query(
      `select count(*) as runs, sum(records) as records, sum(counted_tokens) as tokens,
            (select count(*) from traces.records) as stored, (select count(*) from traces.rejected) as rejected from traces.runs`,
    );
    expect(row).toEqual({
      runs: String(runs),
      records: String(total),
      tokens: String(runs * 9_381),
      stored: String(total),
      rejected: '0',
    });
  },
);
