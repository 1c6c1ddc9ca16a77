/** Webhooks when replicas die, on real NATS and Postgres: the first replica is a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { RunView } from '@pawl/contracts';
import { connectDatabase } from '@pawl/db';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { playServices, request, startReplica, type Players } from './played-services.suite.ts';

const servers = useTestServers();
const program = fileURLToPath(new URL('./fixtures/replica.ts', import.meta.url));
/** Of each message that came: its id, and the run that it is about. */
const told: { id: string; run: string }[] = [];
let isTaken = false;
let hook: Server;
let players: Players;
let child: ChildProcess | undefined;

beforeAll(async () => {
  hook = createServer((incoming, answer) => {
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => {
      const { data } = JSON.parse(body) as { data: RunView };
      told.push({ id: String(incoming.headers['webhook-id']), run: data.id });
      if (isTaken) answer.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/told`;
  const asks = { approvals: [{ tool: 'search' }], webhooks: { waiting: { url } } };
  const think = () => ({ calls: [{ id: '', tool: 'search', args: '{"q":1}' }] });
  players = await playServices(servers, { think }, asks);
});
afterAll(async () => {
  child?.kill('SIGKILL');
  await players.stop();
  hook.closeAllConnections();
  hook.close();
});

const begin = (url: string) => request<RunView>(`${url}/v1/runs?wait=20`, { body: { agent: 'analyst', input: 'go' } });

/** Gives the address of a replica that can be killed. */
async function startProcess(): Promise<string> {
  child = spawn(process.execPath, [program, servers.natsUrl, servers.databaseUrl], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  return printed.toString().trim();
}

it('is told again by another replica when one dies before the endpoint has taken it, and then no more', async () => {
  const { body: run } = await begin(await startProcess());
  expect(run.status).toBe('waiting');
  const tellings = () => told.filter((each) => each.run === run.id);
  await eventually(() => tellings().length === 1);
  const gone = child && once(child, 'exit');
  child?.kill('SIGKILL');
  await gone;
  isTaken = true;
  const heir = await startReplica(servers);
  await eventually(() => tellings().length === 2, { withinMs: 30_000 });
  expect(new Set(tellings().map(({ id }) => id)).size).toBe(1);
  // Until it is noted that the endpoint took it, it would be told again.
  await eventually(async () => (await noted(run.id)) === tellings()[0]?.id);
  await heir.stop();

  const next = await startReplica(servers);
  const { body: other } = await begin(next.url);
  await eventually(() => told.some((each) => each.run === other.id), { withinMs: 30_000 });
  await next.stop();
  expect(tellings()).toHaveLength(2);
}, 120_000);

async function noted(runId: string): Promise<unknown> {
  const database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  try {
    const [row] = await database.query<{ told_waiting: string | null }>(
      'select told_waiting from runs.runs where id = $1',
      [runId],
    );
    return row?.told_waiting;
  } finally {
    await database.close();
  }
}
