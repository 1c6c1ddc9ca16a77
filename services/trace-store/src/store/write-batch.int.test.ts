/** What the store promises, on a real Postgres: once, in any order, in any company. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import fc from 'fast-check';
import { slotOf, type Fact } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { noRules } from '@pawl/redaction';
import { useTestServers } from '@pawl/testkit';
import { workThrough } from '../batches.ts';
import { readFactMessage } from '../record/fact-message.ts';
import { schema } from '../schema.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { storeMessages, type ReadMessage } from './store-messages.ts';
import { createPolicy } from '../retention/policy.ts';
import { createTraceTables, type TraceTables } from './trace-tables.ts';
import { writeBatch } from './write-batch.ts';

const servers = useTestServers();
const startedAt = '2026-03-02T08:00:00.000Z';
let database: Database;
let tables: TraceTables;

const tablesOn = (on: Database) =>
  createTraceTables({ database: on, policy: createPolicy({ database: on, keptDays: new Map() }) });

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test', poolMax: 8 });
  tables = tablesOn(database);
});
afterAll(() => database.close());

function messageOf(fact: Fact, sequence: number): ReadMessage {
  const subject = `pawl.run.0.${fact.app}.${fact.runId}.${slotOf(fact)}`;
  const message = { subject, sequence, data: new TextEncoder().encode(JSON.stringify(fact)) };
  return { message, reading: readFactMessage(message, () => noRules) };
}

function salesRun(app: string, seed: string): ReadMessage[] {
  return salesRunFacts({ app, runId: runIdAt(startedAt, seed), startedAt }).map((fact, at) => messageOf(fact, at + 1));
}

/** Everything stored for an app, as text, without what names the app. */
async function storedText(app: string): Promise<string> {
  const rows = await database.query<{ row: string }>(
    `select (to_jsonb(runs) - 'app')::text as row from traces.runs where app = $1
     union all
     select (to_jsonb(records) - 'app' - 'stored_at' - 'body' - 'parts' - 'body_bytes')::text from traces.records where app = $1 order by 1`,
    [app],
  );
  return rows.map(({ row }) => row).join('\n');
}

test('T3: the same records in any order, repeated and cut into any batches, give the same rows', async () => {
  const orders = fc.sample(
    fc.tuple(
      fc.shuffledSubarray(
        [...salesRun('x', 'order').keys()].flatMap((at) => [at, at]),
        { minLength: 34 },
      ),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 40, maxLength: 40 }),
    ),
    20,
  );
  const texts: string[] = [];
  for (const [number, [order, sizes]] of orders.entries()) {
    const app = `order-${number}`;
    const messages = salesRun(app, 'order');
    for (let from = 0, turn = 0; from < order.length; turn++) {
      const size = sizes[turn] ?? 1;
      const batch = order.slice(from, from + size).map((at) => messages[at]);
      await storeMessages(
        tables,
        batch.filter((message) => message !== undefined),
      );
      from += size;
    }
    texts.push(await storedText(app));
  }
  expect(texts[0]?.split('\n')).toHaveLength(18);
  expect(new Set(texts).size).toBe(1);
});

test('T2: two writers with the same 200 runs, in opposite orders, never block each other for ever', async () => {
  const messages = Array.from({ length: 200 }, (_, number) => salesRun('crowd', `crowd ${number}`)).flat();
  const other = connectDatabase({ url: servers.databaseUrl, applicationName: 'other' });
  const write = async (on: TraceTables, all: ReadMessage[]) => {
    const batches = Array.from({ length: 34 }, (_, at) => all.filter((_message, index) => index % 34 === at));
    await workThrough(batches, {
      atOnceMax: 4,
      work: async (batch) => {
        const readings = batch.map(({ reading }) => reading);
        await writeBatch(on, readings);
      },
    });
  };
  await Promise.all([write(tables, messages), write(tablesOn(other), messages.toReversed())]);
  await other.close();
  const [runs] = await database.query<{ runs: string; records: string; tokens: string }>(
    `select count(*) as runs, sum(records) as records, sum(counted_tokens) as tokens from traces.runs where app = 'crowd'`,
  );
  expect(runs).toEqual({ runs: '200', records: '3400', tokens: String(200 * 9_381) });
});

test('T2: two writers that begin the same runs from opposite ends wait for each other, but never in a circle', async () => {
  // Slow inserts make sure that they meet in the middle.
  await database.query(
    `create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.01); return new; end'`,
  );
  await database.query('create trigger slow before insert on traces.runs for each row execute function slow()');
  const begin = Array.from({ length: 30 }, (_, number) => salesRun('ends', `ends ${number}`).slice(0, 1)).flat();
  const readings = begin.map(({ reading }) => reading);
  await Promise.all([writeBatch(tables, readings), writeBatch(tables, readings.toReversed())]);
  await database.query('drop trigger slow on traces.runs');
  const [count] = await database.query(`select count(*), sum(records) as records from traces.runs where app = 'ends'`);
  expect(count).toEqual({ count: '30', records: '30' });
});

test('T1: a row that Postgres refuses is set aside and all others are kept', async () => {
  const messages = salesRun('refused', 'refused');
  const [started, ...rest] = messages;
  if (!started || !('fact' in started.reading)) throw new Error('no started fact');
  // Year 0 is a time for ISO 8601, but not for Postgres.
  const bad = messageOf({ ...started.reading.fact.fact, at: '0000-01-01T00:00:00Z' }, 1);
  expect(bad.reading).toHaveProperty('fact');
  await storeMessages(tables, [...rest.slice(0, 5), bad, ...rest.slice(5)]);
  const rejected = await database.query(`select app, slot, reason, size from traces.rejected where app = 'refused'`);
  const size = String(bad.message.data.byteLength);
  expect(rejected).toEqual([{ app: 'refused', slot: 'started', reason: 'refused_by_database', size }]);
  const [count] = await database.query(`select count(*) from traces.records where app = 'refused'`);
  expect(count).toEqual({ count: '16' });
});

test('T1: a fault that is not in the data sets nothing aside', async () => {
  await expect(
    database.transaction(async (client) => {
      await client.query('alter table traces.erased_runs rename column run_id to away');
      const renamed: Database = { ...database, transaction: (body) => body(client) };
      await storeMessages(tablesOn(renamed), salesRun('fault', 'fault'));
    }),
  ).rejects.toMatchObject({ code: '42703' });
  const [count] = await database.query(`select count(*) from traces.rejected where app = 'fault'`);
  expect(count).toEqual({ count: '0' });
});
