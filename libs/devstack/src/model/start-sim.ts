/**
 * The scripted stand-in for a model, as a process of its own.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DevstackError } from '../devstack-error.ts';
import { freePort } from '../free-port.ts';
import { describeExit, startChild } from '../process/child.ts';
import type { Child } from '../process/child.ts';
import { keepRunning } from '../process/keep-running.ts';
import type { KeptRunning } from '../process/keep-running.ts';
import { logTail } from '../process/log-tail.ts';
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
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const logFile = join(folder.logs, 'sim.log');
  rmSync(logFile, { force: true });
  const main = join(folder.root, 'libs/sim/src/main.ts');
  const start = (): Child =>
    startChild({
      command: process.execPath,
      args: [main, '--script', script, '--port', String(port)],
      cwd: folder.root,
      logFile,
    });
  const child = start();
  const outcome = await Promise.race([poll(() => listModels(baseUrl), { deadlineMs: READY_WITHIN_MS }), child.exited]);
  if (Array.isArray(outcome))
    return { ...keepRunning({ name: 'sim', logFile, child, start, say }), baseUrl, models: outcome };
  child.kill();
  const how =
    outcome === undefined ? `was not ready after ${READY_WITHIN_MS / 1000} s` : `ended (${describeExit(outcome)})`;
  throw new DevstackError(`The scripted model ${how} while starting. Its last lines:\n${logTail(logFile)}`);
}

async function listModels(baseUrl: string): Promise<string[] | undefined> {
  try {
    const response = await fetch(`${baseUrl}/models`);
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  } catch {
    return undefined;
  }
}
