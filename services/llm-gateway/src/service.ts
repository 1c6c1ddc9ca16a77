/**
 * The gateway to models: think work in, thoughts out, every cent held before and charged once.
 * Read top to bottom, this is its architecture.
 */
import { randomUUID } from 'node:crypto';
import { connectBus, connectKeys, connectRedactionRules, connectRegistry, type Bus, type Keys } from '@pawl/bus';
import { connectDatabase, waitForMigrations, type Database } from '@pawl/db';
import { parseRules } from '@pawl/redaction';
import {
  busOptionsOf,
  createAuthorizer,
  createConnections,
  createHttp,
  databaseOptionsOf,
  serveRegistry,
  tokenVerifierOf,
  type HttpServer,
  type Log,
  type Part,
} from '@pawl/service';
import { createTargets, type Targets } from '@pawl/service/targets';
import { createBudgetSource } from './budget/budget-source.ts';
import { createEndpointHealth } from './health/endpoint-health.ts';
import { createHoldsAhead } from './budget/holds-ahead.ts';
import { createLeaseKeeper } from './budget/lease-keeper.ts';
import { createRunLimits } from './budget/run-limits.ts';
import { createSlices } from './budget/slices.ts';
import { createThresholdWatch } from './budget/threshold-watch.ts';
import { createBudgetStore, type BudgetStore } from './budget/store.ts';
import { createAnswerCache, type AnswerCache } from './cache/answer-cache.ts';
import type { Config } from './config.ts';
import { createGatewayMetrics } from './gateway-metrics.ts';
import { serveBudgetState } from './http/budget-state.ts';
import { serveKeys } from './http/keys.ts';
import { serveLedger } from './http/ledger.ts';
import { serveSpend } from './http/spend.ts';
import { createObjectValidation } from './http/validate-object.ts';
import { createKeyStore, type KeyStore } from './keys/key-store.ts';
import { createJournal } from './ledger/journal.ts';
import { createForgetting } from './retention/forget-replies.ts';
import { createUserForgetting } from './retention/forget-users.ts';
import { createRedact } from './retention/redact.ts';
import type { CompleteDeps } from './openai/complete-call.ts';
import { createAgentModel } from './openai/agent-model.ts';
import { createCallsUnderWay, type CallsUnderWay } from './openai/calls-under-way.ts';
import { createKeptItems } from './openai/kept-items.ts';
import { serveOpenAi } from './openai/serve-openai.ts';
import { createEndpoints } from './providers/endpoints.ts';
import { createSecretSource } from './providers/secrets.ts';
import { schema } from './schema.ts';
import { createThinkWork } from './think-work.ts';

