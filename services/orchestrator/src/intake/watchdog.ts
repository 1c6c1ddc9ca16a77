/**
 * Sees to it that what was accepted happens (I3, I4): a run whose first fact is not in the log is started again, what
 * people said and the log has lost is said again, a stop that was not noted is noted. Every replica does it for its own partitions.
 */
import { publishFact, type Bus } from '@pawl/bus';
import type { Log, Part } from '@pawl/service';
import type { Partitions } from '../partitions/partitions.ts';
import { foldRun } from '../partitions/read-run.ts';
import { traceOfRun } from '../partitions/trace-of.ts';
import { pauseOf } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import { publishStarted } from './start-run.ts';
import type { RunStore, StoredRun } from './run-store.ts';
import type { WordStore } from './word-store.ts';

const everyMs = 2_000;
/** A run younger than this is still on its usual way. */
const ageMs = 5_000;
/** Runs of one round; the next one goes on behind them, so that runs that wait for long are in nobody's way. */
const batch = 500;

export function createWatchdog(using: {
  bus: Bus;
  store: RunStore;
  words: WordStore;
  partitions: Pick<Partitions, 'knows' | 'find'>;
  log: Log;
}): Part {
  const { bus, store, words, partitions, log } = using;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  let after: StoredRun | undefined;

  const look = async () => {
    const open = await store.openRuns({ ageMs, after, limit: batch });
    after = open.length === batch ? open.at(-1) : undefined;
    for (const run of open) if (partitions.knows(run.started.runId)) await attend(run);
  };

  const attend = async ({ started }: StoredRun) => {
    const state = partitions.find(started.runId) ?? (await foldRun(bus, started.app, started.runId));
    if (!state) {
      log.warn({ runId: started.runId }, 'the first fact is not in the log: writing it again');
      await publishStarted(bus, started);
      return;
    }
    if (state.ended) await store.recordStopped(viewOf(state));
    else for (const word of await words.wordsOf(started.runId)) await publishFact(bus, word, traceOfRun(started));
    if (!state.ended && pauseOf(state)) await store.recordStopped(viewOf(state));
  };

  return {
    name: 'watchdog',
    async start() {
      timer = setInterval(() => {
        looking = looking
          .then(look)
          .catch((error: unknown) => log.warn({ err: error }, 'the watchdog will look again'));
      }, everyMs);
    },
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}
