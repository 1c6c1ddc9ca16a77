/** K1, K2: a service whose schema is not there yet is alive, says what it waits for, and goes on by itself. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startChild, type Child } from '@pawl/devstack';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const servers = useTestServers();
const children: Child[] = [];
let logs = '';

beforeAll(async () => {
  logs = await mkdtemp(join(tmpdir(), 'pawl-start-'));
});
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()));
  await rm(logs, { recursive: true, force: true });
});

function start(service: string, script: string, port = 0): Child & { logFile: string } {
  const logFile = join(logs, `${service}.${script}.${children.length}.log`);
  const child = startChild({
    command: process.execPath,
    args: [join(root, `services/${service}/src/${script}.ts`)],
    cwd: root,
    env: {
      ...process.env,
      PAWL_NATS_URL: servers.natsUrl,
      PAWL_DATABASE_URL: servers.databaseUrl,
      PAWL_HOST: '127.0.0.1',
      PAWL_PORT: String(port),
    },
    logFile,
  });
  children.push(child);
  return { ...child, logFile };
}

type Health = { status: number; body: { status?: string; waitingFor?: string | null; code?: string } };

async function ask(port: number, path: string): Promise<Health | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  return response && { status: response.status, body: (await response.json()) as Health['body'] };
}

test.for([
  ['orchestrator', 'runs'],
  ['tool-runner', 'tools'],
  ['llm-gateway', 'gateway'],
  ['trace-store', 'traces'],
] as const)('%s waits for schema %s, then starts', { timeout: 180_000 }, async ([service, schema]) => {
  const port = await freePort();
  const child = start(service, 'main', port);
  const isWaiting = async () => {
    const ready = await ask(port, '/healthz/ready');
    return ready?.body.waitingFor?.includes(`migrations of schema ${schema}`) ? ready : undefined;
  };
  const waiting = await eventually(isWaiting, { withinMs: 60_000, what: `${service} waits` });
  expect(waiting).toMatchObject({ status: 503, body: { status: 'starting' } });
  expect((await ask(port, '/healthz/live'))?.status).toBe(200);
  expect(await ask(port, '/v1/anything')).toMatchObject({ status: 503, body: { code: 'unavailable' } });

  expect((await start(service, 'migrate').exited).code).toBe(0);
  const isReady = async () => (await ask(port, '/healthz/ready'))?.status === 200;
  await eventually(isReady, { withinMs: 60_000, what: `${service} is ready` });
  await child.stop();
  expect((await child.exited).code).toBe(0);
});

test('told to stop while it waits, a service ends at once with exit code 0', { timeout: 60_000 }, async () => {
  const port = await freePort();
  const other = new URL(servers.databaseUrl);
  other.pathname = '/not_there';
  const logFile = join(logs, 'stopped.log');
  const child = startChild({
    command: process.execPath,
    args: [join(root, 'services/orchestrator/src/main.ts')],
    cwd: root,
    env: {
      ...process.env,
      PAWL_NATS_URL: servers.natsUrl,
      PAWL_DATABASE_URL: other.href,
      PAWL_HOST: '127.0.0.1',
      PAWL_PORT: String(port),
    },
    logFile,
  });
  children.push(child);
  const waits = async () => (await readFile(logFile, 'utf8').catch(() => '')).includes('waiting for migrations');
  await eventually(waits, { withinMs: 60_000, what: 'it waits' });
  if (child.pid !== undefined) process.kill(child.pid, 'SIGTERM');
  expect(await child.exited).toMatchObject({ code: 0 });
});
