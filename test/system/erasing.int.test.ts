/** What an erased user said is nowhere any more, once the operator has done what docs/traces.md says for the other services. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectDatabase, type Database } from '@pawl/db';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
const secret = 'parcel 4711-lin';
let tools: ToolServer;
let stack: Stack;
let database: Database;

beforeAll(async () => {
  tools = await startToolServer();
  const clerk = ({ turn }: { turn: number }) =>
    turn === 0 ? { calls: [{ tool: 'note', args: { text: secret } }] } : { answer: `Noted: ${secret}.` };
  stack = await startStack({ servers, models: { clerk: { respond: clerk } } });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  await stack.api.putTool('note', { effect: 'write', http: { method: 'POST', url: `${tools.url}/done` } });
  await stack.api.putAgent('clerk', { tools: ['note'] });
});
afterAll(async () => {
  await database?.close();
  await stack?.stop();
  await tools?.stop();
});

test('nothing of it is left in any table of any service', { timeout: 180_000 }, async () => {
  const { body: run } = await stack.api.run({ agent: 'clerk', input: `Where is ${secret}?`, user: { id: 'lin.wei' } });
  expect(run).toMatchObject({ status: 'ended', answer: `Noted: ${secret}.` });
  await eventually(
    async () => {
      const { records } = (await stack.api.getTrace(run.id)).body;
      return ['started', 'observed.0.0', 'thought.1', 'ended'].every((slot) =>
        records?.some((record) => record['slot'] === slot),
      );
    },
    { withinMs: 60_000, what: 'the run is stored' },
  );
  expect(await placesOf(secret)).toEqual(
    expect.arrayContaining(['gateway.replies', 'runs.runs', 'tools.effects', 'traces.records', 'traces.runs']),
  );

  const url = `${stack.urls.traceStore}/v1/traces/erasures`;
  const asked = await stack.api.send<{ id: string }>('POST', url, { body: { user: 'lin.wei' } });
  await eventually(
    async () => {
      const { body } = await stack.api.send<{ finishedAt: string | null }>('GET', `${url}/${asked.body.id}`);
      return body.finishedAt !== null;
    },
    { withinMs: 60_000, what: 'the erasure is finished' },
  );
  expect(await placesOf(secret)).toEqual(['runs.runs', 'tools.effects']);

  await database.query(sqlOfDocs().replaceAll(`:'erasure'`, `'${asked.body.id}'`));
  expect(await placesOf(secret)).toEqual([]);
});

/** The statements that the page gives to operators. */
function sqlOfDocs(): string {
  const page = readFileSync(new URL('../../docs/traces.md', import.meta.url), 'utf8');
  return /### Erasing what other services keep[^]*?```sql\n([^]*?)```/.exec(page)?.[1] ?? '';
}

/** The tables of all services that hold a text anywhere, partitions under the name of the whole. */
async function placesOf(text: string): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    `select relnamespace::regnamespace || '.' || relname as name from pg_class
     where relnamespace::regnamespace::text in ('runs', 'gateway', 'tools', 'traces') and relkind in ('r', 'p') and not relispartition
     order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await database.query(`select 1 from ${name} as row where position($1 in row::text) > 0 limit 1`, [
      text,
    ]);
    if (row) found.push(name);
  }
  return found;
}
