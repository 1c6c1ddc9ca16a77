import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { failedObservation } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createTestDatabase } from '@pawl/testkit';
import { schema } from '../schema.ts';
import { claimEffect, findEffect, finishEffect, takeOverEffect, type Claimant } from './effect-store.ts';
import type { Report } from './report.ts';

let database: Database;
let drop = async () => {};
let keys = 0;

beforeAll(async () => {
  const created = await createTestDatabase(inject('postgresUrl'));
  drop = created.drop;
  await migrate({ url: created.url, ...schema });
  database = connectDatabase({ url: created.url, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await drop();
});

function claimant(more: Partial<Claimant> = {}): Claimant {
  keys += 1;
  const key = keys.toString(16).padStart(64, '0');
  return { key, app: 'demo', runId: 'run_1', m: 0, i: 0, tool: 'pay', owner: 'a', ...more };
}

function reportOf(message: string): Report {
  const observation = failedObservation('error', { code: 'tool_failed', message });
  return { observation, trust: 'untrusted', attempt: 1, startedAt: '2026-03-01T00:00:00.000Z', durationMs: 5 };
}

test('of many claimants one wins', async () => {
  const one = claimant();
  const won = await Promise.all(Array.from({ length: 10 }, () => claimEffect(database, one)));
  expect(won.filter(Boolean)).toHaveLength(1);
});

test('what was stored first stands; what comes later is kept as late', async () => {
  const one = claimant();
  await claimEffect(database, one);
  expect(await findEffect(database, one)).toEqual({ state: 'claimed', isSameCall: true });
  expect(await finishEffect(database, one, reportOf('first'))).toEqual(reportOf('first'));
  expect(await finishEffect(database, one, reportOf('first'))).toEqual(reportOf('first'));
  expect(await finishEffect(database, one, reportOf('second'))).toEqual(reportOf('first'));
  expect(await findEffect(database, one)).toEqual({
    state: 'done',
    isSameCall: true,
    isSameRun: true,
    report: reportOf('first'),
  });
  const rows = await database.query<{ late_result: string }>('select late_result from tools.effects where key = $1', [
    one.key,
  ]);
  expect(JSON.parse(rows[0]?.late_result ?? '')).toEqual(reportOf('second'));
});

test('another call of the same effect is told apart', async () => {
  const one = claimant();
  await claimEffect(database, one);
  expect(await findEffect(database, { ...one, i: 1 })).toEqual({ state: 'claimed', isSameCall: false });
});

test('a claim can be taken over, a result can not', async () => {
  const one = claimant();
  await claimEffect(database, one);
  await takeOverEffect(database, { ...one, owner: 'b' });
  await finishEffect(database, one, reportOf('done'));
  await takeOverEffect(database, { ...one, owner: 'c' });
  const rows = await database.query('select owner, state from tools.effects where key = $1', [one.key]);
  expect(rows).toEqual([{ owner: 'b', state: 'done' }]);
});

test('characters that Postgres does not take in jsonb are kept', async () => {
  const one = claimant();
  await claimEffect(database, one);
  const report = reportOf('nul \u0000 and half \ud800');
  expect(await finishEffect(database, one, report)).toEqual(report);
});

test('nothing is finished that nobody claimed', async () => {
  await expect(finishEffect(database, claimant(), reportOf('x'))).rejects.toThrow(/nobody had claimed/);
});
