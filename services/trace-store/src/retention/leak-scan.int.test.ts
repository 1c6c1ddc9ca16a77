/** The leak scan as its user runs it: a process, on a real Postgres. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { slotOf, type Fact } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { noRules, type RedactionRules } from '@pawl/redaction';
import { useTestServers } from '@pawl/testkit';
import { readFactMessage } from '../record/fact-message.ts';
import { schema } from '../schema.ts';
import { createTraceTables } from '../store/trace-tables.ts';
import { writeBatch } from '../store/write-batch.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { createPolicy } from './policy.ts';

const servers = useTestServers();
const startedAt = '2026-03-02T08:00:00.000Z';
const program = fileURLToPath(new URL('../leak-scan.ts', import.meta.url));
const secret = 'sk-test-0123456789abcdef';
let database: Database;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
});
afterAll(() => database.close());

function scan(...apps: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const environment = { ...process.env, PAWL_DATABASE_URL: servers.databaseUrl };
    execFile(process.execPath, [program, ...apps], { env: environment }, (error, output) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, output }),
    );
  });
}

async function store(app: string, change: (fact: Fact) => Fact, rules: RedactionRules = noRules): Promise<string> {
  const policy = createPolicy({ database, keptDays: new Map() });
  const facts = salesRunFacts({ app, runId: runIdAt(startedAt, app), startedAt }).map(change);
  const readings = facts.map((fact, at) => {
    const subject = `pawl.run.0.${app}.${fact.runId}.${slotOf(fact)}`;
    const data = new TextEncoder().encode(JSON.stringify(fact));
    return readFactMessage({ subject, sequence: at + 1, data }, () => rules);
  });
  await writeBatch(createTraceTables({ database, policy }), readings);
  return facts[0]?.runId ?? '';
}

test('T13: what went through the door has no leaks', async () => {
  await store('clean', (fact) =>
    fact.kind === 'observed' ? { ...fact, rawError: `Authorization: Bearer ${secret}`, attempt: 2 } : fact,
  );
  expect(await scan('clean')).toEqual({ code: 0, output: '0 leak(s)\n' });
});

test('T13: rows that are older than a rule are found, in every table, without telling what they hold', async () => {
  const runId = await store('leaky', (fact) =>
    fact.kind === 'started' ? { ...fact, input: 'of ana@example.com', metadata: { long: 'x'.repeat(4_000) } } : fact,
  );
  const leak = { code: 1, output: expect.stringContaining('leak(s)') as string };
  expect(await scan('leaky')).toEqual({ code: 0, output: '0 leak(s)\n' });
  await database.query(
    `insert into traces.app_settings (app, redaction, updated_by) values ('leaky', '{"personal":["email"]}', 'test')`,
  );
  const { code, output } = await scan();
  expect({ code, output }).toEqual(leak);
  expect(output.split('\n').map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
    `leaky ${runId} runs`,
    `leaky ${runId} contents`,
    '2 leak(s)',
    '',
  ]);
  expect(output).not.toContain('ana');
});
