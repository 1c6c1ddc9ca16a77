/**
 * A private nats-server with JetStream on 127.0.0.1, its files in one folder. It must not reach out of that folder and must
 * never listen on another address.
 */
import { writeFileSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describeExit, startChild } from '../process/child.ts';
import type { Child, ChildExit } from '../process/child.ts';
import { logTail } from '../process/log-tail.ts';
import { poll } from '../process/poll.ts';
import { DevstackError } from '../devstack-error.ts';
import { ensureNatsServer, natsServerVersion } from './ensure-nats-server.ts';

const READY_WITHIN_MS = 30_000;
/** The server picks a free port itself and tells it in a file: nobody can take the port in between. */
const ANY_PORT = -1;

export interface NatsOptions {
  /** Folder of its streams, log and configuration; kept between starts. */
  dataDir: string;
  /** Default: any free port. */
  port?: number;
  /** Default true: acknowledged messages survive a crash of the machine, where the server (2.10 and later) can do that. */
  durable?: boolean;
  /** Gets one sentence before something slow starts, such as an installation. */
  say?: (sentence: string) => void;
}

export interface NatsServer extends Pick<Child, 'pid' | 'exited' | 'kill'> {
  readonly url: string;
  readonly port: number;
  readonly logFile: string;
  /** Orderly end; safe to call again. */
  stop(): Promise<ChildExit>;
  /** Starts the program again on the same port, after it has ended by itself. Does not wait until it is ready. */
  respawn(): Child;
}

/**
 * Starts it and waits until JetStream answers.
 * @throws DevstackError when there is no program, or when it ends while starting.
 */
export async function startNats(options: NatsOptions): Promise<NatsServer> {
  const folder = resolve(options.dataDir);
  const portsFolder = join(folder, 'ports');
  const logFile = join(folder, 'nats-server.log');
  const program = await ensureNatsServer(options.say ? { say: options.say } : {});
  await rm(portsFolder, { recursive: true, force: true });
  await rm(logFile, { force: true });
  await mkdir(portsFolder, { recursive: true });
  const configFile = join(folder, 'nats-server.conf');
  const version = await natsServerVersion(program);
  await writeFile(configFile, configOf(options, folder, version));

  const spawnServer = (): Child =>
    startChild({ command: program, args: ['-c', configFile, '--ports_file_dir', portsFolder], logFile });
  const child = spawnServer();
  const ports = await Promise.race([waitUntilReady(portsFolder), child.exited]);
  if (ports === undefined || !('nats' in ports)) {
    child.kill();
    const how =
      ports === undefined ? `was not ready after ${READY_WITHIN_MS / 1000} s` : `ended (${describeExit(ports)})`;
    throw new DevstackError(`nats-server ${how} while starting. Its last lines:\n${logTail(logFile)}`);
  }
  const port = Number(new URL(ports.nats).port);
  return {
    url: ports.nats,
    port,
    logFile,
    pid: child.pid,
    exited: child.exited,
    stop: () => child.stop(),
    kill: child.kill,
    respawn() {
      writeFileSync(configFile, configOf({ ...options, port }, folder, version));
      return spawnServer();
    },
  };
}

function configOf(options: NatsOptions, folder: string, [major = 0, minor = 0]: readonly number[]): string {
  const canSync = major > 2 || (major === 2 && minor >= 10);
  const sync = canSync && options.durable !== false ? '\n  sync_interval: always' : '';
  return [
    'host: "127.0.0.1"',
    `port: ${options.port ?? ANY_PORT}`,
    `http: "127.0.0.1:${ANY_PORT}"`,
    `jetstream {\n  store_dir: ${JSON.stringify(folder)}${sync}\n}\n`,
  ].join('\n');
}

interface Ports {
  nats: string;
  monitoring: string;
}

async function waitUntilReady(portsFolder: string): Promise<Ports | undefined> {
  return poll(
    async () => {
      const ports = await readPorts(portsFolder);
      return ports && (await isHealthy(ports.monitoring)) ? ports : undefined;
    },
    { deadlineMs: READY_WITHIN_MS, intervalMs: 10 },
  );
}

async function readPorts(portsFolder: string): Promise<Ports | undefined> {
  const name = (await readdir(portsFolder)).find((each) => each.endsWith('.ports'));
  if (name === undefined) return undefined;
  try {
    const { nats, monitoring } = JSON.parse(await readFile(join(portsFolder, name), 'utf8')) as Record<
      string,
      string[]
    >;
    return nats?.[0] && monitoring?.[0] ? { nats: nats[0], monitoring: monitoring[0] } : undefined;
  } catch {
    // Half written; the next look reads it whole.
    return undefined;
  }
}

async function isHealthy(monitoringUrl: string): Promise<boolean> {
  return fetch(`${monitoringUrl}/healthz?js-enabled-only=true`).then(
    (response) => response.ok,
    () => false,
  );
}
