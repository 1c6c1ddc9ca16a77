import { startPostgres, type PostgresServer } from '@pawl/devstack';
import { UnavailableError } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectDatabase, type Database } from './database.ts';

const servers = useTestServers();
let database: Database;

beforeAll(async () => {
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'pawl-test', poolMax: 3 });
  await database.query('create table things (id bigint primary key, amount numeric)');
});
afterAll(async () => {
  await database.close();
});

const count = async () => Number((await database.query<{ n: string }>('select count(*) as n from things'))[0]?.n);
const backend = async (on: { query: Database['query'] }) =>
  (await on.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]!.pid;
const terminate = (pid: number) => database.query('select pg_terminate_backend($1)', [pid]);

test('large numbers arrive exact, as text', async () => {
  const rows = await database.query('select 9007199254740993::bigint as big, 0.1::numeric as amount');
  expect(rows).toEqual([{ big: '9007199254740993', amount: '0.1' }]);
});

test('no named statements are left on a connection', async () => {
  await database.query('select $1::int', [1]);
  expect(await database.query('select name from pg_prepared_statements')).toEqual([]);
});

describe('transactions', () => {
  test('commit what the body did, and give what it returned', async () => {
    const before = await count();
    const result = await database.transaction(async (client) => {
      await client.query('insert into things values (1)');
      return 'done';
    });
    expect([result, await count()]).toEqual(['done', before + 1]);
  });

  test('roll back when the body throws, with its own error', async () => {
    const before = await count();
    const failing = database.transaction(async (client) => {
      await client.query('insert into things values (100)');
      throw new TypeError('a bug');
    });
    await expect(failing).rejects.toThrow('a bug');
    expect(await count()).toBe(before);
  });

  test('an error of SQL is thrown as it is; swallowing it does not make a lost transaction look committed', async () => {
    const before = await count();
    await expect(database.query('select 1/0')).rejects.toThrow(expect.objectContaining({ code: '22012' }));
    const failing = database.transaction(async (client) => {
      await client.query('insert into things values (200)');
      await client.query('select 1/0').catch(() => undefined);
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await count()).toBe(before);
  });

  test('one that waits for a connection longer than 5 s is told that the database is unavailable', async () => {
    const finish = Promise.withResolvers<void>();
    const holding = Array.from({ length: 3 }, () => database.transaction(() => finish.promise));
    await expect(database.query('select 1')).rejects.toThrow(UnavailableError);
    finish.resolve();
    await Promise.all(holding);
    expect(await database.isReachable()).toBe(true);
  });
});

describe('lost connections', () => {
  test('in the middle of a query', async () => {
    const running = database.transaction(async (client) => {
      void terminate(await backend(client));
      await client.query('select pg_sleep(10)');
    });
    await expect(running).rejects.toThrow(UnavailableError);
    expect(await database.isReachable()).toBe(true);
  });

  test('between two queries of a transaction', async () => {
    const before = await count();
    const running = database.transaction(async (client) => {
      await client.query('insert into things values (300)');
      const pid = await backend(client);
      await terminate(pid);
      await eventually(
        async () => (await database.query('select from pg_stat_activity where pid = $1', [pid])).length === 0,
      );
      await client.query('insert into things values (301)');
    });
    await expect(running).rejects.toThrow(UnavailableError);
    expect(await count()).toBe(before);
  });

  test('while idle in the pool', async () => {
    const pid = await backend(database);
    const other = connectDatabase({ url: servers.databaseUrl, applicationName: 'pawl-test-other' });
    await other.query('select pg_terminate_backend(pid) from pg_stat_activity where pid = $1', [pid]);
    await eventually(
      async () => (await other.query('select from pg_stat_activity where pid = $1', [pid])).length === 0,
    );
    await other.close();
    await eventually(() => database.isReachable());
    expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
  });
});

test('a server that is stopped is unavailable, and works again when it is back', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'pawl-postgres-'));
  let server: PostgresServer = await startPostgres({ dataDir, durable: false });
  const { port } = server;
  const own = connectDatabase({ url: server.url, applicationName: 'pawl-test' });
  expect(await own.isReachable()).toBe(true);
  await server.stop();
  expect(await own.isReachable()).toBe(false);
  await expect(own.query('select 1')).rejects.toThrow(UnavailableError);
  await expect(own.transaction(async () => {})).rejects.toThrow(UnavailableError);
  server = await startPostgres({ dataDir, port, durable: false });
  expect(await own.query('select 1 as one')).toEqual([{ one: 1 }]);
  await own.close();
  await server.stop({ remove: true });
  await rm(dataDir, { recursive: true, force: true });
}, 60_000);
