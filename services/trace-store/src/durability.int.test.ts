/** Nothing is lost and nothing is there twice, whatever dies while facts are stored. The service is a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBus, publishFact, type Bus } from '@pawl/bus';
import { streams } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { startPostgres, type PostgresServer } from '@pawl/devstack';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { consumerName } from './facts.ts';
import { schema } from './schema.ts';
import { runIdAt, salesRunFacts } from './testing/sales-run.ts';

const servers = useTestServers();
const isFull = process.env['PAWL_TEST_FULL'] !== undefined;
const runs = isFull ? 5_000 : 60;
const outageMs = isFull ? 60_000 : 1_000;
const withinMs = isFull ? 400_000 : 60_000;
let bus: Bus;
let database: Database;
let dataDir: string;
/** Its own Postgres, which keeps what it has committed. */
let postgres: PostgresServer;
let child: ChildProcess | undefined;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'pawl-durability-'));
  postgres = await startPostgres({ dataDir });
  await migrate({ url: postgres.url, ...schema });
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  database = connectDatabase({ url: postgres.url, applicationName: 'test' });
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await database?.close();
  await bus?.close();
  await postgres?.stop({ remove: true });
  await rm(dataDir, { recursive: true, force: true });
});

function start(): ChildProcess {
  const started = spawn(process.execPath, [fileURLToPath(new URL('main.ts', import.meta.url))], {
    stdio: 'ignore',
    env: {
      ...process.env,
      PAWL_NATS_URL: servers.natsUrl,
      PAWL_DATABASE_URL: postgres.url,
      PAWL_PORT: '0',
      PAWL_HOST: '127.0.0.1',
      PAWL_LOG_LEVEL: 'error',
      // Small batches, so that there are many moments to die in.
      ...(isFull ? {} : { PAWL_TRACE_BATCH_MAX: '20' }),
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

const stored = async () => {
  const [row] = await database.query<{ count: string }>('select count(*) from traces.records');
  return Number(row?.count);
};

test(
  'T4: kill -9 in the middle, several times, and Postgres stopped: every fact is there exactly once',
  { timeout: isFull ? 1_800_000 : 240_000 },
  async () => {
    const all = Array.from({ length: runs }, (_, number) => {
      const startedAt = new Date(Date.now() - number * 1_000).toISOString();
      return salesRunFacts({ runId: runIdAt(startedAt, `kill ${number}`), startedAt });
    });
    for (const facts of all) await Promise.all(facts.map((fact) => publishFact(bus, fact, newTraceContext())));
    const total = all.flat().length;

    for (const part of [0.05, 0.2]) {
      const running = start();
      await eventually(async () => (await stored()) > total * part, { withinMs });
      await kill(running);
    }
    expect(await stored()).toBeLessThan(total);

    start();
    const seen = await stored();
    await eventually(async () => (await stored()) > seen, { withinMs });
    await postgres.stop();
    const floor = async () => (await bus.jsm.consumers.info(streams.runs, consumerName)).ack_floor.stream_seq;
    await eventually(async () => (await bus.jsm.consumers.info(streams.runs, consumerName)).num_ack_pending > 0, {
      withinMs,
      what: 'it holds facts that nobody has acknowledged',
    });
    const before = await floor();
    const last = (await bus.jsm.streams.info(streams.runs)).state.last_seq;
    expect(before).toBeLessThan(last);
    // Time is what is tested: Postgres is away for longer than the deadline of an acknowledgement.
    await new Promise((resolve) => setTimeout(resolve, outageMs));
    expect(await floor()).toBe(before);
    postgres = await startPostgres({ dataDir, port: postgres.port });
    await eventually(async () => (await floor()) >= last, { withinMs, what: 'all is acknowledged' });
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
