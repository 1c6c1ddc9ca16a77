/** One partition of the run log: its facts folded in order, its runs driven once all that was there is read. */
import { followFacts, type Bus, type Definitions, type Following, type ReceivedFact } from '@pawl/bus';
import { subjects, type Started } from '@pawl/contracts';
import type { RunState } from '../run/state.ts';
import { createLiveRun, type LiveRun } from './live-run.ts';
import type { Perform } from './perform.ts';

export type Partition = {
  find(runId: string): RunState | undefined;
  isCaughtUp(): boolean;
  tick(): void;
  close(): Promise<void>;
};

export type PartitionOptions = {
  bus: Bus;
  definitions: Definitions;
  perform: Perform;
  partition: number;
  isOwned(): boolean;
  /** Told after every fact of a run, except for those that were there before this partition was opened. */
  onChange(state: RunState): void;
  /** Told when the log has lost its tail: what was folded is no longer what the log says. */
  onRewound(): void;
  onError(error: unknown, about: object): void;
};

const retryAfterMs = 1_000;

/** Starts to fold a partition. Runs that had ended are forgotten as soon as their end is read. */
export function openPartition(options: PartitionOptions): Partition {
  const { bus, onError } = options;
  const runs = new Map<string, LiveRun>();
  let isCaughtUp = false;
  let isClosed = false;
  let following: Following | undefined;

  /** Tries until it succeeds or the partition is closed. */
  const persist = async (body: () => Promise<void>, about: object): Promise<void> => {
    while (!isClosed) {
      try {
        await body();
        return;
      } catch (error) {
        onError(error, about);
        await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
      }
    }
  };
  const define = (run: LiveRun, started: Started) =>
    persist(
      async () => {
        run.define(await options.definitions.get(started.definition));
        if (isCaughtUp) run.drive();
      },
      { runId: started.runId, definition: started.definition },
    );
  const begin = (started: Started) => {
    const run = createLiveRun({ ...options, started });
    runs.set(started.runId, run);
    void define(run, started);
  };
  const onFact = ({ fact }: ReceivedFact) => {
    const known = runs.get(fact.runId);
    if (!known) {
      if (fact.kind === 'started') begin(fact);
      return;
    }
    known.apply(fact);
    if (fact.kind === 'ended') runs.delete(fact.runId);
    if (!isCaughtUp) return;
    options.onChange(known.state());
    known.drive();
  };
  const onCaughtUp = () => {
    isCaughtUp = true;
    for (const run of runs.values()) run.drive();
  };
  const opening = persist(
    async () => {
      following = await followFacts(bus, {
        filter: subjects.factsOfPartition(options.partition),
        onFact,
        onCaughtUp,
        onRewound: options.onRewound,
        onUnreadable: (unreadable) => onError(new TypeError('a message in the log is no fact'), unreadable),
      });
    },
    { partition: options.partition },
  );

  return {
    find: (runId) => runs.get(runId)?.state(),
    isCaughtUp: () => isCaughtUp,
    tick() {
      if (isCaughtUp) for (const run of runs.values()) run.tick();
    },
    async close() {
      isClosed = true;
      await opening;
      await following?.stop();
    },
  };
}
