/** Starts the peers: each an app of its own process in front of which stands an HTTP call that gives the answer of one run. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, startChild } from '@pawl/devstack';
import { createTestDatabase, eventually, installPeers } from '@pawl/testkit';
import type { Endpoints } from '../agent-loop.ts';
import type { AppSettings } from './app.ts';

export type Peer = {
  /** Names of its processes (see processor-time.ts). */
  processes: string[];
  /** One run, from its start to its answer. */
  run(): Promise<string>;
  stop(): Promise<void>;
};

/** Of the engines' packages. */
const place = 'test/peers/durable';

type AppName = 'bare' | 'dbos' | 'langgraph' | 'restate';
type App = { url: string; logFile: string; stop(): Promise<void> };

/** The app answers its runs itself; what it stores is in a database of its own. */
export async function startPeer(name: AppName, from: { endpoints: Endpoints; databaseUrl: string }): Promise<Peer> {
  const app = await startApp(name, from);
  const run = () => answerOf(`${app.url}/run`);
  await eventually(async () => (await run()) !== '', { withinMs: 60_000, what: `${name} answers, see ${app.logFile}` });
  return { processes: name === 'bare' ? [name] : [name, 'postgres'], run, stop: app.stop };
}

/** Restate's server takes the calls and drives the app. Like all servers of the bench it does not wait for the disk. */
export async function startRestate(from: { endpoints: Endpoints; databaseUrl: string }): Promise<Peer> {
  const packages = await installPeers(place);
  const folder = await mkdtemp(join(tmpdir(), 'pawl-restate-'));
  const [bindPort, adminPort, ingressPort] = [await freePort(0), await freePort(0), await freePort(0)];
  const server = startChild({
    command: createRequire(`${packages}/@restatedev/restate-server/`).resolve(
      `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
    ),
    args: ['--no-logo'],
    logFile: join(folder, 'restate-server.log'),
    cwd: folder,
    env: {
      RESTATE_BASE_DIR: folder,
      RESTATE_NODE_NAME: 'bench',
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_IP: '127.0.0.1',
      RESTATE_BIND_PORT: String(bindPort),
      RESTATE_ADMIN__BIND_PORT: String(adminPort),
      RESTATE_INGRESS__BIND_PORT: String(ingressPort),
      RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: 'true',
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_LOG_FILTER: 'warn',
    },
  });
  const app = await startApp('restate', from);
  const register = async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ uri: app.url });
    return (await fetch(`http://127.0.0.1:${adminPort}/deployments`, { method: 'POST', headers, body })).ok;
  };
  await eventually(register, { withinMs: 60_000, what: `Restate takes the app, see ${folder}` });
  const run = () => answerOf(`http://127.0.0.1:${ingressPort}/analyst/run`);
  await eventually(async () => (await run()) !== '', { withinMs: 60_000, what: 'Restate answers' });
  return {
    processes: ['restate', 'restate-server'],
    run,
    async stop() {
      await app.stop();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startApp(name: AppName, from: { endpoints: Endpoints; databaseUrl: string }): Promise<App> {
  const [port, database, packages] = await Promise.all([
    freePort(0),
    createTestDatabase(from.databaseUrl),
    installPeers(place),
  ]);
  const settings: AppSettings = { ...from.endpoints, port, databaseUrl: database.url, packages };
  const logFile = join(tmpdir(), `pawl-bench-${process.pid}-${name}.log`);
  const child = startChild({
    command: process.execPath,
    args: [join(import.meta.dirname, `${name}.ts`), JSON.stringify(settings)],
    logFile,
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', RESTATE_LOGGING: 'WARN' },
  });
  return {
    url: `http://127.0.0.1:${port}`,
    logFile,
    async stop() {
      await child.stop();
      await database.drop();
      await rm(logFile, { force: true });
    },
  };
}

async function answerOf(url: string): Promise<string> {
  const response = await fetch(url, { method: 'POST' });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}
