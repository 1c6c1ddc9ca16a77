/**
 * The orchestrator: accepts runs, folds their facts, decides what comes next, tells clients.
 * Read top to bottom, this is its architecture.
 */
import { connectBus, connectKeys, connectRegistry, connectToolChanges, createDefinitions } from '@pawl/bus';
import { createArgumentValidator } from '@pawl/calls';
import { connectDatabase, waitForMigrations } from '@pawl/db';
import {
  busOptionsOf,
  createAuthorizer,
  createConnections,
  createHttp,
  databaseOptionsOf,
  serveRegistry,
  tokenVerifierOf,
  type Http,
  type Log,
  type Part,
} from '@pawl/service';
import { createTargets } from '@pawl/service/targets';
import type { Config } from './config.ts';
import { createAgentCheck } from './http/check-agent.ts';
import { createRunRoute } from './http/create-run.ts';
import { forkRunRoute } from './http/fork-run.ts';
import { listRunsRoute } from './http/list-runs.ts';
import type { WordRoutes } from './http/open-run.ts';
import { readRunRoute } from './http/read-run.ts';
import { runEventsRoute } from './http/run-events.ts';
import { wordRoutes } from './http/words.ts';
import { createForkRun, type MakeFork } from './intake/fork-run.ts';
import { createRunStore, type RunStore } from './intake/run-store.ts';
import { createSayWord } from './intake/say-word.ts';
import { createStartRun, type StartRun } from './intake/start-run.ts';
import { createSubRuns } from './intake/sub-runs.ts';
import { createWatchdog } from './intake/watchdog.ts';
import { createWordStore } from './intake/word-store.ts';
import { createEndings } from './partitions/endings.ts';
import { createPartitions } from './partitions/partitions.ts';
import { createPerform } from './partitions/perform.ts';
import { createReadRun } from './partitions/read-run.ts';
import { createWebhooks } from './partitions/send-webhook.ts';
import { createSettleRun } from './partitions/settle-run.ts';
import { createTellWaiting } from './partitions/tell-waiting.ts';
import { registerRunMetrics } from './run-metrics.ts';
import { schema } from './schema.ts';

export async function createOrchestrator(
  config: Config,
  log: Log,
  onWait: (line: string) => void = (line) => log.info(line),
): Promise<{ parts: Part[]; url(): string }> {
  const database = connectDatabase({ ...databaseOptionsOf(config), applicationName: 'pawl-orchestrator' });
  await waitForMigrations(database, { ...schema, log: onWait });
  const bus = await connectBus({ ...busOptionsOf(config), name: 'pawl-orchestrator' });
  const [registry, keys, toolChanges] = await Promise.all([
    connectRegistry(bus),
    connectKeys(bus),
    connectToolChanges(bus),
  ]);
  const { changedAtMs } = toolChanges;
  const definitions = createDefinitions(bus);
  const store = createRunStore(database);
  const words = createWordStore(database);
  const sayWord = createSayWord({ bus, words });
  const validator = createArgumentValidator();
  const subRuns = createSubRuns({ bus, registry, definitions, store, sayWord, validator });

  const endings = createEndings();
  const stateOf = (runId: string) => partitions.find(runId);
  const targets = createTargets(config.PAWL_ALLOW_PRIVATE_HOSTS);
  const webhooks = createWebhooks(targets);
  const telling = { secretOf: config.secretOf, sendWebhook: webhooks.send, stateOf };
  const tellWaiting = createTellWaiting({ definitions, store, log, ...telling });
  const partitions = createPartitions({
    bus,
    definitions,
    perform: createPerform({ bus, sayWord, subRuns }),
    changedAtMs,
    log,
    onChange: createSettleRun({ store, subRuns, endings, tellWaiting, log }),
    onFound: tellWaiting,
  });
  toolChanges.onChange(() => partitions.drive());
  const watchdog = createWatchdog({ bus, store, words, partitions, log });
  const startRun = createStartRun({ bus, registry, definitions, store });
  const forkRun = createForkRun({ bus, definitions, store });
  const readRun = createReadRun({ bus, store, partitions, endings });

  const server = await createHttp({
    name: 'Pawl orchestrator',
    log,
    bodyLimitBytes: 4_194_304,
    checks: { nats: () => bus.isConnected(), postgres: () => database.isReachable() },
  });
  server.http.addHook('preClose', async () => readRun.stopWaiting());
  registerRunMetrics({ registry: server.metrics, partitions, partitionCount: bus.partitions });
  const tokens = tokenVerifierOf(config, log);
  const authorizer = createAuthorizer({ http: server.http, keys, adminKey: config.PAWL_ADMIN_KEY, tokens });
  const deciding = { definitions, changedAtMs, partitions, sayWord };
  serveRuns(server.http, { authorizer, bus, store, readRun, startRun, forkRun, ...deciding });
  const validate = createAgentCheck(targets);
  serveRegistry(server.http, { registry, authorizer, kinds: ['Agent'], validate });
  const listening = server.listen({ host: config.PAWL_HOST, port: config.PAWL_PORT });

  const connections = createConnections([registry, keys, toolChanges, webhooks, bus, database]);
  return { parts: [connections, partitions, watchdog, listening], url: () => listening.url() };
}

type RunRoutes = WordRoutes & { store: RunStore; startRun: StartRun; forkRun: MakeFork };

function serveRuns(http: Http, using: RunRoutes): void {
  createRunRoute(http, using);
  readRunRoute(http, using);
  listRunsRoute(http, using);
  runEventsRoute(http, using);
  wordRoutes(http, using);
  forkRunRoute(http, using);
}
