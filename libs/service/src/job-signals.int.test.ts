/** A job that is told to end while it works, on a real Postgres. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connectDatabase, type Database } from '@pawl/db';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

const servers = useTestServers();
const program = fileURLToPath(new URL('fixtures/slow-job.ts', import.meta.url));
let database: Database;
beforeAll(() => {
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
});
afterAll(() => database.close());

function startJob() {
  const env = { PATH: process.env['PATH'] ?? '', PAWL_DATABASE_URL: servers.databaseUrl };
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const isMigrating = async () => {
  const rows = await database.query(`select 1 from pg_stat_activity where application_name = 'pawl-migrate-halves'`);
  return rows.length > 0;
};
const isSleeping = async () => {
  const rows = await database.query(`select 1 from pg_stat_activity where wait_event = 'PgSleep'`);
  return rows.length > 0;
};
async function whereIs(table: string): Promise<unknown> {
  const [row] = await database.query<{ place: string | null }>('select to_regclass($1) as place', [table]);
  return row?.place;
}

test('K1: a migration ends at once with 143, leaves nothing half done, and the next run finishes', async () => {
  const child = startJob();
  await eventually(isSleeping, { withinMs: 30_000 });
  const toldAtMs = performance.now();
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([143, null]);
  expect(performance.now() - toldAtMs).toBeLessThan(1_500);
  await eventually(async () => !(await isMigrating()));
  expect(await whereIs('halves.half')).toBeNull();
  expect(await database.query('select name from halves.migrations')).toEqual([]);
  expect(await once(startJob(), 'exit')).toEqual([0, null]);
  expect(await whereIs('halves.half')).toBe('halves.half');
}, 90_000);
