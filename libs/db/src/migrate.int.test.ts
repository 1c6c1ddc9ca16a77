import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, eventually } from '@pawl/testkit';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { connectDatabase, type Database } from './database.ts';
import { migrate, waitForMigrations } from './migrate.ts';

let url: string;
let database: Database;
let drop: () => Promise<void>;

beforeEach(async () => {
  ({ url, drop } = await createTestDatabase(inject('postgresUrl')));
  database = connectDatabase({ url, applicationName: 'pawl-test' });
});
afterEach(async () => {
  await database.close();
  await drop();
});

const folder = (name: string) => new URL(`fixtures/${name}/`, import.meta.url);
const options = (name: string) => ({ url, schema: 'app', folder: folder(name) });
const tables = async () =>
  (
    await database.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'app' order by 1`,
    )
  ).map(({ name }) => name);

test('applies what is missing, in order, once', async () => {
  expect(await migrate(options('first'))).toEqual(['0001_things.sql', '0002_some.sql']);
  expect(await migrate(options('first'))).toEqual([]);
  expect(await database.query('select id from app.things order by id')).toEqual([{ id: '1' }, { id: '2' }]);
});

test('two at once apply each file once', async () => {
  const applied = await Promise.all([1, 2, 3].map(() => migrate(options('first'))));
  expect(applied.flat().toSorted()).toEqual(['0001_things.sql', '0002_some.sql']);
});

test('a file that was changed after it had been applied is refused by name', async () => {
  await migrate(options('first'));
  await expect(migrate(options('changed'))).rejects.toThrow('0001_things.sql was changed');
});

test('a file that fails leaves nothing of itself, and what came before it stays', async () => {
  await expect(migrate(options('broken'))).rejects.toThrow('nowhere');
  expect(await tables()).toEqual(['fine', 'migrations']);
});

test('killed in the middle: nothing is half done, and the second run finishes', async () => {
  const script = fileURLToPath(new URL('fixtures/migrate-slowly.ts', import.meta.url));
  const child = spawn(process.execPath, [script, url], { stdio: ['ignore', 'ignore', 'inherit'] });
  await eventually(
    async () =>
      (
        await database.query(
          `select from pg_stat_activity where application_name = 'pawl-migrate-app' and wait_event = 'PgSleep'`,
        )
      ).length > 0,
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await tables()).toEqual(['migrations']);
  expect(await migrate(options('slow'))).toEqual(['0001_slow.sql']);
  expect(await tables()).toEqual(['half', 'migrations', 'whole']);
}, 40_000);

test('waiting says what is missing and ends when it is there', async () => {
  const lines: string[] = [];
  let isReady = false;
  const waiting = waitForMigrations(database, { ...options('first'), log: (line) => void lines.push(line) });
  void waiting.then(() => (isReady = true));
  await eventually(() => lines.length > 0);
  expect(isReady).toBe(false);
  await migrate(options('first'));
  await waiting;
  expect(lines[0]).toContain('schema app');

  const aborted = AbortSignal.abort(new Error('stopping'));
  const never = waitForMigrations(database, {
    schema: 'none',
    folder: folder('first'),
    log: () => {},
    signal: aborted,
  });
  await expect(never).rejects.toThrow('stopping');
});
