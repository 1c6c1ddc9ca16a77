/**
 * The scripted stand-in for a model, as a process of its own.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DevstackError } from '../devstack-error.ts';
import { describeExit, startChild } from '../process/child.ts';
import type { Child } from '../process/child.ts';
import { keepRunning } from '../process/keep-running.ts';
import type { KeptRunning } from '../process/keep-running.ts';
import { logTail, logText } from '../process/log-tail.ts';
import { poll } from '../process/poll.ts';
import type { StateFolder } from '../state/state-folder.ts';

const READY_WITHIN_MS = 30_000;

export interface RunningSim extends KeptRunning {
  /** Root of its API, `/v1` included. */
  readonly baseUrl: string;
  readonly models: string[];
}

/** @throws DevstackError when it ends while starting, for example on a script with a mistake. */
export async function startSim(
  folder: StateFolder,
  script: string,
  say: (sentence: string) => void,
): Promise<RunningSim> {
  const logFile = join(folder.logs, 'sim.log');
  rmSync(logFile, { force: true });
  // The first start picks any free port and tells it; later ones keep it, since the routes name it.
  let port = '0';
  const start = (): Child =>
    startChild({
      command: process.execPath,
      args: [join(folder.root, 'libs/sim/src/main.ts'), '--script', script, '--port', port],
      cwd: folder.root,
      logFile,
    });
  const child = start();
  const outcome = await Promise.race([
    poll(async () => findUrl(logFile), { deadlineMs: READY_WITHIN_MS }),
    child.exited,
  ]);
  if (typeof outcome === 'string') {
    port = new URL(outcome).port;
    const baseUrl = `${outcome}/v1`;
    const models = await listModels(baseUrl);
    return { ...keepRunning({ name: 'sim', logFile, child, start, say }), baseUrl, models };
  }
  child.kill();
  const seconds = READY_WITHIN_MS / 1000;
  const how = outcome === undefined ? `was not ready after ${seconds} s` : `ended (${describeExit(outcome)})`;
  throw new DevstackError(`The scripted model ${how} while starting. Its last lines:\n${logTail(logFile)}`);
}

function findUrl(logFile: string): string | undefined {
  return /"ready":true,"url":"([^"]+)"/.exec(logText(logFile))?.[1];
}

async function listModels(baseUrl: string): Promise<string[]> {
  const response = await fetch(`${baseUrl}/models`);
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}
