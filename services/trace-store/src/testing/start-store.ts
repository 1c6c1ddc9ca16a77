/** trace-store as a whole for a test: on real servers, with keys of several roles, and what asks it. */
import { connectBus, connectKeys, publishFact, serveForgetting, type Bus } from '@pawl/bus';
import { sha256, type Fact, type Scope } from '@pawl/contracts';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { newTraceContext } from '@pawl/telemetry';
import { loadConfig } from '../config.ts';
import { schema } from '../schema.ts';
import { createTraceStore } from '../service.ts';

export type Answer = { status: number; headers: Headers; text: string; json: () => Json };

/** What a test reads out of an answer. */
export interface Json {
  [key: string]: Json | undefined;
}

export type StartedStore = {
  url: string;
  bus: Bus;
  database: Database;
  publish(facts: readonly Fact[]): Promise<void>;
  /** The key `key-of-<name>` belongs to the app of the same name, up to the first dot. */
  putKey(name: string, scopes?: Scope[]): Promise<void>;
  ask(method: string, path: string, options?: { key?: string; body?: unknown }): Promise<Answer>;
  /** How many records are stored of a run. */
  countOf(runId: string): Promise<number>;
  stop(): Promise<void>;
};

export const adminKey = 'admin-key';

export async function startStore(
  servers: { natsUrl: string; databaseUrl: string },
  environment: Record<string, string> = {},
): Promise<StartedStore> {
  await migrate({ url: servers.databaseUrl, ...schema });
  const config = loadConfig({
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_PORT: '0',
    PAWL_HOST: '127.0.0.1',
    PAWL_ADMIN_KEY: adminKey,
    ...environment,
  });
  const store = await createTraceStore(config, createLog('trace-store', 'silent'));
  await startParts(store.parts);
  const bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  const keys = await connectKeys(bus);
  // The gateway, which has nothing to forget here.
  serveForgetting(bus, { service: 'llm-gateway', forget: async () => {}, onError() {} });
  const database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test' });
  const url = store.url();
  return {
    url,
    bus,
    database,
    async publish(facts) {
      for (const fact of facts) await publishFact(bus, fact, newTraceContext());
    },
    putKey: (name, scopes = ['traces']) =>
      keys.put(sha256(`key-of-${name}`), { id: name, app: name.split('.')[0] ?? name, scopes, expiresAt: null }),
    async ask(method, path, { key = 'key-of-demo', body } = {}) {
      const response = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) as Json };
    },
    async countOf(runId) {
      const [row] = await database.query<{ count: string }>('select count(*) from traces.records where run_id = $1', [
        runId,
      ]);
      return Number(row?.count);
    },
    async stop() {
      await database.close();
      keys.close();
      await bus.close();
      await stopParts(store.parts);
    },
  };
}
