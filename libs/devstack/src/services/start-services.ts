/**
 * Migrates and starts the four services as processes of their own, each with a log file, and starts one again that dies.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DevstackError } from '../devstack-error.ts';
import { freePort } from '../free-port.ts';
import { describeExit, startChild } from '../process/child.ts';
import type { Child } from '../process/child.ts';
import { keepRunning } from '../process/keep-running.ts';
import type { KeptRunning } from '../process/keep-running.ts';
import { logTail, logText } from '../process/log-tail.ts';
import { poll } from '../process/poll.ts';
import { services } from './service-list.ts';
import type { Service, ServiceUrls } from './service-list.ts';

const READY_WITHIN_MS = 60_000;
const START_ATTEMPTS_MAX = 3;

export interface ServicesOptions {
  /** The checkout. */
  root: string;
  logsFolder: string;
  /** Of every service; the port is added. */
  environment: NodeJS.ProcessEnv;
  say: (sentence: string) => void;
}

export interface RunningServices {
  readonly urls: ServiceUrls;
  /** All at once: each drains for itself. */
  stop(): Promise<void>;
}

/** The usual ports where they are free, others where not. */
export async function chooseServiceUrls(): Promise<ServiceUrls> {
  const chosen = await Promise.all(
    services.map(async ({ key, port }) => [key, `http://127.0.0.1:${await freePort(port)}`]),
  );
  return Object.fromEntries(chosen) as ServiceUrls;
}

/**
 * Brings every schema up to date, all at the same time. Safe to repeat.
 * @throws DevstackError with the end of the log of the one that failed.
 */
export async function migrateServices(options: ServicesOptions): Promise<void> {
  await Promise.all(
    services.map(async ({ name }) => {
      const script = join(options.root, 'services', name, 'src/migrate.ts');
      if (!existsSync(script)) return;
      const logFile = join(options.logsFolder, `${name}.migrate.log`);
      rmSync(logFile, { force: true });
      const exit = await startScript(options, { script, logFile }).exited;
      if (exit.code === 0) return;
      throw new DevstackError(
        `The migration of ${name} failed (${describeExit(exit)}). Its last lines:\n${logTail(logFile)}`,
      );
    }),
  );
}

/**
 * Starts all at the same time and waits until each is ready. `urls` is changed where a port turns out to be taken.
 * @throws DevstackError with the end of the log of the one that failed; the others are stopped then.
 */
export async function startServices(options: ServicesOptions, urls: ServiceUrls): Promise<RunningServices> {
  const running: KeptRunning[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((service) => service.stop()));
  };
  const results = await Promise.allSettled(
    services.map(async (service) => running.push(await startService(service, urls, options))),
  );
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) {
    await stop();
    throw failure.reason;
  }
  return { urls, stop };
}

async function startService(service: Service, urls: ServiceUrls, options: ServicesOptions): Promise<KeptRunning> {
  const { name, key } = service;
  const script = join(options.root, 'services', name, 'src/main.ts');
  const logFile = join(options.logsFolder, `${name}.log`);
  const start = (): Child => {
    const { port } = new URL(urls[key]);
    const environment = {
      ...options.environment,
      PAWL_PORT: port,
      PAWL_ORCHESTRATOR_URL: urls.orchestrator,
      OTEL_SERVICE_NAME: `pawl-${name}`,
    };
    return startScript({ ...options, environment }, { script, logFile });
  };
  for (let attempt = 1; ; attempt += 1) {
    rmSync(logFile, { force: true });
    const child = start();
    const outcome = await Promise.race([waitUntilReady(urls[key], logFile), child.exited]);
    if (outcome === true) return keepRunning({ name, logFile, child, start, say: options.say });
    child.kill();
    // Someone, perhaps the stack of another checkout, took the port since it was found free.
    if (attempt < START_ATTEMPTS_MAX && logText(logFile).includes('EADDRINUSE')) {
      urls[key] = `http://127.0.0.1:${await freePort()}`;
      continue;
    }
    const seconds = READY_WITHIN_MS / 1000;
    const how = outcome === undefined ? `was not ready after ${seconds} s` : `ended (${describeExit(outcome)})`;
    throw new DevstackError(`${name} ${how} while starting. Its last lines:\n${logTail(logFile)}`);
  }
}

function startScript(options: ServicesOptions, { script, logFile }: { script: string; logFile: string }): Child {
  return startChild({
    command: process.execPath,
    args: [script],
    cwd: options.root,
    env: options.environment,
    logFile,
  });
}

/** Its own log has to say that it listens: on a port that was taken meanwhile somebody else would answer. */
async function waitUntilReady(url: string, logFile: string): Promise<true | undefined> {
  const { port } = new URL(url);
  const listens = new RegExp(`"port":${port}\\b.*"msg":"listening"`);
  return poll(async () => (listens.test(logText(logFile)) && (await isReady(url)) ? true : undefined), {
    deadlineMs: READY_WITHIN_MS,
  });
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/healthz/ready`).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
}
