/**
 * An orchestrator on real NATS and Postgres for integration tests, with the gateway and the tool-runner played by the
 * test: they answer work with the facts that the real ones would write.
 */
import { connectBus, connectKeys, connectRegistry, consumeWork, publishFact, type Bus } from '@pawl/bus';
import { sha256, type ActWork, type AgentSpec, type Observation, type ThinkWork, type Thought } from '@pawl/contracts';
import { migrate } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { callSpanId, thoughtSpanId } from '@pawl/telemetry';
import type { TestServers } from '@pawl/testkit';
import { loadConfig } from './config.ts';
import { schema } from './schema.ts';
import { createOrchestrator } from './service.ts';

export const keys = { demo: 'pawl_demo_key', other: 'pawl_other_key' } as const;

export type Replica = { url: string; stop(): Promise<void> };

/** Starts one orchestrator. */
export async function startReplica(servers: TestServers): Promise<Replica> {
  await migrate({ url: servers.databaseUrl, ...schema });
  const config = loadConfig({
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_PORT: '0',
    PAWL_HOST: '127.0.0.1',
    PAWL_LOG_LEVEL: 'silent',
    PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1',
  });
  const { parts, url } = await createOrchestrator(config, createLog('orchestrator', 'silent'));
  await startParts(parts);
  return { url: url(), stop: () => stopParts(parts) };
}

export type Players = {
  bus: Bus;
  /** Think work in the order in which it came. */
  thinks: ThinkWork[];
  acts: ActWork[];
  stop(): Promise<void>;
};

type Played<T> = Partial<T> | undefined | Promise<Partial<T> | undefined>;

/** What the played services answer; undefined: nothing, as if they were busy for ever. */
export type Plays = {
  think(work: ThinkWork): Played<Thought>;
  act?(work: ActWork): Played<Observation>;
};

/** Plays the other services for the apps `demo` and `other`, which get a key and the agent `analyst` each. */
export async function playServices(
  servers: TestServers,
  plays: Plays,
  agent: Partial<AgentSpec> = {},
): Promise<Players> {
  const bus = await connectBus({ url: servers.natsUrl, name: 'played' });
  const directory = await connectKeys(bus);
  const registry = await connectRegistry(bus);
  for (const app of ['demo', 'other'] as const) {
    await directory.put(sha256(keys[app]), { id: `key-of-${app}`, app, scopes: ['*'], expiresAt: null });
    const spec = { instructions: 'Be brief.', models: { think: 'smart' }, tools: ['search'], ...agent };
    await registry.put({ apiVersion: 'pawl.dev/v1', kind: 'Agent', metadata: { app, name: 'analyst' }, spec });
    const http = { method: 'GET' as const, url: 'http://localhost/' };
    const tool = { description: 'Searches.', http };
    for (const name of agent.tools ?? ['search'])
      await registry.put({ apiVersion: 'pawl.dev/v1', kind: 'Tool', metadata: { app, name }, spec: tool });
  }
  const thinks: ThinkWork[] = [];
  const acts: ActWork[] = [];
  const apps = { apps: () => ['demo', 'other'], onChange: () => () => {} };
  const queues = [
    await consumeWork(bus, {
      kind: 'think',
      queues: ['interactive', 'batch'],
      apps,
      concurrency: 50,
      async handle(work, { trace }) {
        thinks.push(work);
        const played = await plays.think(work);
        if (played)
          await publishFact(bus, thoughtOf(work, played), { ...trace, spanId: thoughtSpanId(work.runId, work.m) });
      },
    }),
    await consumeWork(bus, {
      kind: 'act',
      queues: ['default'],
      apps,
      concurrency: 50,
      async handle(work, { trace }) {
        acts.push(work);
        const played = plays.act ? await plays.act(work) : {};
        if (!played) return;
        await publishFact(bus, observedOf(work, played), { ...trace, spanId: callSpanId(work.runId, work.m, work.i) });
      },
    }),
  ];
  return {
    bus,
    thinks,
    acts,
    async stop() {
      await Promise.all(queues.map((queue) => queue.stop()));
      directory.close();
      registry.close();
      await bus.close();
    },
  };
}

function thoughtOf(work: ThinkWork, played: Partial<Thought>): Thought {
  const now = new Date().toISOString();
  return {
    v: 1,
    kind: 'thought',
    runId: work.runId,
    app: work.app,
    at: now,
    m: work.m,
    purpose: work.purpose,
    ...(work.closing ? { closing: work.closing } : {}),
    outcome: 'reply',
    text: '',
    calls: [],
    usage: { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 },
    costNanoUsd: '1000',
    costBasis: 'measured',
    startedAt: now,
    durationMs: 1,
    ...played,
  };
}

function observedOf(work: ActWork, played: Partial<Observation>) {
  const now = new Date().toISOString();
  const observation = {
    status: 'ok' as const,
    data: work.args,
    errorCode: null,
    message: null,
    suggestion: null,
    truncated: false,
    ref: null,
    ...played,
  };
  return {
    v: 1 as const,
    kind: 'observed' as const,
    runId: work.runId,
    app: work.app,
    at: now,
    m: work.m,
    i: work.i,
    callId: work.callId,
    tool: work.tool,
    trust: 'untrusted' as const,
    observation,
    attempt: 1,
    startedAt: now,
    durationMs: 1,
  };
}

/** A request as an app, and its answer, which the caller says the shape of. */
// oxlint-disable-next-line no-unnecessary-type-parameters -- the shape of an answer over the wire is a claim, checked by the test
export async function request<T = Record<string, unknown>>(
  url: string,
  options: { method?: string; key?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: T; headers: Headers }> {
  const { body } = options;
  const response = await fetch(url, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${options.key ?? keys.demo}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as T, headers: response.headers };
}
