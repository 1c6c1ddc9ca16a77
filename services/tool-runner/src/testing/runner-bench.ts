/** A tool-runner in this process on a test's own servers, with a way to give it work and read what it observed. */
import { randomUUID } from 'node:crypto';
import { connectBus, connectKeys, createDefinitions, publishFact, publishWork, readFacts, type Bus } from '@pawl/bus';
import {
  fingerprint,
  fingerprintJson,
  isJson,
  sha256,
  toolSchema,
  type ActWork,
  type Definition,
  type Observed,
  type Tool,
} from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, type TestServers } from '@pawl/testkit';
import { loadConfig } from '../config.ts';
import { schema } from '../schema.ts';
import { createToolRunner } from '../service.ts';
import { startToolPeer, type ToolPeer } from './tool-peer.ts';

export type RunnerBench = WorkBench & {
  /** Of the runner's HTTP server. */
  url: string;
};

export type WorkBench = {
  bus: Bus;
  database: Database;
  peer: ToolPeer;
  /** A key of app `demo`. */
  appKey: string;
  /** Part of a spec: an HTTP tool of the peer. */
  http(path: string, method?: string): Record<string, unknown>;
  /** Work for one call of a new run, whose definition holds just this tool. */
  workFor(tool: Tool, more?: Partial<ActWork>): Promise<ActWork>;
  ask(work: ActWork): Promise<void>;
  /** Waits for the observation of a call. */
  observed(work: ActWork): Promise<Observed>;
  /** Asks and waits. */
  observe(tool: Tool, more?: Partial<ActWork>): Promise<Observed>;
  cancel(runId: string): Promise<void>;
  close(): Promise<void>;
};

/** A tool of app `demo`. */
export function toolOf(name: string, spec: Record<string, unknown>): Tool {
  return toolSchema.parse({
    apiVersion: 'pawl.dev/v1',
    kind: 'Tool',
    metadata: { app: 'demo', name },
    spec: { description: 'A tool.', ...spec },
  });
}

/** Starts the runner; `close` ends it with all that was started for it. */
export async function openRunnerBench(servers: TestServers, more: Record<string, string> = {}): Promise<RunnerBench> {
  const bench = await openWorkBench(servers);
  const config = loadConfig({ ...environmentOf(servers), ...more });
  const runner = await createToolRunner(config, createLog('tool-runner', 'silent'));
  await startParts(runner.parts);
  return {
    ...bench,
    url: runner.url(),
    async close() {
      await bench.peer.stop();
      await stopParts(runner.parts);
      await bench.close();
    },
  };
}

/** The same without a runner: for tests that start their own. */
export async function openWorkBench(servers: TestServers): Promise<WorkBench> {
  await migrate({ url: servers.databaseUrl, ...schema });
  const bus = await connectBus({ url: servers.natsUrl, name: 'test', partitions: 2 });
  const database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  const definitions = createDefinitions(bus);
  const appKey = await addKey(bus);
  const peer = await startToolPeer();
  const workFor = async (tool: Tool, more: Partial<ActWork> = {}): Promise<ActWork> => ({
    ...workOf(tool, more.args ?? '{}'),
    definition: await definitions.put(definitionOf(tool)),
    ...more,
  });
  const ask = async (work: ActWork) => void (await publishWork(bus, work, newTraceContext()));
  const observed = (work: ActWork) => eventually(() => findObserved(bus, work), { what: 'an observation' });
  return {
    bus,
    database,
    peer,
    appKey,
    http: (path, method = 'GET') => ({ http: { method, url: `${peer.url}${path}` } }),
    workFor,
    ask,
    observed,
    async observe(tool, more) {
      const work = await workFor(tool, more);
      await ask(work);
      return await observed(work);
    },
    async cancel(runId) {
      const at = new Date().toISOString();
      await publishFact(bus, { v: 1, kind: 'cancel', runId, app: 'demo', at, by: 'test' }, newTraceContext());
    },
    async close() {
      await peer.stop();
      await database.close();
      await bus.close();
    },
  };
}

async function addKey(bus: Bus): Promise<string> {
  const keys = await connectKeys(bus);
  await keys.put(sha256('key-of-demo'), { id: 'key_1', app: 'demo', scopes: ['registry'], expiresAt: null });
  keys.close();
  return 'key-of-demo';
}

/** What a runner of a test reads as its environment. */
export function environmentOf(servers: TestServers): Record<string, string> {
  return {
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_PORT: '0',
    PAWL_HOST: '127.0.0.1',
    PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1',
    PAWL_LOG_LEVEL: 'silent',
  };
}

function workOf(tool: Tool, args: string): Omit<ActWork, 'definition'> {
  return {
    v: 1,
    kind: 'act',
    runId: `run_${randomUUID().replaceAll('-', '')}`,
    app: 'demo',
    m: 0,
    i: 0,
    step: 1,
    callId: 'call_1',
    pool: 'default',
    tool: tool.metadata.name,
    toolRevision: fingerprint(tool),
    args,
    argsHash: isJson(args) ? fingerprintJson(args) : sha256(args),
    maxChars: 2_000,
    deadlineAt: new Date(Date.now() + 60_000).toISOString(),
  };
}

function definitionOf(tool: Tool): Definition {
  const agent = {
    apiVersion: 'pawl.dev/v1',
    kind: 'Agent',
    metadata: { app: 'demo', name: 'tester' },
    spec: { instructions: 'Test.', models: { think: 'smart' } },
  } as const;
  return {
    v: 1,
    agent: { revision: fingerprint(agent), object: agent },
    tools: [{ revision: fingerprint(tool), object: tool }],
  };
}

async function findObserved(bus: Bus, { app, runId, m, i }: ActWork): Promise<Observed | undefined> {
  const facts = (await readFacts(bus, app, runId)).map((received) => received.fact);
  return facts.find((fact): fact is Observed => fact.kind === 'observed' && fact.m === m && fact.i === i);
}
