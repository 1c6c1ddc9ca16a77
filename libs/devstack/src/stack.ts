/**
 * The whole of Pawl on one machine, for development: servers, services, front door, model, one example. Read from top to
 * bottom it is the order of the start; it stops in the reverse order.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createClient, PawlError } from '@pawl/client';
import type { Example } from './example/load-example.ts';
import { openFrontDoor } from './front-door/front-door.ts';
import { MODEL_KEY_SECRET, endpointRoutes, simRoutes } from './model/choose-model.ts';
import { startSim } from './model/start-sim.ts';
import { stopAllChildren } from './process/child.ts';
import { startNats } from './nats/start-nats.ts';
import type { NatsServer } from './nats/start-nats.ts';
import { startPostgres } from './postgres/start-postgres.ts';
import type { PostgresServer } from './postgres/start-postgres.ts';
import { keepRunning } from './process/keep-running.ts';
import { chooseServiceUrls, migrateServices, startServices } from './services/start-services.ts';
import type { DevstackConfig } from './config.ts';
import { readDevFile, writeDevFile } from './state/state-folder.ts';
import type { DevFile, StateFolder } from './state/state-folder.ts';

export interface StackOptions {
  folder: StateFolder;
  config: DevstackConfig;
  example: Example;
  port: number;
  /** Named in the message about a taken port, for example `npm run dev`. */
  command: string;
  /** What is being waited for; shown while it lasts. */
  progress: (what: string) => void;
  /** A sentence that stays on the terminal. */
  say: (sentence: string) => void;
}

export interface Stack {
  readonly devFile: DevFile;
  readonly appKey: string;
}

interface Part {
  stop(): Promise<unknown>;
}

/** `stop` may be called at any time, also while `start` is under way or after it has failed. */
export function createStack(options: StackOptions): { start(): Promise<Stack>; stop(): Promise<void> } {
  const parts: Part[] = [];
  const keep = <P extends Part>(part: P): P => {
    parts.push(part);
    return part;
  };
  return {
    start: () => startAll(options, keep),
    async stop() {
      for (let part = parts.pop(); part; part = parts.pop()) await part.stop();
      await stopAllChildren();
    },
  };
}

async function startAll(options: StackOptions, keep: <P extends Part>(part: P) => P): Promise<Stack> {
  const { folder, config, example, progress, say } = options;
  const urls = await chooseServiceUrls();
  const door = keep(await openFrontDoor(urls, options));
  // Adopted before anything else: the logs of the last start would only mislead.
  rmSync(folder.logs, { recursive: true, force: true });

  progress('Starting NATS and PostgreSQL');
  const { natsUrl, databaseUrl } = await startServers(options, keep);

  progress('Preparing the database and the sample data');
  const stored = readDevFile(folder);
  const adminKey = stored?.adminKey ?? `pawl-admin-${randomBytes(24).toString('base64url')}`;
  const environment: NodeJS.ProcessEnv = {
    ...config.environment,
    NODE_COMPILE_CACHE: folder.compileCache,
    PAWL_NATS_URL: natsUrl,
    PAWL_DATABASE_URL: databaseUrl,
    PAWL_ADMIN_KEY: adminKey,
    PAWL_HOST: '127.0.0.1',
    // The line that says that a service listens is of level info.
    PAWL_LOG_LEVEL: ['debug', 'trace'].find((level) => level === config.environment.PAWL_LOG_LEVEL) ?? 'info',
    PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1,localhost',
    // On one's own machine, MCP servers may be started with any command.
    PAWL_MCP_COMMANDS: '*',
  };
  const modelSecret = config.model ? { [MODEL_KEY_SECRET]: config.model.apiKey } : {};
  const servicesOptions = { root: folder.root, logsFolder: folder.logs, environment, say };
  const [{ secrets }] = await bothDone(
    example.prepare({ databaseUrl, log: progress }),
    migrateServices(servicesOptions),
  );

  progress('Starting the four services');
  const [sim] = await bothDone(
    config.model ? undefined : startSim(folder, example.simScript, say).then(keep),
    startServices(
      { ...servicesOptions, environment: { ...environment, ...secretVariables({ ...secrets, ...modelSecret }) } },
      urls,
    ).then(keep),
  );

  progress('Declaring the example');
  const admin = createClient({ baseUrl: door.url, key: adminKey });
  const routes = config.model
    ? endpointRoutes(example.app, config.model)
    : simRoutes(example.app, sim?.baseUrl ?? '', sim?.models ?? []);
  const appKey = (await findAppKey(door.url, example.app, stored)) ?? (await admin.createKey({ app: example.app })).key;
  for (const object of [...routes, ...example.objects]) await admin.putObject(object);

  const apps = { ...stored?.apps, [example.app]: { key: appKey } };
  const devFile = { url: door.url, adminKey, apps, services: urls, natsUrl, databaseUrl };
  writeDevFile(folder, devFile);
  return { devFile, appKey };
}

/** The services resolve `${secret:NAME}` from the variable `PAWL_SECRET_NAME`. */
function secretVariables(secrets: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [`PAWL_SECRET_${name}`, value]));
}

/** Like Promise.all, but fails only when both have come to an end: what still runs would lose the servers under its feet. */
async function bothDone<A, B>(first: A | Promise<A>, second: B | Promise<B>): Promise<[A, B]> {
  const both = [Promise.resolve(first), Promise.resolve(second)] as const;
  await Promise.allSettled(both);
  return Promise.all(both);
}

/** Private ones, unless the environment names others. */
async function startServers(
  { folder, config, progress, say }: StackOptions,
  keep: <P extends Part>(part: P) => P,
): Promise<{ natsUrl: string; databaseUrl: string }> {
  const keepServer = (name: string, server: NatsServer | PostgresServer): string => {
    const { logFile, respawn: start } = server;
    keep(keepRunning({ name, logFile, child: server, start, say }));
    return server.url;
  };
  const [natsUrl, databaseUrl] = await bothDone(
    config.natsUrl ?? startNats({ dataDir: folder.nats, say: progress }).then((server) => keepServer('NATS', server)),
    config.databaseUrl ??
      startPostgres({ dataDir: folder.postgres }).then((server) => keepServer('PostgreSQL', server)),
  );
  return { natsUrl, databaseUrl };
}

/** The key of the last start if it is still accepted; clients that were given it keep working. */
async function findAppKey(url: string, app: string, stored: DevFile | undefined): Promise<string | undefined> {
  const key = stored?.apps[app]?.key;
  if (key === undefined) return undefined;
  try {
    await createClient({ baseUrl: url, key }).listRuns({ limit: 1 });
    return key;
  } catch (error) {
    if (error instanceof PawlError && [401, 403].includes(error.status)) return undefined;
    throw error;
  }
}
