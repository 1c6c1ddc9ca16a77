import { afterAll, beforeAll, it } from 'vitest';
import { connectBus, readFacts, type Bus } from '@pawl/bus';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog } from '@pawl/service';
import { eventually, useTestServers } from '@pawl/testkit';
import { started, stateOf } from '../run/story.suite.ts';
import { schema } from '../schema.ts';
import { createRunStore } from './run-store.ts';
import { createWatchdog } from './watchdog.ts';
import { createWordStore } from './word-store.ts';

const servers = useTestServers();
let bus: Bus;
let database: Database;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
});
afterAll(async () => {
  await bus.close();
  await database.close();
});

const idOf = (n: number) => `run_${n.toString(16).padStart(32, '0')}`;

it('R20: a run whose first fact is lost is started again, however many older ones wait for people', async () => {
  const store = createRunStore(database);
  const lost = idOf(600);
  for (let n = 1; n <= 600; n += 1) {
    const run = started({}, { runId: idOf(n) });
    await store.accept({ started: run, idempotencyKey: undefined, requestHash: String(n) });
  }
  await database.query(`update runs.runs set created_at = now() - interval '1 day'`);
  await database.query(`update runs.runs set created_at = now() - interval '1 minute' where id = $1`, [lost]);
  const watchdog = createWatchdog({
    bus,
    store,
    words: createWordStore(database),
    partitions: { knows: () => true, find: (id) => (id === lost ? undefined : stateOf(started({}, { runId: id }))) },
    log: createLog('orchestrator', 'silent'),
  });
  await watchdog.start();
  await eventually(async () => (await readFacts(bus, 'demo', lost)).length === 1, { withinMs: 20_000 });
  await watchdog.stop();
}, 40_000);
