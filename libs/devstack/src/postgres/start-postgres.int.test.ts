/**
 * A real PostgreSQL: it keeps its data, asks for a password, survives a kill, and starts below a private folder (which is
 * what mkdtemp makes, and what matters when the tests run as root).
 */
import { lstatSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeCluster } from './cluster-place.ts';
import { startPostgres } from './start-postgres.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-postgres-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

test('data survive a stop, and a kill that leaves the lock file behind', async () => {
  const dataDir = join(folder, 'kept');
  const first = await startPostgres({ dataDir });
  await query(first.url, "create table kept as select 'ÄÖ' as word");
  await first.stop();

  const second = await startPostgres({ dataDir });
  second.kill();
  await second.exited;
  const lockFile = join(dataDir, 'cluster/data/postmaster.pid');
  // As after a restart of a container: the number in the lock file belongs to another living program.
  const lock = readFileSync(lockFile, 'utf8');
  writeFileSync(lockFile, lock.replace(/^\d+/, String(process.pid)));

  const third = await startPostgres({ dataDir });
  expect(await query(third.url, 'select lower(word) as word from kept')).toEqual([{ word: 'äö' }]);
  await third.stop({ remove: true });
  expect(() => lstatSync(join(dataDir, 'cluster'))).toThrow('ENOENT');
});

test('an orphaned server of the same folder is replaced', async () => {
  const dataDir = join(folder, 'orphan');
  const orphan = await startPostgres({ dataDir, durable: false });
  const successor = await startPostgres({ dataDir, durable: false });
  await orphan.exited;
  expect(await query(successor.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await successor.stop({ remove: true });
});

test('it asks for a password, and its files are for its user alone', async () => {
  const dataDir = join(folder, 'private');
  const server = await startPostgres({ dataDir, durable: false, database: 'other name' });
  const url = new URL(server.url);
  expect(url.hostname).toBe('127.0.0.1');
  expect(await query(server.url, 'select current_database() as name')).toEqual([{ name: 'other name' }]);
  url.password = 'wrong';
  await expect(query(url.href, 'select 1')).rejects.toThrow(/password authentication failed/);
  expect(statSync(join(dataDir, 'password')).mode & 0o077).toBe(0);
  expect(statSync(realpathSync(join(dataDir, 'cluster/data'))).mode & 0o077).toBe(0);
  await server.stop({ remove: true });
});

test('the cluster of another major version is refused with what to do', async () => {
  const dataDir = join(folder, 'old');
  await (await startPostgres({ dataDir, durable: false })).stop();
  writeFileSync(join(dataDir, 'cluster/data/PG_VERSION'), '9\n');
  await expect(startPostgres({ dataDir, durable: false })).rejects.toThrow(
    /was made by PostgreSQL 9, .* Remove that folder/,
  );
  await removeCluster(dataDir);
});
