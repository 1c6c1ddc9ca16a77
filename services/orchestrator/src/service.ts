/**
 * The orchestrator: accepts runs, folds their facts, decides what comes next, tells clients.
 * Read top to bottom, this is its architecture.
 */
import { connectBus, connectKeys, connectRegistry, createDefinitions } from '@pawl/bus';
import { connectDatabase, waitForMigrations } from '@pawl/db';
import { createAuthorizer, createHttp, serveRegistry, type Log, type Part } from '@pawl/service';
import type { Config } from './config.ts';
import { checkAgent } from './http/check-agent.ts';
import { cancelRunRoute } from './http/cancel-run.ts';
import { createRunRoute } from './http/create-run.ts';
import { listRunsRoute } from './http/list-runs.ts';
import { readRunRoute } from './http/read-run.ts';
import { runEventsRoute } from './http/run-events.ts';
import { createRunStore } from './intake/run-store.ts';
import { createStartRun } from './intake/start-run.ts';
import { createWatchdog } from './intake/watchdog.ts';
import { createEndings } from './partitions/endings.ts';
import { createPartitions } from './partitions/partitions.ts';
import { createReadRun } from './partitions/read-run.ts';
import { createSettleRun } from './partitions/settle-run.ts';
import { schema } from './schema.ts';

export async function createOrchestrator(config: Config, log: Log): Promise<{ parts: Part[]; url(): string }> {
  const database = connectDatabase({ url: config.PAWL_DATABASE_URL, applicationName: 'pawl-orchestrator' });
  await waitForMigrations(database, { ...schema, log: (line) => log.info(line) });
  const bus = await connectBus({
    url: config.PAWL_NATS_URL,
    name: 'pawl-orchestrator',
    partitions: config.PAWL_PARTITIONS,
    replicas: config.PAWL_REPLICAS,
  });
  const [registry, keys] = await Promise.all([connectRegistry(bus), connectKeys(bus)]);
  const definitions = createDefinitions(bus);
  const store = createRunStore(database);

  const endings = createEndings();
  const partitions = createPartitions({ bus, definitions, log, onEnded: createSettleRun({ store, endings, log }) });
  const watchdog = createWatchdog({ bus, store, partitions, log });
  const startRun = createStartRun({ bus, registry, definitions, store });
  const readRun = createReadRun({ bus, store, partitions, endings });

  const server = await createHttp({
    name: 'Pawl orchestrator',
    log,
    bodyLimitBytes: 4_194_304,
    checks: { nats: () => bus.isConnected(), postgres: () => database.isReachable() },
  });
  server.http.addHook('preClose', async () => readRun.stopWaiting());
  const authorizer = createAuthorizer({ keys, adminKey: config.PAWL_ADMIN_KEY });
  createRunRoute(server.http, { authorizer, startRun, readRun });
  readRunRoute(server.http, { authorizer, readRun });
  listRunsRoute(server.http, { authorizer, store, readRun });
  runEventsRoute(server.http, { authorizer, bus, readRun });
  cancelRunRoute(server.http, { authorizer, bus, store, readRun });
  serveRegistry(server.http, { registry, authorizer, kinds: ['Agent'], validate: checkAgent });
  const listening = server.listen({ host: config.PAWL_HOST, port: config.PAWL_PORT });

  const connections: Part = {
    name: 'connections',
    start: async () => {},
    async stop() {
      registry.close();
      keys.close();
      await bus.close();
      await database.close();
    },
  };
  return { parts: [connections, partitions, watchdog, listening], url: () => listening.url() };
}
