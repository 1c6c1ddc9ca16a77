/** One partition of the run log: its facts folded in order, its runs driven once all that was there is read. */
import { followFacts, type Bus, type Definitions, type Following, type ReceivedFact } from '@pawl/bus';
import { subjects, type Started } from '@pawl/contracts';
import type { RunState } from '../run/state.ts';
import { createLiveRun, type LiveRun } from './live-run.ts';

export type Partition = {
  find(runId: string): RunState | undefined;
  runs(): Iterable<LiveRun>;
  isCaughtUp(): boolean;
  tick(): void;
  close(): Promise<void>;
};

export type PartitionOptions = {
  bus: Bus;
  definitions: Definitions;
  partition: number;
  isOwned(): boolean;
  /** Told of a run that has just ended; not of those that had ended before this partition was opened. */
  onEnded(state: RunState): void;
  onError(error: unknown, about: object): void;
};

/** Starts to fold a partition. Runs that had ended are forgotten as soon as their end is read. */
export function openPartition(options: PartitionOptions): Partition {
  const { bus, definitions } = options;
  const runs = new Map<string, LiveRun>();
  let isCaughtUp = false;
  let isClosed = false;
  let following: Following | undefined;

  const define = async (run: LiveRun, started: Started): Promise<void> => {
    while (!isClosed) {
      try {
        run.define(await definitions.get(started.definition));
        if (isCaughtUp) run.drive();
        return;
      } catch (error) {
        options.onError(error, { runId: started.runId, definition: started.definition });
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    }
  };

  const onFact = ({ fact }: ReceivedFact) => {
    const known = runs.get(fact.runId);
    if (!known) {
      if (fact.kind !== 'started') return;
      const run = createLiveRun({ bus, started: fact, isOwned: options.isOwned, onError: options.onError });
      runs.set(fact.runId, run);
      void define(run, fact);
      return;
    }
    known.apply(fact);
    if (fact.kind === 'ended') {
      runs.delete(fact.runId);
      if (isCaughtUp) options.onEnded(known.state());
      return;
    }
    if (isCaughtUp) known.drive();
  };

  const onCaughtUp = () => {
    isCaughtUp = true;
    for (const run of runs.values()) run.drive();
  };

  const follow = async (): Promise<void> => {
    while (!isClosed && !following) {
      try {
        following = await followFacts(bus, {
          filter: subjects.factsOfPartition(options.partition),
          onFact,
          onCaughtUp,
          onUnreadable: (unreadable) => options.onError(new TypeError('a message in the log is no fact'), unreadable),
        });
      } catch (error) {
        options.onError(error, { partition: options.partition });
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    }
  };
  const opening = follow();

  return {
    find: (runId) => runs.get(runId)?.state(),
    runs: () => runs.values(),
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
