/** Reading a run as it stands now, whoever decides for it: from memory, else from the log, else from Postgres. */
import { followRun, readFacts, type Bus } from '@pawl/bus';
import { isAtRest, RejectedError, type Fact, type RunView } from '@pawl/contracts';
import { viewOfStored } from '../intake/stored-view.ts';
import type { RunStore } from '../intake/run-store.ts';
import { evolve, startOf, type RunState } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import type { Endings } from './endings.ts';
import type { Partitions } from './partitions.ts';

/** How soon it is noticed that this replica has lost or got the partition of a run that somebody waits for. */
const lookAgainAfterMs = 250;

export type ReadRun = {
  /** Throws `RejectedError` unknown_run when the app has no such run. */
  read(app: string, runId: string): Promise<RunView>;
  /**
   * Like `read`, but answers only when the run no longer goes on by itself, the time is over or the service stops.
   * `known`: how it was a moment ago; it is not asked for again then.
   */
  readWhenEnded(app: string, runId: string, options: { waitMs: number; known?: RunView | undefined }): Promise<RunView>;
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

  const readWhenEnded: ReadRun['readWhenEnded'] = async (app, runId, { waitMs, known }) => {
    const giveUpAtMs = performance.now() + waitMs;
    const bell = createBell();
    const forget = endings.listen(runId, bell.ring);
    let along: RunAlong | undefined;
    try {
      for (let view = known ?? (await read(app, runId)); ; view = along?.view() ?? (await read(app, runId))) {
        const leftMs = giveUpAtMs - performance.now();
        if (isAtRest(view) || leftMs <= 0 || isStopping) return view;
        if (!partitions.knows(runId)) along ??= readAlong(bus, { app, runId, onFact: bell.ring });
        await Promise.race([bell.heard(), stopping.promise, pause(Math.min(leftMs, lookAgainAfterMs))]);
      }
    } finally {
      forget();
      void along?.stop();
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
  const fold = createFold();
  for (const { fact } of await readFacts(bus, app, runId)) fold.add(fact);
  return fold.state();
}

/** What is told to whoever wants the facts of a run that has ended and was archived. */
export function hasLeftLog(runId: string): RejectedError {
  const detail = `run ${runId} ended a while ago and has left the run log; the trace-store has its record: /v1/traces/${runId}`;
  return new RejectedError('not_found', detail);
}

type RunAlong = {
  /** How the run stands; undefined as long as its first fact has not been read. */
  view(): RunView | undefined;
  stop(): Promise<void>;
};

/** Reads along in the log of a run that another replica decides for. */
function readAlong(bus: Bus, of: { app: string; runId: string; onFact(): void }): RunAlong {
  let fold = createFold();
  const following = followRun(bus, of, {
    onFact({ fact }) {
      fold.add(fact);
      of.onFact();
    },
    onRewound: () => void (fold = createFold()),
  });
  return {
    view() {
      const state = fold.state();
      return state && viewOf(state);
    },
    stop: following.stop,
  };
}

/** Heard once for all that rang since it was heard last. */
function createBell() {
  let rung = Promise.withResolvers<void>();
  return {
    ring: () => rung.resolve(),
    async heard() {
      await rung.promise;
      rung = Promise.withResolvers();
    },
  };
}

/** Folds facts as they come; those that stand before the first fact of the run wait for it. */
function createFold() {
  const early: Fact[] = [];
  let state: RunState | undefined;
  return {
    add(fact: Fact) {
      if (state) state = evolve(state, fact) ?? state;
      else early.push(fact);
      if (state || fact.kind !== 'started') return;
      state = early.reduce<RunState>((before, one) => evolve(before, one) ?? before, startOf(fact));
    },
    state: () => state,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
