/** Composition root of the tool-runner: what it is made of, in the order in which it starts. */
import { hostname } from 'node:os';
import {
  adoptResult,
  connectBus,
  connectKeys,
  connectRegistry,
  createDefinitions,
  openResult,
  putResult,
  removeResult,
  tellToolChange,
  type Bus,
  type Keys,
  type Registry,
} from '@pawl/bus';
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
import { createActWorkPart } from './act-work.ts';
import { createCallLimits, type CallLimits } from './call-limits.ts';
import { createCallMetrics } from './call-metrics.ts';
import { createCircuits } from './call/circuit.ts';
import type { Config } from './config.ts';
import { createRunLog } from './effects/run-log.ts';
import { createWriteGuard } from './guard-write.ts';
import { createHeavyWork, type HeavyWork } from './heavy/heavy-work.ts';
import { createObjectCheck } from './http/check-object.ts';
import { serveImport } from './http/import-openapi.ts';
import { serveMcpTools, type McpToolsOptions } from './http/mcp-tools.ts';
import { serveStoredResults, type StoredResultOptions } from './http/read-stored-result.ts';
import { serveTryTool, type TryToolOptions } from './http/try-tool.ts';
import { createBuiltinKind } from './kinds/builtin.ts';
import { createHttpKind } from './kinds/http.ts';
import { createTargets, type Targets } from '@pawl/service/targets';
import { createMcpKind } from './kinds/mcp.ts';
import { createDefinitionGate } from './kinds/mcp/definition-gate.ts';
import { createMcpServers, type McpServers } from './kinds/mcp/mcp-servers.ts';
import { createNatsKind } from './kinds/nats.ts';
import { createSecrets, rememberSecrets, type AppSecrets } from './kinds/secrets.ts';
import { createSkillKind } from './kinds/skill.ts';
import { createSqlKind } from './kinds/sql.ts';
import { loadSqlParser } from './kinds/sql/select-statement.ts';
import { createSqlSources } from './kinds/sql/sql-sources.ts';
import { createStage, type ResultStore } from './results/result-store.ts';
import { createCallRunner } from './run-call.ts';
import { schema } from './schema.ts';
import { createRunStops, createStopsPart } from './run-stops.ts';

const bodyLimitBytes = 2 * 1024 * 1024;

export type ToolRunner = { parts: Part[]; url(): string };

export async function createToolRunner(
  config: Config,
  log: Log,
  onWait: (line: string) => void = (line) => log.info(line),
): Promise<ToolRunner> {
  const now = () => Date.now();

  const bus = await connectBusOf(config);
  const keys = await connectKeys(bus);
  const registry = await connectRegistry(bus);
  const definitions = createDefinitions(bus);
  const database = connectDatabase({ ...databaseOptionsOf(config), applicationName: 'pawl-tool-runner' });
  const results = resultsOf(bus);

  const { secrets, values: secretValues } = rememberSecrets(secretsOf(config, keys));
  const targets = createTargets(config.PAWL_ALLOW_PRIVATE_HOSTS);
  const validator = createArgumentValidator();
  const gate = createDefinitionGate({ database, tellChange: (of, atMs) => tellToolChange(bus, of, atMs) });
  const mcpServers = createMcpServersOf({ config, registry, results, secrets, targets });
  const heavy = createHeavyWork();
  const kinds = {
    ...createKinds({ config, bus, registry, results, secrets, targets, heavy, now }),
    mcp: createMcpKind({ servers: mcpServers, gate, validator }),
  };

  const stops = createRunStops();
  const runLog = createRunLog(bus);
  const guardWrite = createWriteGuard({ database, runLog, owner: `${hostname()}:${process.pid}` });
  const findTool = (app: string, name: string) => registry.find('Tool', app, name)?.object;
  const parts = { kinds, heavy, runLog, validator, guardWrite, findTool, results, stops, secretValues, now };
  const runCall = createCallRunner({ ...parts, circuits: createCircuits(), limits: limitsOf(config) });

  const server = await createHttp({
    name: 'Pawl tool-runner',
    log,
    bodyLimitBytes,
    checks: { nats: () => bus.isConnected(), postgres: () => database.isReachable() },
  });
  const tokens = tokenVerifierOf(config, log);
  const authorizer = createAuthorizer({ http: server.http, keys, adminKey: config.PAWL_ADMIN_KEY, tokens });
  const check = createObjectCheck({ kinds, validator, targets, commands: config.PAWL_MCP_COMMANDS });
  serveRoutes(server.http, { registry, results, authorizer, servers: mcpServers, gate, check, runCall, now });
  const listening = server.listen({ host: config.PAWL_HOST, port: config.PAWL_PORT });

  const closeKinds = async () => void (await Promise.all(Object.values(kinds).map((kind) => kind.close())));
  const connections = createConnections([{ close: closeKinds }, heavy, keys, registry, bus, database], () =>
    startUp([validator.warmUp, loadSqlParser, () => waitForMigrations(database, { ...schema, log: onWait })]),
  );
  const actWork = createActWorkPart({
    bus,
    apps: keys,
    definitions,
    runCall,
    metrics: createCallMetrics(server.metrics, bus),
    log,
    pools: config.PAWL_POOLS.map(({ name }) => name),
    concurrency: config.PAWL_CALLS_MAX,
    now,
  });
  return { parts: [connections, createStopsPart(bus, stops), actWork, listening], url: () => listening.url() };
}

