/**
 * Starts a program again whenever it ends by itself, waiting longer each time it doesn't last.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeExit } from './child.ts';
import type { ChildExit } from './child.ts';

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 10_000;
/** A program that ran this long starts over with the shortest pause. */
const STABLE_AFTER_MS = 30_000;

/** A child process, or a server that is one. */
export interface Stoppable {
  readonly exited: Promise<ChildExit>;
  stop(): Promise<ChildExit>;
}

export interface KeepRunningOptions {
  name: string;
  logFile: string;
  /** A first child that already runs. */
  child: Stoppable;
  start: () => Stoppable;
  say: (sentence: string) => void;
}

export interface KeptRunning {
  /** Ends the program and the starting again. Safe to call again. */
  stop(): Promise<void>;
}

export function keepRunning(options: KeepRunningOptions): KeptRunning {
  const stopping = new AbortController();
  let child = options.child;
  const loop = watch();

  async function watch(): Promise<void> {
    let backoffMs = BACKOFF_FIRST_MS;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const exit = await child.exited;
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt > STABLE_AFTER_MS) backoffMs = BACKOFF_FIRST_MS;
      options.say(
        `${options.name} stopped by itself (${describeExit(exit)}); it is started again in ${backoffMs / 1000} s. Its log: ${options.logFile}`,
      );
      await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      child = options.start();
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
    }
  }

  return {
    async stop() {
      stopping.abort();
      await child.stop();
      await loop;
    },
  };
}