export async function createGateway(
  config: Config,
  log: Log,
  onWait: (line: string) => void = (line) => log.info(line),
): Promise<{ parts: Part[]; url(): string }> {
  const database = connectDatabase({
    ...databaseOptionsOf(config),
    applicationName: 'pawl-llm-gateway',
    poolMax: config.PAWL_DATABASE_POOL,
  });
  await waitForMigrations(database, { ...schema, log: onWait });
  const bus = await connectBus({ ...busOptionsOf(config), name: 'pawl-llm-gateway' });
  const [registry, keys] = await Promise.all([connectRegistry(bus), connectKeys(bus)]);
  const rules = await connectRedactionRules(bus, parseRules);
  const keyStore = createKeyStore(database, keys);

  const replica = `gateway-${randomUUID()}`;
  const server = await createServer(config, log, { bus, database });
  const rates = config.PAWL_EXCHANGE_RATES;
  const apps = keys;
  const metrics = createGatewayMetrics({ registry: server.metrics, bus, database, apps, declared: registry, rates });
  const store = metrics.countCharges(createBudgetStore(database, replica));
  const money = createMoney({ bus, store, log, owner: replica, callsAhead: config.PAWL_SLICE_CALLS });
  const budgets = createBudgetSource(registry, rates);
  const targets = createTargets(config.PAWL_ALLOW_PRIVATE_HOSTS);
  const endpoints = createEndpoints(targets);
  const health = metrics.countAttempts(createEndpointHealth(bus, replica));
  const secrets = createSecretSource(config.secretVariables, () => keys.apps());
  const redact = createRedact(rules);
  const cache = createAnswerCache(database, redact, log);
  const runLimits = createRunLimits(database, log);
  const callDeps = { registry, rates, budgets, store, runLimits, ...money.deps, endpoints, secrets, health, log };
  const thresholds = createThresholdWatch({ bus, apps, registry, rates, database, log });
  const { PAWL_REPLIES_KEPT_DAYS: keptDays, PAWL_FORGETTING_MS: everyMs } = config;
  const ofReplies = { bus, database, log, keptDays, everyMs };
  const forgetting = [createForgetting(ofReplies), createUserForgetting(ofReplies)];
  const thinkWork = createThinkWork({
    ...callDeps,
    bus,
    apps,
    concurrency: config.PAWL_THINK_CONCURRENCY,
    drainMs: config.PAWL_THINK_DRAIN_MS,
  });

  const calls = createCallsUnderWay();
  const ofApi = { redact, targets, server, cache, bus, keys, keyStore, database, calls };
  const listening = await createApi(config, { ...callDeps, ...ofApi });
  const closedLast = [endpoints, health, budgets, registry, keys, rules, bus, database];
  const connections = createConnections(closedLast, async () => void (await keyStore.restore()));
  return {
    parts: [connections, ...money.parts, thresholds, ...forgetting, thinkWork, calls, listening],
    url: () => listening.url(),
  };
}

/** What is set aside for calls, and what is settled while Postgres is away. */
function createMoney(options: { bus: Bus; store: BudgetStore; log: Log; owner: string; callsAhead: number }) {
  const journal = createJournal(options);
  const slices = createSlices(options);
  const ahead = createHoldsAhead({ ...options, isOn: options.callsAhead > 0 });
  const leaseKeeper = createLeaseKeeper(options.store, slices, options.log);
  return { deps: { journal, slices, ahead }, parts: [journal, leaseKeeper, slices, ahead] };
}

function createServer(config: Config, log: Log, on: { bus: Bus; database: Database }): Promise<HttpServer> {
  return createHttp({
    name: 'Pawl LLM gateway',
    log,
    closeWithinMs: config.PAWL_THINK_DRAIN_MS,
    checks: { nats: () => on.bus.isConnected(), postgres: () => on.database.isReachable() },
  });
}

type ApiDeps = CompleteDeps & {
  targets: Targets;
  server: HttpServer;
  cache: AnswerCache;
  bus: Bus;
  keys: Keys;
  keyStore: KeyStore;
  database: Database;
  calls: CallsUnderWay;
};

/** The HTTP side: what is declared, what was spent, keys, and the OpenAI-compatible API. */
async function createApi(config: Config, deps: ApiDeps): Promise<Part & { url(): string }> {
  const { server, log, keys, keyStore, database, registry, budgets, store, calls } = deps;
  const tokens = tokenVerifierOf(config, log);
  const authorizer = createAuthorizer({ http: server.http, keys, adminKey: config.PAWL_ADMIN_KEY, tokens });
  const validate = createObjectValidation(deps.targets, config.PAWL_EXCHANGE_RATES);
  serveRegistry(server.http, { registry, authorizer, kinds: ['ModelRoute', 'Budget'], validate });
  serveBudgetState(server.http, { registry, rates: config.PAWL_EXCHANGE_RATES, authorizer, store, database });
  serveSpend(server.http, { authorizer, database });
  serveLedger(server.http, { authorizer, database, budgets, store });
  serveKeys(server.http, { authorizer, keyStore });
  const agents = createAgentModel(config.PAWL_ORCHESTRATOR_URL);
  const items = createKeptItems(database);
  await serveOpenAi(server.http, { authorizer, registry, callDeps: deps, calls, agents, items, log });
  return server.listen({ host: config.PAWL_HOST, port: config.PAWL_PORT });
}
