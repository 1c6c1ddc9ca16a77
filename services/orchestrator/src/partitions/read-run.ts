/** Reading a run as it stands now, whoever decides for it: from memory, else from the log, else from Postgres. */
import { readFacts, type Bus } from '@pawl/bus';
import { RejectedError, type RunView } from '@pawl/contracts';
import { viewOfStored } from '../intake/stored-view.ts';
import type { RunStore } from '../intake/run-store.ts';
import { evolve, startOf, type RunState } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import type { Endings } from './endings.ts';
import type { Partitions } from './partitions.ts';

/** How soon the end of a run is noticed that another replica decides for. */
const lookAgainAfterMs = 250;

export type ReadRun = {
  /** Throws `RejectedError` unknown_run when the app has no such run. */
  read(app: string, runId: string): Promise<RunView>;
  /** Like `read`, but answers only when the run has ended, the time is over or the service stops. */
  readWhenEnded(app: string, runId: string, waitMs: number): Promise<RunView>;
  /** Answers everybody who waits with how things stand. */
  stopWaiting(): void;
};

export function createReadRun(using: { bus: Bus; store: RunStore; partitions: Partitions; endings: Endings }): ReadRun {
  const { bus, store, partitions, endings } = using;
  const stopping = Promise.withResolvers<void>();
  let isStopping = false;

  const read = async (app: string, runId: string): Promise<RunView> => {
    const ended = endings.recall(app, runId);
    if (ended) return ended;
    const live = partitions.find(runId);
    if (live?.started.app === app) {
      const view = viewOf(live);
      if (view.status === 'running') return view;
      // Somebody may just have said what it waits for: the log knows it a moment before this replica has folded it.
      return viewOf((await foldRun(bus, app, runId)) ?? live);
    }
    const stored = await store.find(app, runId);
    if (!stored) throw new RejectedError('unknown_run', `there is no run ${runId}`);
    if (stored.view) return stored.view;
    const logged = await foldRun(bus, app, runId);
    return logged ? viewOf(logged) : viewOfStored(stored);
  };

  const readWhenEnded = async (app: string, runId: string, waitMs: number): Promise<RunView> => {
    const giveUpAtMs = performance.now() + waitMs;
    const expected = endings.expect(runId);
    try {
      for (;;) {
        const view = await read(app, runId);
        const leftMs = giveUpAtMs - performance.now();
        if (view.status !== 'running' || leftMs <= 0 || isStopping) return view;
        await Promise.race([expected.ended, stopping.promise, pause(Math.min(leftMs, lookAgainAfterMs))]);
      }
    } finally {
      expected.forget();
    }
  };

  return {
    read,
    readWhenEnded,
    stopWaiting() {
      isStopping = true;
      stopping.resolve();
    },
  };
}

/** The state of a run from its whole log, or undefined when the log does not have its first fact. */
export async function foldRun(bus: Bus, app: string, runId: string): Promise<RunState | undefined> {
  const facts = (await readFacts(bus, app, runId)).map(({ fact }) => fact);
  const started = facts.find((fact) => fact.kind === 'started');
  return started && facts.reduce<RunState>((state, fact) => evolve(state, fact) ?? state, startOf(started));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
