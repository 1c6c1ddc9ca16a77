/**
 * trace-store, put together: facts of the run log → Postgres → HTTP and the page.
 * The only place that constructs. Nothing is kept at module level, so it may be started several times in one process.
 */
import { connectBus, connectKeys } from '@pawl/bus';
import { connectDatabase, waitForMigrations } from '@pawl/db';
import { createAuthorizer, createHttp, type Log, type Part } from '@pawl/service';
import type { Config } from './config.ts';
import { createFactSubscription } from './facts.ts';
import { serveGetTrace } from './http/get-trace.ts';
import { serveGetBody } from './http/get-body.ts';
import { serveListTraces } from './http/list-traces.ts';
import { servePage } from './http/page.ts';
import { createPolicy } from './retention/policy.ts';
import { schema } from './schema.ts';
import { createTraceTables } from './store/trace-tables.ts';

export type TraceStore = {
  parts: Part[];
  /** Where it listens, once it does. */
  url(): string;
};

/** Connects and constructs; nothing listens or is consumed before the parts are started. */
export async function createTraceStore(config: Config, log: Log): Promise<TraceStore> {
  const database = connectDatabase({ url: config.PAWL_DATABASE_URL, applicationName: 'pawl-trace-store' });
  await waitForMigrations(database, { ...schema, log: (line) => log.info(line) });
  const bus = await connectBus({
    url: config.PAWL_NATS_URL,
    name: 'pawl-trace-store',
    partitions: config.PAWL_PARTITIONS,
    replicas: config.PAWL_REPLICAS,
  });
  const keys = await connectKeys(bus);
  const { authorizeApp } = createAuthorizer({ keys, adminKey: config.PAWL_ADMIN_KEY });
  const policy = createPolicy({ database, keptDays: config.PAWL_TRACE_RETENTION });
  await policy.refresh();
  const tables = createTraceTables({ database, policy });
  const facts = createFactSubscription({
    bus,
    tables,
    log,
    limits: { countMax: config.PAWL_TRACE_BATCH_MAX, lingerMs: config.PAWL_TRACE_LINGER_MS },
  });
  const { http, listen } = await createHttp({
    name: 'Pawl trace-store',
    log,
    checks: { nats: bus.isConnected, database: database.isReachable, facts: facts.isFollowing },
  });
  serveListTraces(http, { database, authorizeApp });
  serveGetTrace(http, { database, authorizeApp });
  serveGetBody(http, { database, authorizeApp });
  await servePage(http);

  const listening = listen({ host: config.PAWL_HOST, port: config.PAWL_PORT });
  const connections: Part = {
    name: 'connections',
    start: async () => {},
    async stop() {
      keys.close();
      await bus.close();
      await database.close();
    },
  };
  return { parts: [connections, facts, listening], url: listening.url };
}
