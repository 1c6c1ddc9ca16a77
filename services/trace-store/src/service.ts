/**
 * trace-store, put together: facts of the run log → Postgres → HTTP and the page.
 * The only place that constructs. Nothing is kept at module level, so it may be started several times in one process.
 */
import { askToForget, connectBus, connectKeys, type Bus } from '@pawl/bus';
import { connectDatabase, waitForMigrations } from '@pawl/db';
import {
  busOptionsOf,
  createAuthorizer,
  createConnections,
  createHttp,
  databaseOptionsOf,
  tokenVerifierOf,
  type Log,
  type Part,
} from '@pawl/service';
import type { Config } from './config.ts';
import { countFactsBehind, createFactSubscription } from './facts.ts';
import { keepFigures } from './figures/keep-figures.ts';
import { createAccess } from './http/access.ts';
import { compressJson } from './http/compress-json.ts';
import { serveAggregateTraces } from './http/aggregate-traces.ts';
import { serveCompareTraces } from './http/compare-traces.ts';
import { serveExportOtlp } from './http/export-otlp.ts';
import { serveExportTraces } from './http/export-traces.ts';
import { serveLiveTraces } from './http/live-traces.ts';
import { serveGetTrace } from './http/get-trace.ts';
import { serveGetBody } from './http/get-body.ts';
import { serveListTraces } from './http/list-traces.ts';
import { serveOperateRoutes } from './http/operate-routes.ts';
import { servePage } from './http/page.ts';
import { serveQueues } from './http/queues.ts';
import { serveReceiveOtlp } from './http/receive-otlp.ts';
import { createReads } from './http/reads.ts';
import { signInOf } from './http/sign-in.ts';
import { serveSettingsRoutes } from './http/settings-routes.ts';
import { createGrpcServer, type GrpcOptions } from './otlp/grpc-server.ts';
import { createOtlpGate } from './otlp/otlp-gate.ts';
import { createSpanReceiver } from './otlp/receive-spans.ts';
import { createArchive } from './retention/archive.ts';
import { eraseUsers } from './retention/erase-users.ts';
import { createResultExpiry } from './retention/expire-results.ts';
import { findLeaks, type Leak } from './retention/leak-scan.ts';
import { createMaintenance, type Chore } from './retention/maintenance.ts';
import { createPolicy } from './retention/policy.ts';
import { forgetOldNotes, keepAndDrop } from './retention/retention.ts';
import { schema } from './schema.ts';
import { createStoredNotices } from './stored-notices.ts';
import { createTraceTables, type TraceTables } from './store/trace-tables.ts';
import { createTraceMetrics } from './trace-metrics.ts';

export type TraceStore = {
  parts: Part[];
  /** Where it listens, once it does. */
  url(): string;
};

