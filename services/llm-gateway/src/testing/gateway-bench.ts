/** A gateway in this process on a test's own servers, with a way to give it work and read the thoughts. */
import { randomBytes } from 'node:crypto';
import { connectBus, connectKeys, publishWork, readFacts, type Bus } from '@pawl/bus';
import { sha256, type Budget, type Candidate, type ModelRoute, type Thought, type ThinkWork } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { newTraceContext } from '@pawl/telemetry';
import { eventually, type TestServers } from '@pawl/testkit';
import { loadConfig } from '../config.ts';
import { schema } from '../schema.ts';
import { createGateway } from '../service.ts';

export const adminKey = 'test-admin-key';
export const app = 'demo';

export type Gateway = { url: string; stop(): Promise<void> };

export type Bench = {
  bus: Bus;
  database: Database;
  appKey: string;
  startGateway(environment?: Record<string, string>): Promise<Gateway>;
  close(): Promise<void>;
};

/** Migrates, connects, and makes an app with a key, so that its queues exist. */
export async function openBench(servers: TestServers): Promise<Bench> {
  await migrate({ url: servers.databaseUrl, ...schema });
  const database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  const bus = await connectBus({ url: servers.natsUrl, name: 'test', partitions: 2 });
  const keys = await connectKeys(bus);
  const appKey = `pawl_${randomBytes(8).toString('hex')}`;
  await keys.put(sha256(appKey), { id: 'key_test', app, scopes: ['*'], expiresAt: null });
  keys.close();
  return {
    bus,
    database,
    appKey,
    async startGateway(environment = {}) {
      const config = loadConfig({
        PAWL_NATS_URL: servers.natsUrl,
        PAWL_DATABASE_URL: servers.databaseUrl,
        PAWL_HOST: '127.0.0.1',
        PAWL_PORT: '0',
        PAWL_ADMIN_KEY: adminKey,
        PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1',
        PAWL_LOG_LEVEL: 'silent',
        // Tests count what is held.
        PAWL_SLICE_CALLS: '0',
        ...environment,
      });
      const gateway = await createGateway(config, createLog('llm-gateway', config.PAWL_LOG_LEVEL));
      await startParts(gateway.parts);
      return { url: gateway.url(), stop: () => stopParts(gateway.parts) };
    },
    async close() {
      await bus.close();
      await database.close();
    },
  };
}

/** A call of the gateway's HTTP API. */
export async function callHttp(
  url: string,
  request: { method?: string; path: string; key: string; body?: unknown },
): Promise<{ status: number; body: Record<string, never> & Record<string, unknown> }> {
  const response = await fetch(url + request.path, {
    method: request.method ?? 'GET',
    headers: {
      authorization: `Bearer ${request.key}`,
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}

export function routeObject(
  name: string,
  candidate: Partial<Candidate>,
  spec: Partial<ModelRoute['spec']> = {},
): ModelRoute {
  const candidates = [{ provider: 'sim', model: 'm', price: dollarPrice, ...candidate }];
  return { apiVersion: 'pawl.dev/v1', kind: 'ModelRoute', metadata: { app, name }, spec: { candidates, ...spec } };
}

/** One dollar a million, in and out: a token costs 1,000 nano-USD. */
export const dollarPrice = { currency: 'USD', inputPerMillion: '1.00', outputPerMillion: '1.00' };

export function budgetObject(name: string, spec: Partial<Budget['spec']>): Budget {
  const limit = { amount: '1.00', currency: 'USD' };
  return {
    apiVersion: 'pawl.dev/v1',
    kind: 'Budget',
    metadata: { app, name },
    spec: { scope: { app }, limit, window: 'total', ...spec },
  };
}

/** Think work of a fresh run. */
export function thinkWork(changes: Partial<ThinkWork> = {}): ThinkWork {
  return {
    v: 1,
    kind: 'think',
    app,
    runId: `run_${randomBytes(16).toString('hex')}`,
    m: 0,
    agent: 'analyst',
    purpose: 'think',
    lane: 'interactive',
    route: 'smart',
    messages: [{ role: 'user', content: 'Why did sales drop?' }],
    tools: [],
    maxOutputTokens: 1_000,
    runSpendLimitNanoUsd: '400000000',
    deadlineAt: new Date(Date.now() + 60_000).toISOString(),
    ...changes,
  };
}

/** Gives work to the gateways and waits for its thought in the run's log. */
export async function thinkAbout(bus: Bus, work: ThinkWork): Promise<Thought> {
  await publishWork(bus, work, newTraceContext());
  return await thoughtOf(bus, work);
}

export async function thoughtOf(bus: Bus, { app: ofApp, runId, m }: ThinkWork): Promise<Thought> {
  return await eventually(
    async () => {
      const facts = await readFacts(bus, ofApp, runId);
      return facts.map(({ fact }) => fact).find((fact): fact is Thought => fact.kind === 'thought' && fact.m === m);
    },
    { withinMs: 20_000, what: `thought ${m} of ${runId}` },
  );
}
