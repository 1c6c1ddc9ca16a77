/**
 * A private PostgreSQL on 127.0.0.1 with a password, its files in one folder, kept between starts. It must not listen on
 * another address or on a Unix socket, and must work for root and below folders that only root may enter.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { describeExit, startChild } from '../process/child.ts';
import type { Child, ChildExit } from '../process/child.ts';
import { logTail } from '../process/log-tail.ts';
import { poll } from '../process/poll.ts';
import { DevstackError, reasonOf } from '../devstack-error.ts';
import { freePort } from '../free-port.ts';
import { findBinaries } from './binaries.ts';
import type { Binaries } from './binaries.ts';
import { REACHABLE_ROOT, placeCluster, removeCluster } from './cluster-place.ts';
import { findServerUser } from './server-user.ts';
import type { ServerUser } from './server-user.ts';
import { clearStaleServer } from './stale-server.ts';

const READY_WITHIN_MS = 60_000;
const START_ATTEMPTS_MAX = 3;
const ROLE = 'pawl';

export interface PostgresOptions {
  /** Folder of its cluster, log and password. One process at a time may use it. */
  dataDir: string;
  /** Default: any free port. */
  port?: number;
  /** Default true. False is faster and loses everything when the machine crashes: for tests. */
  durable?: boolean;
  /** Database to create when missing. Default `pawl`. */
  database?: string;
}

export interface PostgresServer extends Pick<Child, 'pid' | 'exited' | 'kill'> {
  /** Connection URL with the role's password; the role is a superuser of this private server. */
  readonly url: string;
  readonly port: number;
  readonly logFile: string;
  /** Orderly end; with `remove` its data go too. Safe to call again. */
  stop(options?: { remove?: boolean }): Promise<ChildExit>;
  /** Starts the program again on the same port, after it has ended by itself. Does not wait until it is ready. */
  respawn(): Child;
}

interface Cluster {
  dataFolder: string;
  binaries: Binaries;
  user: ServerUser | undefined;
  password: string;
  logFile: string;
}

/**
 * Starts it (first makes the cluster if there is none) and waits until it answers.
 * @throws DevstackError when it can't run here, or ends while starting.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const dataDir = resolve(options.dataDir);
  const cluster = await prepareCluster(dataDir, options.durable !== false);
  await clearStaleServer(cluster.dataFolder);
  const { child, port } = await startOnFreePort(cluster, options);
  const database = options.database ?? ROLE;
  await createDatabase(urlOf(cluster, port, 'postgres'), database);
  return {
    url: urlOf(cluster, port, database),
    port,
    logFile: cluster.logFile,
    pid: child.pid,
    exited: child.exited,
    kill: child.kill,
    respawn: () => startServer(cluster, port, options.durable !== false),
    stop: async ({ remove = false } = {}) => {
      const exit = await child.stop();
      if (remove) await removeCluster(dataDir);
      return exit;
    },
  };
}

async function prepareCluster(dataDir: string, durable: boolean): Promise<Cluster> {
  const user = await findServerUser();
  const place = await placeCluster(dataDir, user);
  const binaries = await findBinaries(user, REACHABLE_ROOT);
  const dataFolder = join(place, 'data');
  const passwordFile = join(dataDir, 'password');
  const cluster = { dataFolder, binaries, user, logFile: join(dataDir, 'postgres.log') };

  const version = await readFile(join(dataFolder, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) {
    const password = randomBytes(18).toString('base64url');
    await writeFile(passwordFile, password, { mode: 0o600 });
    await initialise({ ...cluster, password }, { place, durable });
    return { ...cluster, password };
  }
  if (version.trim() !== binaries.majorVersion) {
    throw new DevstackError(
      `The database in ${dataDir} was made by PostgreSQL ${version.trim()}, and this is PostgreSQL ${binaries.majorVersion}. ` +
        'Remove that folder to start with an empty database.',
    );
  }
  return { ...cluster, password: await readFile(passwordFile, 'utf8') };
}

/** Makes the cluster beside its place and moves it there when it is whole, so a crash leaves nothing half-made. */
async function initialise(cluster: Cluster, { place, durable }: { place: string; durable: boolean }): Promise<void> {
  const half = join(place, 'data.new');
  const passwordFile = join(place, 'password.new');
  await rm(half, { recursive: true, force: true });
  await writeFile(passwordFile, cluster.password, { mode: 0o600 });
  if (cluster.user) await chown(passwordFile, cluster.user.uid, cluster.user.gid);
  // Byte order for sorting, full Unicode for upper and lower case, and no dependence on the system's locales.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${ROLE}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  try {
    await promisify(execFile)(
      cluster.binaries.initdb,
      [`--pgdata=${half}`, ...access, ...locale, '--no-instructions', ...(durable ? [] : ['--no-sync'])],
      { cwd: place, ...cluster.user },
    );
  } catch (error) {
    throw new DevstackError(`Making the private PostgreSQL database failed. ${reasonOf(error)}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(half, cluster.dataFolder);
}

async function startOnFreePort(cluster: Cluster, options: PostgresOptions): Promise<{ child: Child; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    await rm(cluster.logFile, { force: true });
    const child = startServer(cluster, port, options.durable !== false);
    const outcome = await Promise.race([waitUntilReady(urlOf(cluster, port, 'postgres')), child.exited]);
    if (outcome === true) return { child, port };
    child.kill();
    // Someone may have taken the port since it was found free.
    const canRetry = options.port === undefined && attempt < START_ATTEMPTS_MAX;
    if (outcome !== undefined && canRetry) continue;
    const how =
      outcome === undefined ? `did not answer within ${READY_WITHIN_MS / 1000} s` : `ended (${describeExit(outcome)})`;
    throw new DevstackError(`PostgreSQL ${how} while starting. Its last lines:\n${logTail(cluster.logFile)}`);
  }
}

function startServer(cluster: Cluster, port: number, durable: boolean): Child {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    ...(!durable && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return startChild({
    command: cluster.binaries.postgres,
    args: ['-D', cluster.dataFolder, '-p', String(port), ...flags],
    cwd: cluster.dataFolder,
    logFile: cluster.logFile,
    // Fast shutdown: drops the sessions instead of waiting for them.
    stopSignal: 'SIGINT',
    runAs: cluster.user,
  });
}

async function waitUntilReady(url: string): Promise<true | undefined> {
  return poll(async () => ((await canConnect(url)) ? true : undefined), { deadlineMs: READY_WITHIN_MS });
}

async function canConnect(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  return client
    .connect()
    .then(() => client.end())
    .then(
      () => true,
      () => false,
    );
}

async function createDatabase(adminUrl: string, database: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [database]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
}

function urlOf(cluster: Cluster, port: number, database: string): string {
  return `postgres://${ROLE}:${cluster.password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}
