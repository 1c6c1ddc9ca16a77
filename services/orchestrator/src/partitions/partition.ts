/** One partition of the run log: its facts folded in order, its runs driven once all that was there is read. */
import { followFacts, type Bus, type Definitions } from '@pawl/bus';
import { subjects, type Fact, type Started } from '@pawl/contracts';
import type { ChangedAtMs } from '../run/changed-tools.ts';
import type { RunState } from '../run/state.ts';
import { createEarlyFacts } from './early-facts.ts';
import { createLiveRun, type LiveRun } from './live-run.ts';
import type { Perform } from './perform.ts';

export type Partition = {
  find(runId: string): RunState | undefined;
  /** All runs that have not ended. */
  states(): RunState[];
  isCaughtUp(): boolean;
  tick(): void;
  /** Drives all runs, since something has changed that is in no log. */
  drive(): void;
  close(): Promise<void>;
};

export type PartitionOptions = {
  bus: Bus;
  definitions: Definitions;
  perform: Perform;
  changedAtMs: ChangedAtMs;
  partition: number;
  isOwned(): boolean;
  /** Told after every fact of a run, except for those that were there before this partition was opened. */
  onChange(state: RunState): void;
  /** Told of each run that was there, once all that was there is read. */
  onFound(state: RunState): void;
  /** Told when the log has lost its tail: what was folded is no longer what the log says. */
  onRewound(): void;
  onError(error: unknown, about: object): void;
};

const retryAfterMs = 1_000;

/** Starts to fold a partition. Runs that had ended are forgotten as soon as their end is read. */
export function openPartition(options: PartitionOptions): Partition {
  const runs = new Map<string, LiveRun>();
  const early = createEarlyFacts();
  const is = { caughtUp: false, closed: false };

  const contain = (runId: string, body: () => void) =>
    containMistake(body, (error) => options.onError(error, { runId }));
  const each = (body: (run: LiveRun) => void) =>
    is.caughtUp && runs.forEach((run, runId) => contain(runId, () => body(run)));
  const persist = (body: () => Promise<void>, about: object) =>
    untilDone(body, { isClosed: () => is.closed, onError: (error) => options.onError(error, about) });
  const begin = (started: Started) => {
    const run = createLiveRun({ ...options, started });
    runs.set(started.runId, run);
    for (const fact of early.take(started.runId)) run.apply(fact);
    if (run.state().ended) runs.delete(started.runId);
    const { runId, definition } = started;
    const define = async () => run.define(await options.definitions.get(definition));
    void persist(define, { runId, definition }).then(() => contain(runId, () => is.caughtUp && run.drive()));
  };
  const takeIn = (fact: Fact) => {
    const known = runs.get(fact.runId);
    if (!known) {
      if (fact.kind === 'started') begin(fact);
      else early.keep(fact);
      return;
    }
    known.apply(fact);
    if (fact.kind === 'ended') runs.delete(fact.runId);
    if (!is.caughtUp) return;
    contain(fact.runId, () => options.onChange(known.state()));
    known.drive();
  };
  const following = followFacts(options.bus, {
    filter: subjects.factsOfPartition(options.partition),
    onFact: ({ fact }) => contain(fact.runId, () => takeIn(fact)),
    onCaughtUp() {
      is.caughtUp = true;
      each((run) => run.drive());
      each((run) => options.onFound(run.state()));
    },
    onRewound: options.onRewound,
    onUnreadable: (unreadable) => options.onError(new TypeError('a message in the log is no fact'), unreadable),
  });

  return {
    find: (runId) => runs.get(runId)?.state(),
    states: () => [...runs.values()].map((run) => run.state()),
    isCaughtUp: () => is.caughtUp,
    tick: () => each((run) => run.tick()),
    drive: () => each((run) => run.drive()),
    async close() {
      is.closed = true;
      await following.stop();
    },
  };
}

/** A mistake of ours about one run is told, and holds up no other. */
function containMistake(body: () => void, onMistake: (error: unknown) => void): void {
  try {
    body();
  } catch (error) {
    onMistake(error);
  }
}

/** Tries until it succeeds or nobody wants it any more. */
async function untilDone(
  body: () => Promise<void>,
  until: { isClosed(): boolean; onError(error: unknown): void },
): Promise<void> {
  while (!until.isClosed()) {
    try {
      await body();
      return;
    } catch (error) {
      until.onError(error);
      await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
    }
  }
}