async function connectBusOf(config: Config): Promise<Bus> {
  return await connectBus({ ...busOptionsOf(config), name: 'pawl-tool-runner' });
}

function serveRoutes(http: Http, options: McpToolsOptions & TryToolOptions & StoredResultOptions): void {
  const { registry, authorizer, check: validate } = options;
  serveRegistry(http, { registry, authorizer, kinds: ['Tool', 'DataSource', 'McpServer'], validate });
  serveMcpTools(http, options);
  serveImport(http, options);
  serveTryTool(http, options);
  serveStoredResults(http, options);
}

function resultsOf(bus: Bus): ResultStore {
  return {
    put: (of, chunks) => putResult(bus, of, chunks),
    open: (ref) => openResult(bus, ref),
    adopt: (staged, ref) => adoptResult(bus, staged, ref),
    remove: (ref) => removeResult(bus, ref),
  };
}

function secretsOf({ secretVariables, PAWL_SECRETS_DIR: folder }: Config, keys: Keys): AppSecrets {
  return createSecrets({ variables: secretVariables, folder, apps: () => keys.apps() });
}

/** A pool without a limit of its own has that of the process. */
function limitsOf(config: Config): CallLimits {
  const pools = new Map(config.PAWL_POOLS.map(({ name, callsMax }) => [`pool ${name}`, callsMax]));
  return createCallLimits((key) => {
    if (key.startsWith('pool ')) return pools.get(key) ?? config.PAWL_CALLS_MAX;
    return key.startsWith('app ') ? config.PAWL_CALLS_PER_APP_MAX : config.PAWL_CALLS_PER_TOOL_MAX;
  });
}

/** All at once: what the first calls need. */
async function startUp(tasks: (() => unknown)[]): Promise<void> {
  await Promise.all(tasks.map(async (task) => await task()));
}

type KindParts = {
  config: Config;
  bus: Bus;
  registry: Registry;
  results: ResultStore;
  secrets: AppSecrets;
  targets: Targets;
  heavy: HeavyWork;
  now: () => number;
};

function createMcpServersOf({
  config,
  registry,
  results,
  secrets,
  targets,
}: Omit<KindParts, 'bus' | 'heavy' | 'now'>): McpServers {
  const servers = createMcpServers({
    find: (app, name) => registry.find('McpServer', app, name),
    secrets,
    targets,
    bytesMax: config.PAWL_RESULT_BYTES_MAX,
    stage: createStage(results),
    commands: config.PAWL_MCP_COMMANDS,
    commandPath: config.commandPath,
  });
  registry.onChange(({ kind, app, name }) => {
    if (kind === 'McpServer') servers.forget(app, name);
  });
  return servers;
}

/** One adapter for each kind of tool that can be executed. */
function createKinds({ config, bus, registry, results, secrets, targets, heavy, now }: KindParts) {
  const resultBytesMax = config.PAWL_RESULT_BYTES_MAX;
  const sources = createSqlSources({
    find: (app, name) => registry.find('DataSource', app, name),
    secrets,
    targets,
    connectionsMax: config.PAWL_SQL_CONNECTIONS_MAX,
  });
  return {
    http: createHttpKind({ targets, secrets, resultBytesMax, heavy }),
    sql: createSqlKind({ sources, resultBytesMax }),
    nats: createNatsKind({ bus, subjects: config.PAWL_TOOL_SUBJECTS, resultBytesMax, heavy }),
    builtin: createBuiltinKind({ results, now }),
    skill: createSkillKind({ resultBytesMax }),
  };
}