/** Connects and constructs; nothing listens or is consumed before the parts are started. */
export async function createTraceStore(
  config: Config,
  log: Log,
  onWait: (line: string) => void = (line) => log.info(line),
): Promise<TraceStore> {
  const database = connectDatabase({ ...databaseOptionsOf(config), applicationName: 'pawl-trace-store' });
  await waitForMigrations(database, { ...schema, log: onWait });
  const bus = await connectBus({ ...busOptionsOf(config), name: 'pawl-trace-store' });
  const keys = await connectKeys(bus);
  const reads = createReads(database);
  const policy = createPolicy({ database, bus, keptDays: config.PAWL_TRACE_RETENTION });
  await policy.refresh();
  const tables = createTraceTables({ database, policy });
  const notices = createStoredNotices(bus);
  const checks = { nats: bus.isConnected, database: database.isReachable, facts: () => facts.isFollowing() };
  const { http, metrics, listen } = await createHttp({ name: 'Pawl trace-store', log, checks });
  const tokens = tokenVerifierOf(config, log);
  const authorizer = createAuthorizer({ http, keys, adminKey: config.PAWL_ADMIN_KEY, tokens });
  const access = createAccess({ authorizer, reads });
  const traceMetrics = createTraceMetrics({ registry: metrics, bus, database });
  const gate = createOtlpGate({ registry: metrics, bytesMax: config.PAWL_OTLP_MEMORY_MAX });
  const facts = createFactSubscription({
    bus,
    tables,
    log,
    limits: { countMax: config.PAWL_TRACE_BATCH_MAX, lingerMs: config.PAWL_TRACE_LINGER_MS },
    onStored(records) {
      traceMetrics.onStored(records);
      notices.publish(records);
    },
  });
  const receiver = createSpanReceiver({ tables, onStored: notices.publish, onReceived: traceMetrics.onSpans });
  const maintenance = createMaintenance({
    log,
    everyMs: config.PAWL_TRACE_MAINTENANCE_MS,
    chores: choresOf({ tables, bus, archiveAfterMs: config.PAWL_TRACE_ARCHIVE_AFTER_MINUTES * 60_000 }),
  });
  compressJson(http);
  await serveReceiveOtlp(http, { authorizer, receiver, gate });
  serveListTraces(http, { database, access });
  serveOperateRoutes(http, { database, access, reads, onErasure: () => void maintenance.runNow() });
  serveSettingsRoutes(http, { database, access, policy });
  serveAggregateTraces(http, { database, access });
  serveCompareTraces(http, { database, access });
  serveExportTraces(http, { database, access });
  serveExportOtlp(http, { database, access });
  serveLiveTraces(http, { database, access, notices, log });
  serveQueues(http, { bus, authorizer, factsBehind: () => countFactsBehind(bus) });
  serveGetTrace(http, { database, access, policy });
  serveGetBody(http, { database, access });
  await servePage(http, { signIn: signInOf(config, tokens) });

  const listening = listen({ host: config.PAWL_HOST, port: config.PAWL_PORT });
  const connections = createConnections([keys, bus, database]);
  const grpc = grpcPartsOf(config, { authorizer, receiver, gate, log });
  return { parts: [connections, facts, maintenance, ...grpc, listening], url: listening.url };
}

/** The gRPC server, where a port says that it is wanted. */
function grpcPartsOf(config: Config, options: Omit<GrpcOptions, 'host' | 'port'>): Part[] {
  const { PAWL_HOST: host, PAWL_OTLP_GRPC_PORT: port } = config;
  return port === undefined ? [] : [createGrpcServer({ ...options, host, port })];
}

/** Looks through all stored traces, of one app or of all, and gives how many leaks there are. */
export async function scanForLeaks(
  databaseUrl: string,
  options: { app: string | undefined; onLeak(leak: Leak): void },
): Promise<number> {
  const database = connectDatabase({ url: databaseUrl, applicationName: 'pawl-leak-scan', poolMax: 1 });
  try {
    const policy = createPolicy({ database, keptDays: new Map() });
    await policy.refresh();
    let count = 0;
    for await (const leak of findLeaks(database, { policy, app: options.app })) {
      count += 1;
      options.onLeak(leak);
    }
    return count;
  } finally {
    await database.close();
  }
}

/** What is kept by weeks needs no closer look at each of its results. */
const resultsEveryMs = 6 * 3_600_000;

/** What is done again and again, in this order. */
function choresOf(options: { tables: TraceTables; bus: Bus; archiveAfterMs: number }): Chore[] {
  const { tables, bus, archiveAfterMs: afterMs } = options;
  const archive = createArchive({ bus, tables });
  return [
    { name: 'settings', run: () => tables.policy.refresh() },
    { name: 'retention', run: () => keepAndDrop(tables) },
    { name: 'results', run: createResultExpiry({ tables, bus, everyMs: resultsEveryMs }) },
    { name: 'notes', run: () => forgetOldNotes(tables) },
    {
      name: 'erasures',
      run: () => eraseUsers({ tables, bus, forgetElsewhere: (what) => askToForget(bus, 'llm-gateway', what) }),
    },
    { name: 'progress', run: () => archive.publishProgress() },
    ...(afterMs > 0 ? [{ name: 'archive', run: () => archive.removeEnded({ afterMs }) }] : []),
    { name: 'figures', run: () => keepFigures(tables.database) },
  ];
}
